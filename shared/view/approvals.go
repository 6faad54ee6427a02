package view

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Approval is an open approval: a question that people have to answer before an order goes on.
type Approval struct {
	OrderID  string          `json:"orderId"`
	Workflow string          `json:"workflow"`
	Parent   *Parent         `json:"parent,omitempty" doc:"step that the order is a child of"`
	Step     string          `json:"step"`
	Run      int             `json:"run" doc:"run to name in an answer"`
	Question string          `json:"question,omitempty"`
	Show     json.RawMessage `json:"show,omitempty" doc:"fields that help to decide"`
	Since    core.Time       `json:"since"`
	Until    core.Time       `json:"until,omitzero" doc:"time at which nobody can answer any more"`
	Answers
}

// Approvals is one page of the open approvals, those of the newest order first.
type Approvals struct {
	Approvals []Approval `json:"approvals" nullable:"false"`
	Next      string     `json:"next,omitempty" doc:"cursor of the next page; absent at the end"`
}

// ApprovalsOf returns the open approvals of a detailed task.
func ApprovalsOf(t *Task) (open []Approval) {
	for i := range t.Steps {
		s := &t.Steps[i]
		if t.State != core.Processing || s.Kind != KindApproval || s.State != core.Waiting || s.Answers == nil {
			continue
		}
		a := Approval{
			OrderID: t.OrderID, Workflow: t.Workflow, Parent: t.Parent, Step: s.Name, Run: t.Run, Since: s.ClaimedAt,
			Until: s.WakeAt, Answers: *s.Answers,
		}
		var asked core.Question
		if json.Unmarshal(s.Input, &asked) == nil {
			a.Question = asked.Question
			a.Show = asked.Show
		}
		open = append(open, a)
	}
	return open
}

// mostLooked is the largest number of orders that one page of approvals looks through.
const mostLooked = 10000

// OpenApprovals returns one page of open approvals, of about q.Limit orders. It uses the fields Workflow, Limit
// and Cursor of the query. An empty step or prefix selects all. A page may be empty although Next is set.
func OpenApprovals(ctx context.Context, from Orders, q port.Query, step, prefix string, now time.Time) (
	Approvals, error,
) {
	page := Approvals{Approvals: []Approval{}}
	ids, next, err := asking(ctx, from, q, step, prefix)
	if err != nil {
		return page, err
	}
	page.Next = next
	for _, id := range ids {
		t, def, err := from.Task(ctx, id)
		if errors.Is(err, port.ErrNotFound) {
			continue
		}
		if err != nil {
			return page, err
		}
		order, _ := from.Order(ctx, t) // after an error, the approvals lack their questions
		shown := Detailed(t, def, order, now)
		for _, a := range ApprovalsOf(&shown) {
			if step == "" || a.Step == step {
				page.Approvals = append(page.Approvals, a)
			}
		}
	}
	return page, nil
}

// asking returns the IDs of about q.Limit orders that wait for an answer, and the cursor of the next page. It
// reads large pages of the listing, because few orders may wait for an answer. If a large page has too many
// waiting orders, asking stops before this page. If asking has found no order before, it instead reads this
// page again in small pages.
func asking(ctx context.Context, from Orders, q port.Query, step, prefix string) (ids []string, next string,
	err error,
) {
	most := q.Limit
	q.State = string(core.Processing)
	q.Limit = 1000
	for looked := 0; ; {
		orders, after, err := from.List(ctx, q)
		if err != nil {
			return nil, "", err
		}
		var some []string
		for _, o := range orders {
			if strings.HasPrefix(o.OrderID, prefix) && slices.ContainsFunc(o.Waits, func(w Wait) bool {
				return w.For == WaitAnswer && (step == "" || w.Step == step)
			}) {
				some = append(some, o.OrderID)
			}
		}
		if len(ids)+len(some) > most && q.Limit > most {
			if len(ids) > 0 {
				return ids, q.Cursor, nil
			}
			q.Limit = most
			continue
		}
		ids = append(ids, some...)
		q.Cursor = after
		looked += q.Limit
		if q.Cursor == "" || len(ids) >= most || looked >= mostLooked {
			return ids, q.Cursor, nil
		}
	}
}
