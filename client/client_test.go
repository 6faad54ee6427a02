package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// rig is a client of the real HTTP edge, which has a backend in memory.
type rig struct {
	*testing.T
	ctx     context.Context
	backend *apitest.Backend
	client  *client.Client
	url     string
	cut     *cutter
}

// cutter breaks connections after a number of response bytes, as a killed server does.
type cutter struct {
	net.Listener
	left atomic.Int64 // bytes until the next cut; 0: none is wanted
	then atomic.Int64 // what is left after a cut
	cuts atomic.Int64
}

func (c *cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return &cutConn{conn, c}, nil
}

type cutConn struct {
	net.Conn
	c *cutter
}

func (c *cutConn) Write(b []byte) (int, error) {
	if left := c.c.left.Load(); left > 0 && c.c.left.Add(-int64(len(b))) <= 0 {
		c.c.left.Store(c.c.then.Load())
		c.c.cuts.Add(1)
		c.Conn.Close()
		return 0, net.ErrClosed
	}
	return c.Conn.Write(b)
}

// ending sends requests whose contexts can end, as those of all callers here do.
type ending struct{ *testing.T }

func (e ending) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Context().Done() == nil {
		e.Errorf("%s %s has another context than its caller's", r.Method, r.URL)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func newRig(t *testing.T, opts ...client.Option) *rig {
	t.Helper()
	b := apitest.New()
	s := httptest.NewUnstartedServer(api.New(api.Config{Backend: b, Clock: port.ClockFunc(apitest.Now.Std)}))
	cut := &cutter{Listener: s.Listener}
	s.Listener = cut
	s.Start()
	t.Cleanup(s.Close)
	c, err := client.New(s.URL,
		append([]client.Option{client.WithHTTPClient(&http.Client{Transport: ending{t}})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	return &rig{T: t, ctx: t.Context(), backend: b, client: c, url: s.URL, cut: cut}
}

func order(id string) client.Order {
	return client.Order{ID: id, Workflow: "order", Content: map[string]any{"total": 12}}
}

func (r *rig) submit(id string) client.Receipt {
	r.Helper()
	receipt, err := r.client.Submit(r.ctx, order(id))
	if err != nil {
		r.Fatal(err)
	}
	return receipt
}

func TestSubmitGetWait(t *testing.T) {
	r := newRig(t)
	if got := r.submit("o"); got.OrderID != "o" || got.Known || got.State != core.Processing {
		t.Errorf("%+v", got)
	}
	if got := r.submit("o"); !got.Known {
		t.Errorf("again: %+v", got)
	}
	if content, err := r.client.Submitted(r.ctx, "o"); err != nil || string(content) != `{"total":12}` {
		t.Errorf("%s %v", content, err)
	}
	ended := make(chan *client.Task, 1)
	go func() {
		x, err := r.client.Wait(r.ctx, "o")
		if err != nil {
			t.Error(err)
		}
		ended <- x
	}()
	r.backend.End("o")
	if x := <-ended; x == nil || x.State != core.Processed || len(x.Steps) != 2 {
		t.Errorf("%+v", x)
	}
	short, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
	defer cancel()
	r.submit("endless")
	if _, err := r.client.Wait(short, "endless"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a wait that was cut short: %v", err)
	}
}

// The server waits within one request. Getting an order does not wait.
func TestTheServerWaits(t *testing.T) {
	var queries []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		queries = append(queries, r.URL.RawQuery)
		fmt.Fprint(w, `{"orderId":"o","state":"Processed","ended":true}`)
	}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	for _, get := range []func(context.Context, string) (*client.Task, error){c.Get, c.Wait} {
		if x, err := get(t.Context(), "o"); err != nil || x.State != core.Processed {
			t.Errorf("%+v %v", x, err)
		}
	}
	if len(queries) != 2 || queries[0] != "" || !strings.HasPrefix(queries[1], "wait=") {
		t.Errorf("asked with %q", queries)
	}
}

// Every way to submit an order reports its settings that have no effect.
func TestNotes(t *testing.T) {
	r := newRig(t)
	high := order("o")
	high.Priority = "high"
	receipt, err := r.client.Submit(r.ctx, high)
	if err != nil || len(receipt.Notes) != 1 || !strings.Contains(receipt.Notes[0], `priority "high"`) {
		t.Errorf("%+v %v", receipt, err)
	}
	if got := r.submit("normal"); len(got.Notes) != 0 {
		t.Errorf("%+v", got)
	}
	n := 0
	err = r.client.SubmitAll(r.ctx, func(yield func(client.Order) bool) {
		_ = yield(high) && yield(order("normal"))
	}, func(x client.Result) {
		if n++; x.Err != nil || len(x.Notes) != 2-n {
			t.Errorf("%+v", x)
		}
	})
	if err != nil || n != 2 {
		t.Errorf("%d answers, %v", n, err)
	}
}

func TestOddIDs(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{".", "..", "-", "-o", "--help"} {
		if _, err := r.client.Submit(r.ctx, order(id)); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	for _, id := range []string{"...", ".o", "a:b", ":", "o-", "order", strings.Repeat("x", 128)} {
		r.submit(id)
		if got, err := r.client.Get(r.ctx, id); err != nil || got.OrderID != id {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestErrors(t *testing.T) {
	r := newRig(t, client.WithRetry(2, time.Second))
	r.submit("o")
	r.backend.Failing = map[string]error{"full": fmt.Errorf("disk: %w", port.ErrUnavailable)}
	other := order("o")
	other.Content = 1
	unknown := order("x")
	unknown.Workflow = "none"
	for _, tt := range []struct {
		name string
		err  error
		kind error
		code string
	}{
		{"unknown order", second(r.client.Get(r.ctx, "none")), client.ErrNotFound, "not-found"},
		{"wait for an unknown order", second(r.client.Wait(r.ctx, "none")), client.ErrNotFound, "not-found"},
		{"command to an unknown order", second(r.client.Undo(r.ctx, "none")), client.ErrNotFound,
			"not-found"},
		{"other content", second(r.client.Submit(r.ctx, other)), client.ErrRefused, "other-content"},
		{"unknown workflow", second(r.client.Submit(r.ctx, unknown)), client.ErrInvalid, "unknown-workflow"},
		{"bad ID", second(r.client.Submit(r.ctx, order("../x"))), client.ErrInvalid, "invalid-field"},
		{"ID as a path", second(r.client.Get(r.ctx, "../x")), client.ErrInvalid, "invalid-request"},
		{"disk full", second(r.client.Submit(r.ctx, order("full"))), client.ErrUnavailable, "unavailable"},
	} {
		var e *client.Error
		if !errors.Is(tt.err, tt.kind) || !errors.As(tt.err, &e) || e.Code != tt.code || e.Detail == "" {
			t.Errorf("%s: %v (%+v)", tt.name, tt.err, e)
		}
	}
	if _, err := r.client.Submit(r.ctx, client.Order{ID: "o", Content: func() {}}); err == nil {
		t.Error("an order that is no JSON was sent")
	}
	for _, base := range []string{"", "127.0.0.1:1", "ftp://x", "http://"} {
		if _, err := client.New(base); err == nil {
			t.Errorf("base URL %q was taken", base)
		}
	}
}

func second[T any](_ T, err error) error { return err }

func TestRepeatsWhatMayPass(t *testing.T) {
	r := newRig(t)
	r.backend.Busy(1)
	begin := time.Now()
	r.submit("o-1")
	if d := time.Since(begin); d < 900*time.Millisecond {
		t.Errorf("it was sent again after %v, the server asked for 1 s", d)
	}
	r.cut.left.Store(10) // the answer to a stored order is lost
	if got := r.submit("o-2"); !got.Known || r.cut.cuts.Load() != 1 {
		t.Errorf("after a lost answer: %+v, %d cuts", got, r.cut.cuts.Load())
	}
}

func TestNoServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", client.WithRetry(3, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Get(t.Context(), "o"); !errors.Is(err, client.ErrConnection) {
			t.Error(err)
		}
		foreign := httptest.NewServer(http.NotFoundHandler())
		defer foreign.Close()
		c, _ = client.New(foreign.URL)
		if _, err := c.Get(t.Context(), "o"); !errors.Is(err, client.ErrNotFound) {
			t.Error(err)
		}
	})
}

func TestCommandsFillInNumberAndID(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	r.backend.Change("o", func(x *core.Task) { x.Commands.Number, x.Run = 4, 2 })
	for name, send := range map[message.ControlKind]func() (client.Verdict, error){
		message.Undo:   func() (client.Verdict, error) { return r.client.Undo(r.ctx, "o") },
		message.Cancel: func() (client.Verdict, error) { return r.client.Cancel(r.ctx, "o") },
		message.Resubmit: func() (client.Verdict, error) {
			return r.client.Resubmit(r.ctx, "o", client.NewDeadline(apitest.Now.Std()))
		},
		message.Erase: func() (client.Verdict, error) {
			return r.client.Erase(r.ctx, "o", "ann",
				"asked to")
		},
		message.Close: func() (client.Verdict, error) {
			return r.client.Close(r.ctx, "o", "ann",
				"refunded by hand")
		},
		message.Move: func() (client.Verdict, error) { return r.client.Move(r.ctx, "o", client.Latest) },
		message.Resolve: func() (client.Verdict, error) {
			return r.client.Resolve(r.ctx, "o", "charge",
				client.Happened)
		},
	} {
		r.backend.Commands = nil
		v, err := send()
		if err != nil || !v.Accepted || len(r.backend.Commands) != 1 {
			t.Fatalf("%s: %+v %v", name, v, err)
		}
		got := r.backend.Commands[0]
		number := core.CommandOf(got.Event).Number
		cancel, is := got.Event.(core.Cancel)
		if got.Kind() != name || got.ID() == "" || v.ID != got.ID() || !is && number != 4 ||
			is && cancel.Run != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
	r.backend.Verdict = func(c message.Control) (core.Verdict, error) {
		return core.Verdict{ID: c.ID(), Command: string(c.Kind()), Reason: "no", At: 1}, nil
	}
	_, err := r.client.Resubmit(r.ctx, "o", client.NewInput("charge", []byte(`{"a":`)))
	if !errors.Is(err, client.ErrInvalid) ||
		!strings.Contains(err.Error(), `the input for step "charge": it is not JSON`) {
		t.Error(err)
	}
	if _, err := r.client.Resubmit(r.ctx, "o", client.NewInput("charge", []byte(`{"a":1e400}`))); err != nil {
		t.Fatal(err)
	}
	got := r.backend.Commands[len(r.backend.Commands)-1].Event.(core.Resubmit)
	if got.Step != "charge" || string(got.Input) != `{"a":1e400}` {
		t.Errorf("%+v", got)
	}
	v, err := r.client.Undo(r.ctx, "o", client.CommandID("mine"), client.IfCommand(3))
	if err != nil || v.Accepted || v.Reason != "no" || v.ID != "mine" {
		t.Errorf("a refusal: %+v %v", v, err)
	}
	if c := r.backend.Commands[len(r.backend.Commands)-1]; c.Event.(core.UndoCommand).Command != 3 {
		t.Errorf("%+v", c)
	}
	if v, err := r.client.Cancel(r.ctx, "not-there-yet"); err != nil || v.Command != "cancel" {
		t.Errorf("a cancel before its order: %+v %v", v, err)
	}
}

// An answer that names no round, or no run, is for the present one. One that names them is sent unchanged.
func TestAnswers(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	r.backend.Change("o", func(x *core.Task) {
		x.Run, x.Steps[0].Answers = 2, &core.Answers{Round: 3}
	})
	answering := *apitest.Definition
	answering.Steps = slices.Clone(answering.Steps)
	answering.Steps[0] = core.StepDefinition{Name: "charge", Answer: &core.Answer{Values: []string{"yes"}}}
	answering.Link()
	r.backend.Pinned = &answering
	for i, x := range []struct {
		reply client.Reply
		want  core.Answered
	}{
		{client.Reply{Step: "charge", Value: "yes", By: "ann", Run: -1},
			core.Answered{Run: 2, Step: "charge", Round: 3, Value: []byte(`"yes"`)}},
		{client.Reply{Step: "charge", Value: "yes", By: "ann", Run: 1, Round: 2},
			core.Answered{Run: 1, Step: "charge", Round: 2, Value: []byte(`"yes"`)}},
		{client.Reply{Step: "mail", Value: 1, By: "ann", Run: -1},
			core.Answered{Run: 2, Step: "mail", Round: 1, Value: []byte(`1`)}},
		{
			client.Reply{
				Event: "bought", Value: json.RawMessage(`{"n":12345678901234567890}`), By: "shop", Run: -1,
			},
			core.Answered{Run: 2, Name: "bought", Value: []byte(`{"n":12345678901234567890}`)},
		},
	} {
		r.backend.Commands = nil
		v, err := r.client.Answer(r.ctx, "o", x.reply, client.CommandID("a-1"))
		if err != nil || !v.Accepted || len(r.backend.Commands) != 1 {
			t.Fatalf("%d: %+v %v", i, v, err)
		}
		got, is := r.backend.Commands[0].Event.(core.Answered)
		if !is || got.ID != "a-1" || got.By != x.reply.By || got.Run != x.want.Run ||
			got.Step != x.want.Step ||
			got.Name != x.want.Name || got.Round != x.want.Round ||
			string(got.Value) != string(x.want.Value) {
			t.Errorf("%d: %+v, want %+v", i, got, x.want)
		}
	}
	if _, err := r.client.Answer(r.ctx, "missing", client.Reply{Event: "bought", Value: 1, By: "shop",
		Run: -1}); !errors.Is(err, client.ErrNotFound) {
		t.Error(err)
	}
	if _, err := r.client.Answer(r.ctx, "o",
		client.Reply{Event: "bought", Value: func() {}, By: "shop"}); err == nil {
		t.Error("a function was sent")
	}
}

// The error of a command that gets no reply has the command's ID, because the command may have been carried
// out, and its verdict can be requested under that ID. The error of a command that was refused, or that the
// server cannot take, has none.
func TestUndecidedCommand(t *testing.T) {
	r := newRig(t, client.WithRetry(1, time.Second))
	r.submit("o")
	ctx, cancel := context.WithCancel(r.ctx)
	type answer func(message.Control) (core.Verdict, error)
	var now atomic.Value // the server may still be at an answer that its client gave up
	r.backend.Verdict = func(c message.Control) (core.Verdict, error) { return now.Load().(answer)(c) }
	now.Store(answer(func(c message.Control) (core.Verdict, error) {
		cancel()
		return core.Verdict{ID: c.ID(), Accepted: true}, nil
	}))
	var u *client.Undecided
	_, err := r.client.Undo(ctx, "o")
	if !errors.As(err, &u) {
		t.Fatalf("%v", err)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"u.OrderID", u.OrderID, "o"},
		{"u.ID is empty", u.ID == "", false},
		{"u.Queued", u.Queued, false},
		{"err is context.Canceled", errors.Is(err, context.Canceled), true},
		{
			"err begins with what was sent",
			strings.HasPrefix(err.Error(), "command "+u.ID+" of order \"o\" was perhaps sent"), true,
		},
	} {
		if field.got != field.want {
			t.Fatalf("%s is %v, want %v: %v", field.name, field.got, field.want, err)
		}
	}
	if v, err := r.client.Undo(r.ctx, "o", client.CommandID(u.ID)); err != nil || v.ID != u.ID ||
		!v.Accepted {
		t.Errorf("asked again: %+v %v", v, err)
	}
	first := u.ID
	now.Store(answer(func(c message.Control) (core.Verdict, error) {
		r.cut.left.Store(1)
		return core.Verdict{ID: c.ID(), Accepted: true}, nil
	}))
	if _, err := r.client.Cancel(r.ctx, "o"); !errors.As(err, &u) || u.ID == first ||
		!errors.Is(err, client.ErrConnection) {
		t.Errorf("a lost answer: %v", err)
	}
	for _, refused := range []error{port.ErrNotFound, port.ErrUnavailable, core.ErrStale} {
		now.Store(answer(func(message.Control) (core.Verdict, error) { return core.Verdict{}, refused }))
		if _, err := r.client.Undo(r.ctx, "o"); err == nil || errors.As(err, &u) {
			t.Errorf("%v: %v", refused, err)
		}
	}
}

func TestListGoesThroughPages(t *testing.T) {
	r := newRig(t)
	var want, got []string
	for i := range 7 {
		id := fmt.Sprintf("o-%d", i)
		r.submit(id)
		want = append(want, id)
	}
	for s, err := range r.client.List(r.ctx, client.Query{State: core.Processing, Workflow: "order",
		PageSize: 3}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, s.OrderID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%v", got)
	}
	for _, err := range r.client.List(r.ctx, client.Query{State: "Lost"}) {
		if !errors.Is(err, client.ErrInvalid) {
			t.Error(err)
		}
	}
	for range r.client.List(r.ctx, client.Query{OlderThan: time.Hour}) {
		t.Error("an order of now is an hour old")
	}
}

func TestDefinition(t *testing.T) {
	c := newRig(t).client
	d, err := c.Definition(t.Context(), "order", client.Latest)
	if err != nil || len(d.Steps) != 2 {
		t.Fatalf("%+v %v", d, err)
	}
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"d.Workflow", d.Workflow, "order"},
		{"d.Hash is empty", d.Hash == "", false},
		{"d.Steps[1].After[0]", d.Steps[1].After[0], "charge"},
		{"d.Steps[1].NoReturn", d.Steps[1].NoReturn, true},
		{"d.Steps[0].State", d.Steps[0].State, core.Pending},
	} {
		if field.got != field.want {
			t.Errorf("%s is %v, want %v: %+v %v", field.name, field.got, field.want, d, err)
		}
	}
	for _, x := range [][2]string{{"none", client.Latest}, {"order", strings.Repeat("0", 32)},
		{"other", d.Hash}} {
		if _, err := c.Definition(t.Context(), x[0], x[1]); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%v: %v", x, err)
		}
	}
	if _, err := c.Definition(t.Context(), "order", "short"); !errors.Is(err, client.ErrInvalid) {
		t.Errorf("%v", err)
	}
}

