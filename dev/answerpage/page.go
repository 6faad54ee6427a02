// Package answerpage serves the web page on which a person answers a waiting step. The link to the page
// contains a token, which permits its holder to answer (P39, a token is an answer's permission).
//
// The page works without scripts. A GET request only shows the question, because mail scanners follow links.
// A POST request submits an answer for the round that the page showed.
package answerpage

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"html/template"
	"net/http"
	"slices"
	"strconv"

	"github.com/google/uuid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Prefix is the beginning of the path of every page. The rest of the path is the order ID, a slash and the
// token.
const Prefix = "/answer/"

const maxForm = 4 << 10

// Backend finds the question for a token, and accepts answers.
type Backend interface {
	// Question checks the token, and returns the data that the page may show. The error is a refusal of the
	// token, port.ErrNotFound or port.ErrUnavailable.
	Question(ctx context.Context, order, token string) (Question, error)
	// Command passes an answer on, and returns the verdict.
	Command(ctx context.Context, c message.Control) (protocol.Verdict, error)
}

// Question is the content of a page that asks for an answer.
type Question struct {
	Text    string
	Show    []Field
	Answers []string
	Round   int
	Person  string // person who may answer; "" means anyone who has the link
	Closed  string // reason why the step takes no answer now; "" if the step takes answers
}

// Field is a value that the page shows with the question, and its name.
type Field struct{ Name, Value string }

// Read returns the question of a step. The question contains only the parts of the order that the workflow
// shows.
func Read(t *protocol.Task, def *core.Definition, order json.RawMessage, of core.TokenOf) Question {
	q := Question{Round: 1, Person: of.Person}
	i := -1
	if def != nil {
		i = def.Index(of.Step)
	}
	s := t.Step(of.Step)
	if i < 0 || s == nil || def.Steps[i].Answer == nil || def.Steps[i].Answer.Event != "" {
		q.Closed = "This is not answered on a page."
		return q
	}
	if s.Answers != nil {
		q.Round = max(1, s.Answers.Round)
	}
	open := s.State == core.Waiting || s.State == core.Pending
	switch going := t.ProcessState == core.Processing || t.ProcessState == core.Error &&
		t.Phase == core.Forward; {
	case t.Run != of.Run || !going && !open:
		q.Closed = "This link is of an earlier time and takes no answer any more."
	case !going || !open:
		q.Closed = "This is decided, and takes no answer any more."
	}
	var asked core.Question
	input, err := protocol.InputOf(def, order, t, i)
	if err != nil || t.Run != of.Run || len(input) > 0 && json.Unmarshal(input, &asked) != nil {
		q.Closed = cmp.Or(q.Closed, "The question cannot be shown now; try again later.")
		return q
	}
	q.Text = asked.Question
	q.Show = fields(asked.Show)
	q.Answers = def.Steps[i].Answer.Values
	return q
}

// fields returns the members of the object show, sorted by name. Any other value becomes one nameless field.
func fields(show json.RawMessage) (all []Field) {
	var members map[string]json.RawMessage
	if len(show) == 0 {
		return nil
	}
	if json.Unmarshal(show, &members) != nil {
		return []Field{{"", text(show)}}
	}
	for name, value := range members {
		all = append(all, Field{name, text(value)})
	}
	slices.SortFunc(all, func(a, b Field) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return all
}

func text(value json.RawMessage) string {
	var s string
	if json.Unmarshal(value, &s) == nil && string(value) != "null" {
		return s
	}
	return string(value)
}

//go:embed page.html
var source string

// Texts of the order must not change the order of the characters around them.
var page = template.Must(template.New("page").Funcs(template.FuncMap{"printable": core.Printable}).Parse(source))

type shown struct {
	Question
	Message string // text shown instead of the question
}

// New returns the handler for the answer pages. The handler responds to all other paths with 404.
func New(b Backend) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc(Prefix+"{id}/{token}", func(w http.ResponseWriter, r *http.Request) { serve(w, r, b) })
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		write(w, http.StatusNotFound, shown{Message: "There is nothing here. Open the link as it was sent."})
	})
	return mux
}

func serve(w http.ResponseWriter, r *http.Request, b Backend) {
	id := r.PathValue("id")
	token := r.PathValue("token")
	switch r.Method {
	case http.MethodGet, http.MethodHead:
		q, err := b.Question(r.Context(), id, token)
		if err != nil {
			write(w, statusOf(err), shown{Message: reason(err)})
			return
		}
		write(w, http.StatusOK, shown{Question: q})
	case http.MethodPost:
		answer(w, r, b, id, token)
	default:
		w.Header().Set("Allow", "GET, HEAD, POST")
		write(w, http.StatusMethodNotAllowed,
			shown{Message: "This page is read with GET and answered with POST."})
	}
}

func answer(w http.ResponseWriter, r *http.Request, b Backend, id, token string) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	err := r.ParseForm()
	round, wrong := strconv.Atoi(r.PostForm.Get("round"))
	value := r.PostForm.Get("value")
	if over := (*http.MaxBytesError)(nil); errors.As(err, &over) {
		write(w, http.StatusRequestEntityTooLarge,
			shown{Message: "The answer is too large. Open the link again and choose one."})
		return
	}
	data, unwritable := rawjson.Marshal(value)
	if err != nil || wrong != nil || unwritable != nil || round < 1 || value == "" ||
		len(value) > core.MaxApproval {
		write(w, http.StatusBadRequest,
			shown{Message: "The answer is not complete. Open the link again and choose one."})
		return
	}
	v, err := b.Command(r.Context(), message.Control{
		OrderID: id,
		Event:   core.Answered{ID: uuid.NewString(), Round: round, Value: data, Token: token},
	})
	switch {
	case err != nil:
		write(w, statusOf(err), shown{Message: reason(err)})
	case !v.Accepted:
		write(w, http.StatusConflict, shown{Message: "The answer was not taken: " + v.Reason + "."})
	default:
		write(w, http.StatusOK, shown{Message: "Thank you. Your answer was taken: " + value + "."})
	}
}

// refusalOf returns the text for a refused token, or "" for other errors. An unknown order and a token of a
// different order get the same text.
func refusalOf(err error) string {
	var refused *core.Refusal
	switch {
	case errors.As(err, &refused):
		return refused.Text
	case errors.Is(err, port.ErrNotFound):
		return "the token is not one of this order; use the link as it was sent"
	}
	return ""
}

func statusOf(err error) int {
	if refusalOf(err) != "" {
		return http.StatusForbidden
	}
	return http.StatusServiceUnavailable
}

func reason(err error) string {
	if text := refusalOf(err); text != "" {
		return "The link cannot be used: " + text + "."
	}
	return "This cannot be answered now. Open the link again later."
}

// write writes the page. The address of the page contains the token. Therefore the headers forbid frames and
// caches, and keep the address from other sites.
func write(w http.ResponseWriter, status int, what shown) {
	var b bytes.Buffer
	if err := page.Execute(&b, what); err != nil {
		panic(err) // the template has a mistake
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy",
		"default-src 'none'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("X-Frame-Options", "DENY")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Robots-Tag", "noindex")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes()) // a failure means that the client has disconnected
}
