package client

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Query selects orders. A zero field does not restrict them.
type Query struct {
	State     State
	Workflow  string
	OlderThan time.Duration // lowest age since creation
	PageSize  int           // orders fetched at once, 1 to 1000; 0 means 100
	Oldest    bool          // select only the oldest of the orders that match the fields above

	// The fields below are applied to a page by the client and not by the store. If few of many orders match,
	// that takes many pages.
	Step     string // step that failed, or that the order waits for
	Code     string // code of the step's error
	IDPrefix string
}

// Matches reports whether the order matches the fields that the client applies.
func (q *Query) Matches(s *Summary) bool {
	if !strings.HasPrefix(s.OrderID, q.IDPrefix) || q.Code != "" &&
		(s.Error == nil || s.Error.Code != q.Code) {
		return false
	}
	return q.Step == "" || s.Error != nil && s.Error.Step == q.Step ||
		slices.ContainsFunc(s.Waits, func(w view.Wait) bool { return w.Step == q.Step })
}

// Page returns the selected orders of one page, newest first, and the cursor of the next, or "" at the end.
// The first page has the cursor "". A page may be empty and still have a next one.
func (c *Client) Page(ctx context.Context, q Query,
	cursor string) (selected []Summary, next string, err error) {
	page, err := again(ctx, c,
		func(ctx context.Context) (*view.Page, error) { return c.via.Page(ctx, q, cursor) })
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(page.Orders, func(s Summary) bool { return !q.Matches(&s) }), page.Next, nil
}

// List yields the selected orders, newest first, and fetches pages as needed. An error is the last element.
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

// Unlisted describes the orders that List omits, for people, or returns "" if it omits none. On AWS it omits
// ended orders, unless the stack was deployed with an index of them.
func (c *Client) Unlisted() string { return c.via.Unlisted() }

// Statistics returns an operator's figures of at most the last hour, and the present figures of each agent.
//
// A server counts since its start. For a stack the figures are CloudWatch's metrics, some minutes late. They
// are cached for a minute, because each read is billed (docs/explanation/cost.md). The field Unknown lists
// the figures that the caller may not read.
func (c *Client) Statistics(ctx context.Context) (*Statistics, error) {
	via, ok := c.via.(interface {
		Statistics(ctx context.Context) (*Statistics, error)
	})
	if !ok {
		return &Statistics{Unknown: []string{"statistics: they are not available through this client"}}, nil
	}
	return again(ctx, c, via.Statistics)
}

// Unattended returns the queues without a consumer, mostly because an agent does not run.
//
// On AWS it finds every queue whose event source mapping is off, and each request queue in which requests
// wait and none is in flight. workflow restricts the result to the agents of that workflow, if they are
// known; "" means all agents. A server ignores workflow here, because its receipts list the queues of an
// order's workflow.
//
// On AWS a call takes a few seconds at most. An error means that some queues could not be checked; the result
// has the others.
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
