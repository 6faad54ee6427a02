package console_test

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// created returns when the order with this number was created: the first is the newest.
func created(i int) core.Time { return core.Time(1800000000000 - i*1000) }

// many is a deployment with n running orders. Each third order of the first half, and each order of the second
// half, waits for an answer. requests counts what was read.
type many struct{ n, requests int }

func (m *many) asks(i int) bool { return i%3 == 0 || i > m.n/2 }

func (m *many) List(_ context.Context, q port.Query) (orders []view.Summary, next string, err error) {
	m.requests++
	from, _ := strconv.Atoi(q.Cursor)
	if q.Oldest {
		from = max(m.n-1, 0)
		q.Limit = 1
	}
	orders = []view.Summary{}
	for i := from; i < min(from+q.Limit, m.n); i++ {
		o := view.Summary{
			OrderID: fmt.Sprintf("o-%d", i), Workflow: "order", State: core.Processing, Created: created(i),
		}
		if m.asks(i) {
			o.Waits = []view.Wait{{Step: "approve", For: view.WaitAnswer}}
		}
		orders = append(orders, o)
	}
	if from+q.Limit < m.n {
		next = strconv.Itoa(from + q.Limit)
	}
	return orders, next, nil
}

func (m *many) Task(_ context.Context, id string) (*protocol.Task, *core.Definition, error) {
	m.requests++
	def := &core.Definition{Name: "order", Hash: "h", Steps: []core.StepDefinition{{
		Name: "approve", Answer: &core.Answer{Values: []string{"yes"}},
	}}}
	def.Link()
	return &protocol.Task{
		OrderID: id, Workflow: "order", Definition: "h", ProcessState: core.Processing,
		Steps: []protocol.Step{{Name: "approve", State: core.Waiting}},
	}, def, nil
}

func (m *many) Order(context.Context, *protocol.Task) (json.RawMessage, error) { return nil, nil }

func (m *many) Target(context.Context, string, string) (core.Target, error) {
	return core.Target{}, nil
}

func (m *many) console(t *testing.T) http.Handler {
	t.Helper()
	return pagesOf(answering(t, func(r *http.Request) any {
		v := r.URL.Query()
		limit, _ := strconv.Atoi(v.Get("limit"))
		q := port.Query{Oldest: v.Get("oldest") == "true", Limit: limit, Cursor: v.Get("cursor")}
		if r.URL.Path == "/v1/approvals" {
			page, err := view.OpenApprovals(r.Context(), m, q, v.Get("step"), v.Get("id"), moment(0).Std())
			if err != nil {
				t.Error(err)
			}
			return page
		}
		orders, next, _ := m.List(r.Context(), q)
		return view.Page{Orders: orders, Next: next}
	}))
}

var (
	asked    = regexp.MustCompile(`id="question-(o-\d+)-approve"`)
	nextPage = regexp.MustCompile(`id="next" href="([^"]*)"`)
)

// The pages of Answers together show each question once, however many other orders are running. Each page
// reads and shows a bounded number.
func TestAnswersGoOnPages(t *testing.T) {
	const n = 5000
	m := &many{n: n}
	h := m.console(t)
	for _, c := range []struct {
		path string
		want func(i int) bool
	}{
		{"/answers", func(i int) bool { return i%3 == 0 || i > n/2 }},
		{"/answers?id=o-49", func(i int) bool {
			return strings.HasPrefix(strconv.Itoa(i), "49") && (i%3 == 0 || i > n/2)
		}},
		{"/answers?step=other", func(int) bool { return false }},
	} {
		seen := map[string]int{}
		for path, pages := c.path, 0; path != ""; pages++ {
			m.requests = 0
			body := shown(t, h, path, http.StatusOK)
			found := asked.FindAllStringSubmatch(body, -1)
			require.LessOrEqual(t, len(found), 100, c.path)
			require.LessOrEqual(t, m.requests, 130, c.path)
			require.LessOrEqual(t, pages, n, c.path)
			for _, m := range found {
				seen[m[1]]++
			}
			path = ""
			if nextPage.MatchString(body) {
				path = html.UnescapeString(nextPage.FindStringSubmatch(body)[1])
			}
		}
		for i := range n {
			id := fmt.Sprintf("o-%d", i)
			want := 0
			if c.want(i) {
				want = 1
			}
			require.Equal(t, want, seen[id], c.path)
		}
	}
}

// The overview shows the age of the oldest order also if it is not among those that are counted.
func TestOldestOfManyOrders(t *testing.T) {
	for _, n := range []int{0, 1, 1000, 1001, 5000} {
		want := "–"
		if n > 0 {
			want = "<time class=\"ago\" datetime=\"" + created(n-1).Std().UTC().Format(time.RFC3339Nano) +
				"\""
		}
		_, tile, _ := strings.Cut(shown(t, (&many{n: n}).console(t), "/", http.StatusOK), `<li id="oldest">`)
		require.True(t, strings.HasPrefix(tile, `<span class="quiet">Oldest running order</span><strong>`+want), tile)
	}
}
