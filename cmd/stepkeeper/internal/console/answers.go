package console

import (
	"context"
	"encoding/json"
	"net/http"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

const mostAnswers = 50 // approximate maximum number of waiting orders on a page

// question is an open approval, as its form shows it.
type question struct {
	client.Approval
	Text string // the question
	Show string // JSON document that helps to answer the question
}

func (s *server) answers(ctx context.Context, r *http.Request, _ *kept) (content, error) {
	f := filterOf(r).with("state", "").with("code", "").with("older", "")
	open, next, err := s.Client.Approvals(ctx, client.Query{
		Workflow: f["workflow"], Step: f["step"], IDPrefix: f["id"], PageSize: mostAnswers,
	}, f["cursor"])
	if err != nil {
		return content{}, err
	}
	data := struct {
		menus
		Filter             filter
		Questions          []question
		FirstPage, Next    string
		Filtered, Continue bool
	}{Filter: f, Questions: s.questions(open), Filtered: f["workflow"]+f["step"]+f["id"] != ""}
	data.menus, err = s.menus(ctx, f)
	if err != nil {
		return content{}, err
	}
	if f["cursor"] != "" {
		data.FirstPage = address("/answers", f.with("cursor", ""))
	}
	if next != "" {
		data.Next = address("/answers", f.with("cursor", next))
		data.Continue = len(data.Questions) == 0
	}
	return content{Title: "Answers", Template: "answers", Data: data}, nil
}

func (s *server) questions(open []client.Approval) []question {
	all := make([]question, len(open))
	for i, a := range open {
		all[i] = question{Approval: a}
		// the redaction has the paths of the step's input
		input, err := rawjson.Marshal(core.Question{Question: a.Question, Show: a.Show})
		var asked core.Question
		if err == nil && json.Unmarshal(s.Redact.Apply(input), &asked) == nil {
			all[i].Text = asked.Question
			all[i].Show = s.shown(asked.Show)
		}
	}
	return all
}
