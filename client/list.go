package client

import (
	"context"
	"iter"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Query selects orders; zero fields do not select.
type Query struct {
	State     State
	Workflow  string
	OlderThan time.Duration // created at least so long ago
	PageSize  int           // orders fetched at once, 1 to 1000; 0: 100
}

// List goes through the selected orders, newest first, and fetches pages as they are needed. An
// error is the last element.
func (c *Client) List(ctx context.Context, q Query) iter.Seq2[Summary, error] {
	return func(yield func(Summary, error) bool) {
		cursor := ""
		for {
			page, err := again(ctx, c, func(ctx context.Context) (*view.Page, error) { return c.via.Page(ctx, q, cursor) })
			if err != nil {
				yield(Summary{}, err)
				return
			}
			for _, s := range page.Orders {
				if !yield(s, nil) {
					return
				}
			}
			if cursor = page.Next; cursor == "" {
				return
			}
		}
	}
}

// Unlisted says what List leaves out, for people to read; "" for nothing. On AWS these are ended
// orders, unless the stack was deployed with an index of them.
func (c *Client) Unlisted() string {
	if some, ok := c.via.(interface{ Unlisted() string }); ok {
		return some.Unlisted()
	}
	return ""
}

// Unattended lists the queues of requests that nothing takes from: agents that do not run, mostly. On AWS
// it is what the queues' attributes say at this moment, of the queues that the caller may look at.
func (c *Client) Unattended(ctx context.Context) ([]Unattended, error) {
	via, ok := c.via.(interface {
		Unattended(ctx context.Context) ([]Unattended, error)
	})
	if !ok {
		return nil, nil
	}
	return again(ctx, c, via.Unattended)
}