// Reports of the server about itself reach the caller.
func TestWhatTheServerReports(t *testing.T) {
	r := newRig(t)
	r.backend.NotTaken = []client.Unattended{{Queue: "requests-shop", Agent: "shop", Waiting: 2}}
	all, err := r.client.Workflows(r.ctx)
	if err != nil || len(all) != 2 || all[0].Name != "order" || len(all[1].Problems) != 1 {
		t.Errorf("%+v %v", all, err)
	}
	if s, err := r.client.Schedules(r.ctx); err != nil || len(s) != 1 || s[0].Started != 3 ||
		s[0].Starts[0].At.IsZero() || s[0].Skipped[0].Why == "" {
		t.Errorf("%+v %v", s, err)
	}
	if s, err := r.client.Statistics(r.ctx); err != nil || s.From != apitest.Now || len(s.Series) != 1 ||
		s.Agents[0].Agent != "shop" {
		t.Errorf("%+v %v", s, err)
	}
	if u, err := r.client.Unattended(r.ctx, ""); err != nil || !slices.Equal(u, r.backend.NotTaken) {
		t.Errorf("%+v %v", u, err)
	}
	r.submit("o")
	plan, err := r.client.PlanMove(r.ctx, "o", apitest.Definition.Hash)
	whole, err2 := r.client.PlanMoveDocuments(r.ctx, "o", apitest.Definition.Hash)
	if err != nil || err2 != nil || plan.Documents != nil || whole.Documents == nil || plan.OrderID != "o" ||
		plan.Definition != apitest.Definition.Hash {
		t.Errorf("%+v, %+v, %v, %v", plan, whole, err, err2)
	}
}

