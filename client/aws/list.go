package aws

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const defaultPage = 100

// Approvals returns one page of the open approvals. It lists the running orders, and reads each that waits.
func (t *Transport) Approvals(ctx context.Context, q client.Query, cursor string) (view.Approvals, error) {
	ask := port.Query{Workflow: q.Workflow, Limit: cmp.Or(q.PageSize, defaultPage), Cursor: cursor}
	return view.OpenApprovals(ctx, orders{t}, ask, q.Step, q.IDPrefix, time.Now())
}

// Page returns one page of the orders in the index.
func (t *Transport) Page(ctx context.Context, q client.Query, cursor string) (*view.Page, error) {
	ask := port.Query{
		State: string(q.State), Workflow: q.Workflow, Damaged: q.Damaged, Oldest: q.Oldest,
		Limit: q.PageSize, Cursor: cursor,
	}
	ask.Limit = cmp.Or(ask.Limit, defaultPage)
	if q.OlderThan > 0 {
		ask.Before = time.Now().Add(-q.OlderThan)
	}
	found, next, err := orders{t}.List(ctx, ask)
	return &view.Page{Orders: found, Next: next}, err
}

func (t *Transport) unlisted(ctx context.Context, err error) error {
	if errors.Is(err, dynamo.ErrNotListed) || errors.Is(err, port.ErrCursor) {
		return refusal(http.StatusBadRequest, codeNotListed, "%v", err)
	}
	err = Failed(ctx, t.IndexUse(), err)
	var e *client.Error
	// If too many orders are open, the store returns an error that Failed converts to status 500.
	if errors.As(err, &e) && e.Status == http.StatusInternalServerError {
		return refusal(http.StatusBadRequest, codeNotListed, "%s", e.Detail)
	}
	return err
}

// Unlisted returns a text about the orders that listings omit, or "" if listings omit no orders.
func (t *Transport) Unlisted() string {
	if t.Outputs.Finished {
		return ""
	}
	return "ended orders are not listed: this stack has no index of them; `show` knows each by its ID"
}

// Statistics returns no figures: an application may not read metrics. The transport of package operate does.
func (t *Transport) Statistics(context.Context) (*client.Statistics, error) {
	return &client.Statistics{Unknown: []string{"statistics: " + forOperators}}, nil
}

// Unattended returns no queue: an application may not read mappings. The transport of package operate does.
func (t *Transport) Unattended(context.Context, string) ([]client.Unattended, error) { return nil, nil }

// Checks checks nothing: an application has not the rights. The transport of package operate does.
func (t *Transport) Checks(context.Context) ([]client.Check, error) {
	return []client.Check{{Name: "stack", Result: client.CheckUnknown, Text: "not checked: " + forOperators}}, nil
}

const forOperators = "this client is an application's; open an operator's by package client/aws/operate"
