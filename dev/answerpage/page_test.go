package answerpage_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// asks are the expressions of a definition whose first step has this input.
type asks struct {
	core.Expressions
	input string
}

func (a asks) Value(core.Part, int, core.Environment) (json.RawMessage, error) {
	return json.RawMessage(a.input), nil
}

func asking(input string) *core.Definition {
	d := &core.Definition{Name: "order", Expr: asks{input: input}, Steps: []core.StepDefinition{
		{Name: "approve", Input: json.RawMessage(`"t"`), Answer: &core.Answer{Values: []string{"yes", "no"}}},
		{Name: "pay"},
		{Name: "bought", Answer: &core.Answer{Event: "bought"}},
	}}
	d.Link()
	return d
}

func waiting() *protocol.Task {
	step := protocol.Step{
		State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 1, At: 1},
		Answers: &protocol.Answers{},
	}
	first := step
	last := step
	first.Name = "approve"
	last.Name = "bought"
	return &protocol.Task{
		OrderID: "o", Run: 1, ProcessState: core.Processing,
		Steps: []protocol.Step{first, {Name: "pay", State: core.Pending}, last},
	}
}

// A page takes an answer where the step asks or will ask, in the run of its link; else it says why not.
func TestWhatIsOpen(t *testing.T) {
	const decided, earlier, none, hidden = "This is decided", "This link is of an earlier time",
		"This is not answered on a page", "The question cannot be shown now"
	for _, c := range []struct {
		step   string
		run    int
		input  string
		change func(*protocol.Task)
		closed string // how it begins
	}{
		{"approve", 1, `{}`, func(*protocol.Task) {}, ""},
		{"approve", 1, ``, func(*protocol.Task) {}, ""},
		{"approve", 1, `{}`, func(x *protocol.Task) {
			x.Steps[0] = protocol.Step{
				Name:  "approve",
				State: core.Pending,
			}
		}, ""},
		{"approve", 1, `{}`, func(x *protocol.Task) { x.ProcessState = core.Error; x.Phase = core.Forward }, ""},
		{
			"approve", 1, `{}`, func(x *protocol.Task) { x.ProcessState = core.Error; x.Phase = core.Undoing },
			decided,
		},
		{"approve", 1, `{}`, func(x *protocol.Task) { x.Steps[0].State = core.Processed }, decided},
		{"approve", 1, `{}`, func(x *protocol.Task) {
			x.ProcessState = core.Processed
			x.Steps[0].State = core.Processed
		}, earlier},
		{"approve", 0, `{}`, func(*protocol.Task) {}, earlier},
		{"approve", 1, `{`, func(*protocol.Task) {}, hidden},
		{"approve", 1, `{`, func(x *protocol.Task) { x.Steps[0].State = core.Processed }, decided},
		{"pay", 1, `{}`, func(*protocol.Task) {}, none},
		{"bought", 1, `{}`, func(*protocol.Task) {}, none},
		{"other", 1, `{}`, func(*protocol.Task) {}, none},
	} {
		x := waiting()
		c.change(x)
		q := answerpage.Read(x, asking(c.input), []byte(`{}`),
			core.TokenOf{Step: c.step, Run: c.run, Person: "ann"})
		require.True(t, strings.HasPrefix(q.Closed, c.closed), "%+v", c)
		require.Equal(t, c.closed == "", q.Closed == "", "%+v", c)
		require.Equal(t, "ann", q.Person, "%+v", c)
		require.Equal(t, 1, q.Round, "%+v", c)
	}
	if q := answerpage.Read(waiting(), nil, nil,
		core.TokenOf{Step: "approve", Run: 1}); !strings.HasPrefix(q.Closed, none) {
		t.Errorf("without a definition: %+v", q)
	}
}

// backend answers one question.
type backend struct {
	question answerpage.Question
	err      error
	refused  string
	sent     message.Control
}

func (b *backend) Question(_ context.Context, order, token string) (answerpage.Question, error) {
	if order != "o" || token != "secret" {
		return answerpage.Question{}, port.ErrNotFound
	}
	return b.question, b.err
}

func (b *backend) Command(_ context.Context, c message.Control) (protocol.Verdict, error) {
	b.sent = c
	return protocol.Verdict{Accepted: b.refused == "", Reason: b.refused}, b.err
}

const open = `<!DOCTYPE html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Pay?</title></head>
<body>
<h1>Pay?</h1>
<table>
<tr><th scope="row">note</th><td>&lt; none&gt;</td></tr>
<tr><th scope="row">of</th><td>null</td></tr>
<tr><th scope="row">total</th><td>12.50</td></tr>
</table>
<p>You answer as ann.</p>
<form method="post">
<input type="hidden" name="round" value="3">
<button name="value" value="yes">yes</button>
<button name="value" value="no">no</button>
</form>
</body>
</html>
`