// readings holds all calls that read a response.
func readings(ctx context.Context, c *client.Client) map[string]error {
	errs := map[string]error{
		"get": second(c.Get(ctx, "o")), "submitted": second(c.Submitted(ctx, "o")),
		"submit": second(c.Submit(ctx, order("o"))), "wait": second(c.Wait(ctx, "o")),
		"workflows":  second(c.Workflows(ctx)),
		"definition": second(c.Definition(ctx, "order", client.Latest)),
		"schedules":  second(c.Schedules(ctx)),
		"statistics": second(c.Statistics(ctx)), "unattended": second(c.Unattended(ctx, "")),
		"plan":   second(c.PlanMove(ctx, "o", client.Latest)),
		"checks": second(c.Checks(ctx)), "cancel": second(c.Cancel(ctx, "o")),
		"undo": second(c.Undo(ctx, "o", client.IfCommand(1))),
		"many": c.SubmitMany(ctx, strings.NewReader(lines(1)), func(client.Result) {}),
	}
	for _, err := range c.List(ctx, client.Query{}) {
		errs["list"] = err
	}
	for _, err := range c.Follow(ctx, "o") {
		errs["follow"] = err
	}
	return errs
}

// Every call returns an error if the response does not come from a Stepkeeper server, or breaks off.
func TestAnswersThatCannotBeRead(t *testing.T) {
	long := "data: " + strings.Repeat(" ", 17<<20) // longer than any answer that is read
	for body, want := range map[string]error{"data: <html>\n": client.ErrAnswer, "": client.ErrConnection,
		long: client.ErrAnswer} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body == "" {
				w.Header().Set("Content-Length", "10")
			}
			_, _ = io.WriteString(w, body)
		}))
		c, err := client.New(s.URL, client.WithRetry(1, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		for name, err := range readings(t.Context(), c) {
			if !errors.Is(err, want) && !(name == "checks" && errors.Is(err, client.ErrAnswer)) {
				t.Errorf("%s of %.20q: %v", name, body, err)
			}
		}
		s.Close()
	}
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
	}))
	defer refusing.Close()
	c, _ := client.New(refusing.URL)
	for name, err := range readings(t.Context(), c) {
		if !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%s was refused: %v", name, err)
		}
	}
}

