package client

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/schema"
)

// OrderSchema checks orders of a workflow before they are sent. It is safe for concurrent use.
type OrderSchema struct {
	workflow string
	schema   *schema.Schema // nil matches every order
}

// OrderSchema returns the schema of the workflow's deployed version. On AWS it is known once an order has run
// that version; before that the error is ErrNotFound. Read it again after a deploy.
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

// Check returns the error that Submit returns over HTTP for an order that does not match: ErrInvalid, with
// the places and the reasons. On AWS the Scheduler refuses such an order only after Submit.
func (s *OrderSchema) Check(o Order) error {
	content, err := json.Marshal(o.Content)
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
