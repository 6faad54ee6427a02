package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// OrderPath is the order ID in a request's path. It is exported because the HTTP library huma requires
// exported types.
type OrderPath struct {
	ID string `path:"id" pattern:"^[A-Za-z0-9._:~-]{1,128}$" doc:"the order's ID"`
}

type taskInput struct {
	OrderPath
	Wait string `query:"wait" example:"30s" doc:"longest wait for the end of the order, at most 1m0s; the response is the task at that time"`
}

// OrderDocument is a submitted order with its content.
type OrderDocument struct {
	OrderID     string          `json:"orderId"`
	ContentHash string          `json:"contentHash,omitempty" doc:"hash of workflow, order, priority and reply-to; equal orders have the same hash"`
	Created     core.Time       `json:"created"`
	Order       json.RawMessage `json:"order,omitempty" doc:"absent if a cancel came before the order"`
}

type listInput struct {
	State     string `query:"state" enum:"Processing,Compensating,Processed,Compensated,Cancelled,Closed,Error"`
	Workflow  string `query:"workflow" pattern:"^[a-z][a-z0-9-]{0,63}$"`
	OlderThan string `query:"olderThan" example:"90m" doc:"lowest age since creation: 30s, 90m, 12h, 7d"`
	Damaged   bool   `query:"damaged" doc:"only the orders that were set aside because they cannot be read"`
	Oldest    bool   `query:"oldest" doc:"only the oldest of the selected orders"`
	Limit     int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"orders on a page"`
	Cursor    string `query:"cursor" maxLength:"1024" doc:"value of next in the previous page"`
}

type approvalsInput struct {
	Workflow string `query:"workflow" pattern:"^[a-z][a-z0-9-]{0,63}$"`
	Step     string `query:"step" pattern:"^[a-z][a-z0-9-]{0,39}$"`
	IDPrefix string `query:"id" pattern:"^[A-Za-z0-9._:~-]{0,128}$" doc:"beginning of the order ID"`
	Limit    int    `query:"limit" minimum:"1" maximum:"1000" default:"100" doc:"orders after which the page ends"`
	Cursor   string `query:"cursor" maxLength:"1024" doc:"value of next in the previous page"`
}

// StoredDocument is the body of GET /v1/orders/{id}/document.
type StoredDocument struct {
	Document json.RawMessage `json:"document"`
}

func (e *edge) registerOrders(doc huma.API) {
	read(doc, "orders", "get-order", "/v1/orders/{id}",
		"The task of an order: its state, its steps, why it failed", []int{400, 403, 404, 429, 503},
		func(ctx context.Context, in *taskInput) (view.Task, error) {
			t, err := e.getTask(ctx, in)
			return t, ofOrder(in.ID, err)
		})
	read(doc, "orders", "get-submitted-order", "/v1/orders/{id}/order", "An order as it was submitted",
		[]int{400, 403, 404, 503}, func(ctx context.Context, in *OrderPath) (OrderDocument, error) {
			o, err := e.getOrder(ctx, in.ID)
			return o, ofOrder(in.ID, err)
		})
	read(doc, "orders", "get-stored-document", "/v1/orders/{id}/document",
		"The stored document of an order; its members may change in any version",
		[]int{400, 403, 404, 503}, func(ctx context.Context, in *OrderPath) (StoredDocument, error) {
			d, err := e.backend.Document(ctx, in.ID)
			return StoredDocument{Document: d}, ofOrder(in.ID, err)
		})
	read(doc, "orders", "list-orders", "/v1/orders", "Orders by state, workflow and age, newest first",
		[]int{400, 403, 503}, e.list)
	read(doc, "orders", "list-approvals", "/v1/approvals",
		"Open approvals", []int{400, 403, 503},
		func(ctx context.Context, in *approvalsInput) (view.Approvals, error) {
			q := port.Query{Workflow: in.Workflow, Limit: in.Limit, Cursor: in.Cursor}
			return view.OpenApprovals(ctx, e.backend, q, in.Step, in.IDPrefix, e.clock.Now())
		})
	e.registerEvents(doc)
}

func (e *edge) getTask(ctx context.Context, in *taskInput) (v view.Task, err error) {
	wait, err := parseWait(in.Wait)
	if err != nil {
		return v, err
	}
	if wait > 0 {
		return e.waited(ctx, in.ID, wait)
	}
	t, def, err := e.backend.Task(ctx, in.ID)
	if err != nil {
		return v, err
	}
	order, _ := e.backend.Order(ctx, t) // after an error, the response lacks the inputs of the steps
	v = view.Detailed(t, def, order, e.clock.Now())
	v.Await(e.backend.Unattended(ctx))
	if t.Workflow != "" {
		// after an error, the response says nothing about the newest definition
		if to, err := e.backend.Target(ctx, t.Workflow, message.Latest); err == nil {
			v.Pinned(t, def, to.Definition, e.clock.Now())
		}
	}
	return v, nil
}

func (e *edge) getOrder(ctx context.Context, id string) (o OrderDocument, err error) {
	t, _, err := e.backend.Task(ctx, id)
	if err != nil {
		return o, err
	}
	if t.Erased != nil {
		return o, problem(http.StatusNotFound, CodeNotFound,
			"the content of order %q was erased at %s; its states and times are still shown", id, t.Erased.At)
	}
	order, err := e.backend.Order(ctx, t)
	if t.Damaged != "" && (err != nil || len(order) == 0) {
		err = fmt.Errorf("%w: %s", core.ErrUnfit, t.Damaged)
	}
	return OrderDocument{
		OrderID: t.OrderID, ContentHash: state.HashOf(t), Created: t.Created,
		Order: order,
	}, err
}

func (e *edge) list(ctx context.Context, in *listInput) (page view.Page, err error) {
	q := port.Query{
		State: in.State, Workflow: in.Workflow, Damaged: in.Damaged, Oldest: in.Oldest,
		Limit: in.Limit, Cursor: in.Cursor,
	}
	if in.OlderThan != "" {
		age, ok := core.ParseDuration(in.OlderThan)
		if !ok || age > maxAge {
			return page, problem(http.StatusBadRequest, CodeInvalid,
				"query.olderThan is %.40q; give a time span like 30s, 90m, 12h or 7d", in.OlderThan)
		}
		q.Before = e.clock.Now().Add(-age.Std())
	}
	page.Orders, page.Next, err = e.backend.List(ctx, q)
	if page.Orders == nil {
		page.Orders = []view.Summary{}
	}
	return page, err
}

const maxAge = 36500 * core.Day

// ofOrder turns an error of the backend into a problem that names the order. For a nil error it returns nil.
func ofOrder(id string, err error) error {
	var p *Problem
	if err == nil || errors.As(err, &p) {
		return err
	}
	p = problemOf(err)
	switch p.Code {
	case CodeNotFound:
		p.Detail = "no order " + strconv.Quote(id) +
			" is known; check the ID, or look for it with GET /v1/orders"
	case core.CodeDamaged:
		p.Detail = "order " + strconv.Quote(id) + ": " + p.Detail
	}
	return p
}
