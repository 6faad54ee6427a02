package view

import (
	"context"
	"encoding/json"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Orders reads the orders of a deployment: of the embedded runtime, or of a stack on AWS.
type Orders interface {
	// Task returns a task and its definition, or port.ErrNotFound. The definition is nil if a Cancel came
	// before the order (P17, a cancel is kept), or if the task is damaged (P60, a damaged order is set aside).
	Task(ctx context.Context, id string) (*protocol.Task, *core.Definition, error)
	// Order returns the content of a task's order, as it was submitted. It may return port.ErrNotFound.
	Order(ctx context.Context, t *protocol.Task) (json.RawMessage, error)
	// Target returns the definition that a Move command names. definition is a hash or message.Latest.
	Target(ctx context.Context, workflow, definition string) (core.Target, error)
	// List returns the selected tasks, newest first. next is the cursor of the next page, or "" on the last
	// page. The caller sets q.Limit. List marks a task as damaged if its document cannot be read.
	List(ctx context.Context, q port.Query) (orders []Summary, next string, err error)
}

// ReadPlan returns what a move of an order to the definition would change. It moves nothing.
func ReadPlan(ctx context.Context, from Orders, id, definition string, documents bool, now time.Time) (Plan, error) {
	t, def, err := from.Task(ctx, id)
	if err != nil {
		return Plan{}, err
	}
	to, err := from.Target(ctx, t.Workflow, definition)
	if err != nil {
		return Plan{}, err
	}
	order, err := from.Order(ctx, t)
	// without the order, PlanOf still works, but DocumentsOf does not
	if err != nil && documents {
		return Plan{}, err
	}
	p := PlanOf(t, def, to, order, now, port.MaxDocument)
	if !documents {
		return p, nil
	}
	p.Documents, err = DocumentsOf(t, order, def, to.Definition,
		func(hash string) (*core.Definition, error) {
			child, err := from.Target(ctx, t.Workflow, hash)
			return child.Definition, err
		})
	return p, err
}
