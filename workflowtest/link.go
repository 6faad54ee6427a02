package workflowtest

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// OpenLink opens the page behind a link from the workflow, as a browser does. It returns the status and the
// text of the page. It sends no answer: the token in the link only permits one (P39, a token is an answer's
// permission).
func (r *Run) OpenLink(link string) (status int, page string) {
	r.w.t.Helper()
	return r.browse(http.MethodGet, link, nil)
}

// AnswerLink opens the page behind a link and submits the form on the page with a value.
func (r *Run) AnswerLink(link, value string) (status int, page string) {
	r.w.t.Helper()
	_, page = r.browse(http.MethodGet, link, nil)
	round := "1"
	if found := shownRound.FindStringSubmatch(page); found != nil {
		round = found[1]
	}
	return r.browse(http.MethodPost, link, url.Values{"round": {round}, "value": {value}})
}

var shownRound = regexp.MustCompile(`name="round" value="(\d+)"`)

func (r *Run) browse(method, link string, form url.Values) (int, string) {
	r.w.t.Helper()
	r.note("%s the page of a token", method)
	u, err := url.Parse(link)
	if err != nil {
		r.fatal("cannot open a link: %v", err)
		return 0, ""
	}
	request := httptest.NewRequest(method, u.RequestURI(), strings.NewReader(form.Encode()))
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer := httptest.NewRecorder()
	answerpage.New(linked{r.w}).ServeHTTP(answer, request)
	return answer.Code, answer.Body.String()
}

type linked struct{ w *Workflow }

func (l linked) Question(ctx context.Context, order, text string) (answerpage.Question, error) {
	of, err := token.Fixed(false).Read(order, text, core.TimeOf(l.w.clock.Now()))
	r := l.w.runs[order]
	if err != nil || r == nil {
		return answerpage.Question{}, errors.Join(err, port.ErrNotFound)
	}
	submitted, err := state.OrderOf(ctx, l.w.store, r.task)
	if err != nil {
		return answerpage.Question{}, err
	}
	return answerpage.Read(r.task, l.w.defs[r.task.Definition], submitted, of), nil
}

func (l linked) Command(ctx context.Context, c message.Control) (protocol.Verdict, error) {
	return l.w.scheduler.Command(ctx, c)
}