// A redirect is an error of every call, which names its host and nothing else of its address. No host but the
// server gets a request, also with an HTTP client of the caller.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var elsewhere atomic.Int32
	login := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		elsewhere.Add(1)
		_, _ = io.WriteString(w, "{}")
	}))
	defer login.Close()
	to := strings.Replace(login.URL, "://", "://user:password@", 1) + "/login?secret=1"
	for _, status := range []int{301, 302, 303, 307, 308} {
		server := httptest.NewServer(http.RedirectHandler(to, status))
		for name, options := range map[string][]client.Option{"": nil,
			"own": {client.WithHTTPClient(&http.Client{})}} {
			c, err := client.New(server.URL, append(options, client.WithRetry(1, time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			calls := readings(t.Context(), c)
			_, calls["submit"] = c.Submit(t.Context(), client.Order{ID: "o", Workflow: "w"})
			for call, err := range calls {
				var e *client.Error
				if !errors.As(err, &e) || e.Status != status ||
					!strings.Contains(e.Error(), fmt.Sprintf("%q", login.URL)) ||
					strings.Contains(e.Error(), "secret") || strings.Contains(e.Error(), "password") {
					t.Errorf("%s of %s client, %d: %v", call, name, status, err)
				}
			}
		}
		server.Close()
	}
	if n := elsewhere.Load(); n > 0 {
		t.Errorf("%d requests went to the other host", n)
	}
}

// A redirect whose address cannot be parsed is the same error, and not a broken connection.
func TestARedirectWithoutAnAddress(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Location", "https://%zz/?secret=1")
		w.WriteHeader(http.StatusFound)
	}))
	defer server.Close()
	c, err := client.New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Submit(t.Context(), client.Order{ID: "o", Workflow: "w"})
	var e *client.Error
	if !errors.As(err, &e) || e.Status != http.StatusFound || !strings.Contains(e.Error(),
		"a redirect to an address that is missing or cannot be read,") || strings.Contains(e.Error(), "zz") {
		t.Errorf("the error is %v", err)
	}
}

