package client

import (
	"context"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Query selects orders. A field with the zero value does not restrict the selection.
type Query struct {
	State     State
	Workflow  string
	OlderThan time.Duration // minimum age
	PageSize  int           // orders per page, 1 to 1000; 0 means 100
	Damaged   bool          // select only orders that were set aside because they cannot be read
	Oldest    bool          // select only the oldest order that matches the fields above

	// The client applies the fields below to each page that it has read. If only few of many orders match,
	// the client reads many pages.
	Step     string // step that failed or for which the order waits
	Code     string // code of the order's error
	IDPrefix string
	Late     time.Duration // time within which a deadline of the order, or of one of its steps, passes; 0 means any
}

// matches reports whether the order matches the fields Step, Code, IDPrefix and Late.
func (q *Query) matches(s *Summary) bool {
	if q.Late > 0 && (s.LateAt == 0 || time.Until(s.LateAt.Std()) > q.Late) {
		return false
	}
	if !strings.HasPrefix(s.OrderID, q.IDPrefix) || q.Code != "" &&
		(s.Error == nil || s.Error.Code != q.Code) {
		return false
	}
	return q.Step == "" || s.Error != nil && s.Error.Step == q.Step ||
		slices.ContainsFunc(s.Waits, func(w view.Wait) bool { return w.Step == q.Step })
}

// Page returns the selected orders of one page, newest first. The first page has the cursor "". The result
// next is the cursor of the next page, or "" if there are no more pages. A page may be empty although next is
// set.
func (c *Client) Page(ctx context.Context, q Query,
	cursor string,
) (selected []Summary, next string, err error) {
	page, err := again(ctx, c,
		func(ctx context.Context) (*view.Page, error) { return c.via.Page(ctx, q, cursor) })
	if err != nil {
		return nil, "", err
	}
	return slices.DeleteFunc(page.Orders, func(s Summary) bool { return !q.matches(&s) }), page.Next, nil
}

// List yields the selected orders, newest first. It reads pages as needed. After an error it yields nothing
// more.
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
			cursor = next
			if cursor == "" {
				return
			}
		}
	}
}

// Approvals returns one page of the approvals that are open. Of the query it uses Workflow, Step, IDPrefix and
// PageSize, the number of approvals after which the page ends. The cursor and next are as for Page. A page may
// be empty although next is set.
func (c *Client) Approvals(ctx context.Context, q Query, cursor string) (open []Approval, next string, err error) {
	page, err := again(ctx, c, func(ctx context.Context) (view.Approvals, error) {
		return c.via.Approvals(ctx, q, cursor)
	})
	return page.Approvals, page.Next, err
}

// Unlisted returns a text for people about the orders that List omits, or "" if List omits no orders. On AWS,
// List omits ended orders if the stack was deployed without the index of finished orders.
func (c *Client) Unlisted() string { return c.via.Unlisted() }

// Statistics returns counts of at most the last hour, and the present state of each agent's queue.
//
// If a server started less than an hour ago, its counts begin at its start. For a stack, Statistics reads
// metrics of CloudWatch, which are some minutes late. The client caches the metrics for a minute, because AWS
// bills each read (docs/explanation/cost.md). The field Unknown lists the missing counts and the reasons.
func (c *Client) Statistics(ctx context.Context) (*Statistics, error) {
	return again(ctx, c, c.via.Statistics)
}

// Unattended returns the queues without a consumer. The most frequent cause is an agent that does not run. On
// AWS, a queue has no consumer if its event source mapping is off. A request queue also has no consumer if
// requests wait and none is in flight.
//
// If workflow is not empty, Unattended checks only the Scheduler's queues and the queues of the agents that
// the workflow needs. If these agents are unknown, it checks the queues of all agents. A server ignores
// workflow, and checks the queues of all external agents.
//
// On AWS, a call takes at most a few seconds. If the check of some queues fails, Unattended returns
// its results so far, and an error that names these queues.
func (c *Client) Unattended(ctx context.Context, workflow string) ([]Unattended, error) {
	return again(ctx, c, func(ctx context.Context) ([]Unattended, error) {
		return c.via.Unattended(ctx, workflow)
	})
}