// The page shows what the workflow shows, keeps its address to itself, and hands an answer on with its round
// and its token.
func TestPages(t *testing.T) {
	x := waiting()
	x.Steps[0].Answers = &protocol.Answers{Round: 3}
	b := &backend{question: answerpage.Read(x,
		asking(`{"question":"Pay?","show":{"total":12.50,"of":null,"note":"<\u202enone>"}}`), []byte(`{}`),
		core.TokenOf{Step: "approve", Run: 1, Person: "ann"})}
	pages := answerpage.New(b)
	do := func(method, path string, form url.Values) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(t.Context(), method, path,
			strings.NewReader(form.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		pages.ServeHTTP(w, r)
		return w
	}
	const path = answerpage.Prefix + "o/secret"
	w := do(http.MethodGet, path, nil)
	want := http.Header{
		"Content-Type": {"text/html; charset=utf-8"},
		"Content-Security-Policy": {
			"default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
		},
		"Referrer-Policy": {"no-referrer"}, "X-Frame-Options": {"DENY"},
		"X-Content-Type-Options": {"nosniff"}, "X-Robots-Tag": {"noindex"}, "Cache-Control": {"no-store"},
	}
	require.Equal(t, http.StatusOK, w.Code)
	require.Equal(t, open, w.Body.String())
	require.Equal(t, fmt.Sprint(want), fmt.Sprint(w.Header()))
	one := answerpage.Read(waiting(), asking(`{"show":["a"]}`), []byte(`{}`),
		core.TokenOf{Step: "approve", Run: 1})
	require.Len(t, one.Show, 1)
	require.Equal(t, answerpage.Field{Value: `["a"]`}, one.Show[0])
	yes := url.Values{"round": {"3"}, "value": {"yes"}}
	w = do(http.MethodPost, path, yes)
	require.Equal(t, http.StatusOK, w.Code)
	require.Contains(t, w.Body.String(), "Your answer was taken: yes.")
	if a, ok := b.sent.Event.(core.Answered); !ok || b.sent.Check() != nil || b.sent.OrderID != "o" ||
		a.Round != 3 || string(a.Value) != `"yes"` || a.Token != "secret" {
		t.Errorf("%+v, %v", b.sent, b.sent.Check())
	}
	for _, c := range []struct {
		method, path string
		form         url.Values
		err          error
		refused      string
		status       int
		text         string
	}{
		{
			http.MethodPost, path, yes, nil, "it is too late", http.StatusConflict,
			"The answer was not taken: it is too late.",
		},
		{
			http.MethodPost, path, yes, port.ErrUnavailable, "", http.StatusServiceUnavailable,
			"This cannot be answered now.",
		},
		{
			http.MethodPost, path, yes, &core.Refusal{Text: "the token is too long"}, "",
			http.StatusForbidden, "The link cannot be used: the token is too long.",
		},
		{
			http.MethodGet, path, nil, &core.Refusal{Text: "the token has expired"}, "", http.StatusForbidden,
			"The link cannot be used: the token has expired.",
		},
		{
			http.MethodGet, path, nil, errors.New("disk full"), "", http.StatusServiceUnavailable,
			"This cannot be answered now.",
		},
		{
			http.MethodGet, answerpage.Prefix + "o/other", nil, nil, "", http.StatusForbidden,
			"the token is not one of this order",
		},
		{
			http.MethodPost, path,
			url.Values{"round": {"0"}, "value": {"yes"}},
			nil, "", http.StatusBadRequest,
			"The answer is not complete.",
		},
		{
			http.MethodPost, path,
			url.Values{"round": {"x"}, "value": {"yes"}},
			nil, "", http.StatusBadRequest,
			"The answer is not complete.",
		},
		{
			http.MethodPost, path,
			url.Values{"round": {"1"}},
			nil, "", http.StatusBadRequest,
			"The answer is not complete.",
		},
		{
			http.MethodPost, path,
			url.Values{"round": {"1"}, "value": {strings.Repeat("x", core.MaxApproval)}},
			nil, "", http.StatusOK, "Your answer was taken",
		},
		{
			http.MethodPost, path,
			url.Values{
				"round": {"1"},
				"value": {strings.Repeat("x", core.MaxApproval+1)},
			},
			nil, "", http.StatusBadRequest,
			"The answer is not complete.",
		},
		{
			http.MethodPost, path,
			url.Values{
				"round": {"1"}, "value": {"yes"},
				"z": {strings.Repeat("x", 4<<10)},
			},
			nil, "", http.StatusRequestEntityTooLarge,
			"The answer is too large.",
		},
		{http.MethodDelete, path, nil, nil, "", http.StatusMethodNotAllowed, "This page is read with GET"},
	} {
		b.err = c.err
		b.refused = c.refused
		w := do(c.method, c.path, c.form)
		require.Equal(t, c.status, w.Code, "%+v", c)
		require.Contains(t, w.Body.String(), c.text, "%+v", c)
		require.NotContains(t, w.Body.String(), "<form", "%+v", c)
		require.Equal(t, c.status == http.StatusMethodNotAllowed, w.Header().Get("Allow") != "", "%+v", c)
	}
}