func TestFollowToTheEndOverBrokenConnections(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	var versions []int64
	for x, err := range r.client.Follow(r.ctx, "o") {
		if err != nil {
			t.Fatal(err)
		}
		versions = append(versions, x.Version)
		switch x.Version {
		case 1, 2:
			r.cut.left.Store(1) // the next event is lost with its connection
			r.backend.Change("o", func(*core.Task) {})
		case 3:
			r.backend.End("o")
		}
	}
	if !slices.Equal(versions, []int64{1, 2, 3, 4}) || r.cut.cuts.Load() != 2 {
		t.Errorf("versions %v, %d cuts", versions, r.cut.cuts.Load())
	}
	for x, err := range r.client.Follow(r.ctx, "none") {
		if x != nil || !errors.Is(err, client.ErrNotFound) {
			t.Errorf("%v %v", x, err)
		}
	}
}

// The wait that a server requests is bounded, however large the number is.
func TestRetryAfterIsBounded(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "3600": time.Hour,
		"9223372036854775807": time.Hour, "-5": 0, "soon": 0} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTeapot)
		}))
		c, err := client.New(server.URL, client.WithRetry(1, time.Second))
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Get(t.Context(), "o")
		server.Close()
		var e *client.Error
		if !errors.As(err, &e) || e.RetryAfter != want {
			t.Errorf("Retry-After: %s: %v", header, err)
		}
	}
}

// TestControlCharactersAreNotSent: a name or a reason that could forge a line is refused before anything is
// sent.
func TestControlCharactersAreNotSent(t *testing.T) {
	var requests atomic.Int32
	server := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { requests.Add(1) }))
	defer server.Close()
	c, err := client.New(server.URL, client.WithRetry(1, time.Second))
	if err != nil {
		t.Fatal(err)
	}
	for _, by := range []client.CommandOption{
		client.By("ann\nbob", ""), client.By("ann", "no\u202e"), client.By("\x1b[2J", ""),
	} {
		if _, err := c.Undo(t.Context(), "o-1", by); !errors.Is(err, client.ErrInvalid) {
			t.Errorf("%v, want ErrInvalid", err)
		}
	}
	if n := requests.Load(); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}
