package client

import (
	"context"
	"net/http"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// OrderSchema checks the contents of orders before the caller submits them. It is safe for concurrent use.
type OrderSchema struct {
	workflow string
	schema   *schema.Schema // nil accepts every order
}

// OrderSchema returns the schema for orders of the workflow's latest version. On AWS, it returns ErrNotFound
// before the first order of the version. After a deployment, the caller needs the new schema.
func (c *Client) OrderSchema(ctx context.Context, workflow string) (*OrderSchema, error) {
	d, err := c.Definition(ctx, workflow, Latest)
	if err != nil {
		return nil, err
	}
	s := &OrderSchema{workflow: workflow}
	if len(d.Schema) > 0 {
		s.schema, err = schema.Compile(d.Schema)
	}
	return s, err
}

// Check returns ErrInvalid if the order does not match the schema. The error names the places and the
// reasons. Over HTTP, Submit returns the same error. On AWS, the Scheduler detects the mismatch after Submit
// has returned.
func (s *OrderSchema) Check(o Order) error {
	content, err := rawjson.Marshal(o.Content)
	if err != nil {
		return err
	}
	if why := s.schema.Check(content); why != nil {
		r := message.Mismatch(s.workflow, why)
		e := Errorf(http.StatusBadRequest, r.Code, "%s", r.Text)
		e.Field = r.Field
		return e
	}
	return nil
}
