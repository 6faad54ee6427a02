package console

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

const mostAnswers = 50 // approximate maximum number of waiting orders on a page

type question struct {
	OrderID, Workflow, Step string
	Since, Until            core.Time
	Run, Round              int
	Text                    string
	Show                    string // JSON document that helps to answer the question
	Values, Who             []string
	Need                    int
	Votes                   []protocol.Vote
	Reasoned                []protocol.Verdict
	Token                   string
	ReadOnly                bool
}

func (s *server) answers(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	f := filterOf(r)
	f.State = ""
	f.Code = ""
	f.Older = ""
	chosen := client.Query{State: core.Processing, Workflow: f.Workflow, Step: f.Step, IDPrefix: f.Prefix}
	asking, next, err := s.asking(ctx, chosen, f.Cursor)
	if err != nil {
		return content{}, err
	}
	data := struct {
		menus
		Filter             filter
		Questions          []question
		FirstPage, Next    string
		Filtered, Continue bool
	}{Filter: f, Filtered: f.Workflow+f.Step+f.Prefix != ""}
	data.menus, err = s.menus(ctx, f)
	if err != nil {
		return content{}, err
	}
	for _, id := range asking {
		t, err := s.Client.Get(ctx, id)
		if err != nil {
			return content{}, err
		}
		for _, q := range s.questions(t) {
			if f.Step == "" || q.Step == f.Step {
				data.Questions = append(data.Questions, q)
			}
		}
	}
	if f.Cursor != "" {
		data.FirstPage = f.on("/answers", "")
	}
	if next != "" {
		data.Next = f.on("/answers", next)
		data.Continue = len(data.Questions) == 0
	}
	return content{Title: "Answers", Template: "answers", Data: data}, nil
}

// asking returns the IDs of about one page of orders that wait for an answer, and the cursor of the next
// page. It reads large pages, because few orders may wait for an answer. If a large page has too many waiting
// orders, asking stops before this page. If asking has found no order before, it instead reads this page
// again in small pages.
func (s *server) asking(ctx context.Context, q client.Query, cursor string) (ids []string, next string,
	err error,
) {
	q.PageSize = mostCounted
	for looked := 0; ; {
		orders, after, err := s.Client.Page(ctx, q, cursor)
		if err != nil {
			return nil, "", err
		}
		var some []string
		for _, o := range orders {
			if slices.ContainsFunc(o.Waits, func(w view.Wait) bool { return w.For == view.WaitAnswer }) {
				some = append(some, o.OrderID)
			}
		}
		if len(ids)+len(some) > mostAnswers && q.PageSize > mostAnswers {
			if len(ids) > 0 {
				return ids, cursor, nil
			}
			q.PageSize = mostAnswers
			continue
		}
		ids = append(ids, some...)
		cursor = after
		looked = looked + q.PageSize
		if cursor == "" || len(ids) >= mostAnswers || looked >= mostGrouped {
			return ids, cursor, nil
		}
	}
}

func (s *server) questions(t *client.Task) (all []question) {
	for i := range t.Steps {
		st := &t.Steps[i]
		if st.Kind != view.KindApproval || st.State != core.Waiting || st.Answers == nil ||
			t.State != core.Processing {
			continue
		}
		q := question{
			OrderID: t.OrderID, Workflow: t.Workflow, Step: st.Name, Since: st.ClaimedAt,
			Until: st.WakeAt, Run: t.Run, Round: max(1, st.Answers.Round),
			Values: st.Answers.Values, Who: st.Answers.Who, Need: st.Answers.Need, Votes: st.Answers.Votes,
			Reasoned: st.Answers.Reasoned, Token: s.secret, ReadOnly: s.ReadOnly,
		}
		var asked core.Question
		if json.Unmarshal(s.Redact.Apply(st.Input), &asked) == nil {
			q.Text = asked.Question
			q.Show = s.shown(asked.Show)
		}
		all = append(all, q)
	}
	return all
}
