package aws

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// orders implements view.Orders for a stack.
type orders struct{ of *Transport }

func (o orders) Task(ctx context.Context, id string) (*protocol.Task, *core.Definition, error) {
	task, err := o.of.load(ctx, id)
	if err != nil {
		return nil, nil, err
	}
	if task == nil {
		return nil, nil, port.ErrNotFound
	}
	def, err := o.of.pinned(ctx, &task)
	return task, def, err
}

func (o orders) Order(ctx context.Context, t *protocol.Task) (json.RawMessage, error) {
	return o.of.order(ctx, t)
}

// Target returns a stored definition. A definition that no order has used is not stored.
func (o orders) Target(ctx context.Context, workflow, definition string) (core.Target, error) {
	if definition == client.Latest && workflow != "" {
		definition = o.of.Outputs.Hash(workflow)
		if definition == "" {
			return core.Target{}, refusal(http.StatusBadRequest, codeNotOnStack,
				"the workflow %s is not deployed in this stack; give the hash of a definition", workflow)
		}
	}
	def, err := o.of.Stored(ctx, definition)
	if errors.Is(err, port.ErrNotFound) {
		return core.Target{}, refusal(http.StatusBadRequest, codeNotOnStack, "no order has run the definition "+
			"%s yet, so that it stands inside the functions of the stack only; move the order: it is "+
			"refused, with the differences, where that is not possible", definition)
	}
	return core.Target{Definition: def}, err
}

func (o orders) List(ctx context.Context, q port.Query) (listed []view.Summary, next string, err error) {
	found, err := o.of.Tasks.List(ctx, q)
	if err != nil {
		return nil, "", o.of.unlisted(ctx, err)
	}
	listed = make([]view.Summary, len(found.Records))
	for i := range found.Records {
		listed[i] = view.Listed(&found.Records[i])
	}
	return listed, found.Next, nil
}
