package client

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Query selects orders; zero fields do not select.
type Query struct {
	State     State
	Workflow  string
	OlderThan time.Duration // created at least so long ago
	PageSize  int           // orders fetched at once, 1 to 1000; 0 means 100
	Oldest    bool          // only the oldest of the orders that the fields above select

	// These select among the orders of a page, here and not in the store: few of many orders take many pages.
	Step     string // the step that failed, or one that the order waits in
	Code     string // code of the step's error
	IDPrefix string
}

// Matches reports whether the fields that select here let the order through.
func (q *Query) Matches(s *Summary) bool {
	if !strings.HasPrefix(s.OrderID, q.IDPrefix) || q.Code != "" &&
		(s.Error == nil || s.Error.Code != q.Code) {
		return false
	}
	return q.Step == "" || s.Error != nil && s.Error.Step == q.Step ||
		slices.ContainsFunc(s.Waits, func(w view.Wait) bool { return w.Step == q.Step })
}

// Page returns the selected orders of one page, newest first, and the cursor of the next; "" at the end. The
// first page has the cursor "". A page may hold no order and have a next one.
func (c *Client) Page(ctx context.Context, q Query,
	cursor string) (selected []Summary, next string, err error) {
	page, err := again(ctx, c,
		func(ctx context.Context) (*view.Page, error) { return c.via.Page(ctx, q, cursor) })
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(page.Orders, func(s Summary) bool { return !q.Matches(&s) }), page.Next, nil
}

// List goes through the selected orders, newest first, and fetches pages as they are needed. An
// error is the last element.
func (c *Client) List(ctx context.Context, q Query) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		cursor := ""
		for {
			orders, next, err := c.Page(ctx, q, cursor)
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, s := range orders {
				if !yield(s, nil) {
					return
				}
			}
			if cursor = next; cursor == "" {
				return
			}
		}
	}
}

// Unlisted says what List leaves out, for people to read; "" for nothing. On AWS these are ended
// orders, unless the stack was deployed with an index of them.
func (c *Client) Unlisted() string { return c.via.Unlisted() }

// Statistics answers figures of the last hour at most, and of each agent now, for an operator to watch. A
// server counts them while it runs. Of a stack they are CloudWatch's metrics, some minutes late, and what one
// call reads is answered again for a minute, because each read is billed (docs/explanation/cost.md); what may
// not be read is said in Unknown.
func (c *Client) Statistics(ctx context.Context) (*Statistics, error) {
	via, ok := c.via.(interface {
		Statistics(ctx context.Context) (*Statistics, error)
	})
	if !ok {
		return &Statistics{Unknown: []string{"statistics: they are not available through this client"}}, nil
	}
	return again(ctx, c, via.Statistics)
}

// Unattended lists the queues of requests that nothing takes from: agents that do not run, mostly. On AWS
// these are queues whose event source mapping takes nothing, also of the Scheduler's own queues, and those
// where requests wait and none is being handled; workflow restricts it to the agents that a workflow needs,
// where that is known, "" does not. A server names in its receipts what a workflow needs, and here all.
//
// On AWS it takes a few seconds at most, and an error means that not all is known: what is known is
// answered beside it.
func (c *Client) Unattended(ctx context.Context, workflow string) ([]Unattended, error) {
	via, ok := c.via.(interface {
		Unattended(ctx context.Context, workflow string) ([]Unattended, error)
	})
	if !ok {
		return nil, nil
	}
	return again(ctx, c, func(ctx context.Context) ([]Unattended, error) {
		return via.Unattended(ctx, workflow)
	})
}
