package client_test

import (
	"context"
	"encoding/json"
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

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// rig is a client of the real HTTP edge, which has a backend in memory.
type rig struct {
	*testing.T
	ctx     context.Context
	backend *apitest.Backend
	client  *client.Client
	cut     *cutter
}

// cutter breaks connections after a number of response bytes, within a line or between two, as a killed server does.
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
	left := c.c.left.Load()
	if left == 0 || c.c.left.Add(-int64(len(b))) > 0 {
		return c.Conn.Write(b)
	}
	c.c.left.Store(c.c.then.Load())
	c.c.cuts.Add(1)
	n, _ := c.Conn.Write(b[:left]) // the connection ends in any case
	c.Conn.Close()
	return n, net.ErrClosed
}

func newRig(t *testing.T, opts ...client.Option) *rig {
	t.Helper()
	b := apitest.New()
	s := httptest.NewUnstartedServer(edgeOf(b))
	cut := &cutter{Listener: s.Listener}
	s.Listener = cut
	s.Start()
	t.Cleanup(s.Close)
	return &rig{
		T: t, ctx: t.Context(), backend: b, client: clientAt(t, s.URL, http.DefaultTransport, opts...), cut: cut,
	}
}

// newRigInProcess returns a rig without a network, for virtual time.
func newRigInProcess(t *testing.T, opts ...client.Option) *rig {
	t.Helper()
	b := apitest.New()
	return &rig{
		T: t, ctx: t.Context(), backend: b,
		client: clientAt(t, "http://127.0.0.1:1", stacktest.Transport(t, edgeOf(b)), opts...),
	}
}

func edgeOf(b *apitest.Backend) http.Handler {
	return api.New(api.Config{Backend: b, Clock: port.ClockFunc(apitest.Now.Std)})
}

func clientAt(t *testing.T, url string, via http.RoundTripper, opts ...client.Option) *client.Client {
	t.Helper()
	c, err := client.New(url, append([]client.Option{client.WithHTTPClient(&http.Client{Transport: via})},
		opts...)...)
	require.NoError(t, err)
	return c
}

func order(id string) client.Order {
	return client.Order{ID: id, Workflow: "order", Content: map[string]any{"total": 12}}
}

func (r *rig) submit(id string) client.Receipt {
	r.Helper()
	receipt, err := r.client.Submit(r.ctx, order(id))
	require.NoError(r, err)
	return receipt
}

func TestSubmitGetWait(t *testing.T) {
	r := newRig(t)
	got := r.submit("o")
	require.Equal(t, "o", got.OrderID)
	require.False(t, got.Known)
	require.Equal(t, core.Processing, got.State)
	require.True(t, r.submit("o").Known)
	content, err := r.client.Submitted(r.ctx, "o")
	require.NoError(t, err)
	require.Equal(t, `{"total":12}`, string(content))
	ended := make(chan *client.Task, 1)
	go func() {
		x, err := r.client.Wait(r.ctx, "o")
		if err != nil {
			t.Error(err)
		}
		ended <- x
	}()
	r.backend.End("o")
	x := <-ended
	require.NotNil(t, x)
	require.Equal(t, core.Processed, x.State)
	require.Len(t, x.Steps, 2)
	short, cancel := context.WithTimeout(r.ctx, 20*time.Millisecond)
	defer cancel()
	r.submit("endless")
	_, err = r.client.Wait(short, "endless")
	require.ErrorIs(t, err, context.DeadlineExceeded, "a wait that was cut short")
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
	require.NoError(t, err)
	for _, get := range []func(context.Context, string) (*client.Task, error){c.Get, c.Wait} {
		x, err := get(t.Context(), "o")
		require.NoError(t, err)
		require.Equal(t, core.Processed, x.State)
	}
	require.Len(t, queries, 2)
	require.Empty(t, queries[0])
	require.True(t, strings.HasPrefix(queries[1], "wait="), queries[1])
}

func TestRun(t *testing.T) {
	for _, c := range []struct {
		name    string
		answers []string // one a request, the status first; "" breaks the connection
		calls   []string
	}{
		{"ended in time", []string{`200 {"orderId":"o","state":"Processed","ended":true}`}, []string{"POST /v1/orders?wait=30s"}},
		{
			"takes longer than one request",
			[]string{`202 {"orderId":"o","state":"Processing"}`, `200 {"orderId":"o","state":"Processed","ended":true}`},
			[]string{"POST /v1/orders?wait=30s", "GET /v1/orders/o?wait=30s"},
		},
		{
			"a lost answer is no lost order",
			[]string{"", `200 {"orderId":"o","state":"Processed","ended":true}`},
			[]string{"POST /v1/orders?wait=30s", "POST /v1/orders?wait=30s"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var calls []string
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				calls = append(calls, r.Method+" "+r.URL.String())
				answer := c.answers[len(calls)-1]
				if answer == "" {
					panic(http.ErrAbortHandler)
				}
				if strings.HasPrefix(answer, "202") {
					w.WriteHeader(http.StatusAccepted)
				}
				fmt.Fprint(w, answer[len("200 "):])
			}))
			defer s.Close()
			at, err := client.New(s.URL)
			require.NoError(t, err)
			x, err := at.Run(t.Context(), order("o"))
			require.NoError(t, err)
			require.Equal(t, core.Processed, x.State)
			require.Equal(t, c.calls, calls)
		})
	}
}

// A wait for which the server has no room polls. A proxy that does not wait so long breaks no wait.
func TestWaitsThatAreRefused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		started := time.Now()
		ended := func() bool { return time.Since(started) > 5*time.Minute }
		for name, refuse := range map[string]func() int{
			"busy": func() int { return http.StatusTooManyRequests },
			"proxy": func() int {
				time.Sleep(10 * time.Second)
				return http.StatusGatewayTimeout
			},
		} {
			calls := 0
			via := roundTrip(func(r *http.Request) (*http.Response, error) {
				calls++
				w := httptest.NewRecorder()
				if r.URL.RawQuery != "" && (!ended() || name == "busy") {
					w.WriteHeader(refuse())
				}
				fmt.Fprintf(w, `{"orderId":"o","ended":%v}`, ended())
				return w.Result(), nil
			})
			c, err := client.New("http://x", client.WithHTTPClient(&http.Client{Transport: via}))
			require.NoError(t, err)
			started = time.Now()
			x, err := c.Wait(t.Context(), "o")
			require.NoError(t, err, name)
			require.True(t, x.Ended, name)
			require.Less(t, calls, 150, name)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Every way to submit an order reports its settings that have no effect.
func TestNotes(t *testing.T) {
	r := newRig(t)
	high := order("o")
	high.Priority = "high"
	receipt, err := r.client.Submit(r.ctx, high)
	require.NoError(t, err)
	require.Len(t, receipt.Notes, 1)
	require.Contains(t, receipt.Notes[0], `priority "high"`)
	require.Empty(t, r.submit("normal").Notes)
	n := 0
	err = r.client.SubmitAll(r.ctx, func(yield func(client.Order) bool) {
		_ = yield(high) && yield(order("normal"))
	}, func(x client.Result) {
		n++
		require.NoError(t, x.Err)
		require.Equal(t, n, x.Line)
		require.Len(t, x.Notes, 2-n)
	})
	require.NoError(t, err)
	require.Equal(t, 2, n)
}

func TestOddIDs(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{".", "..", "-", "-o", "--help"} {
		_, err := r.client.Submit(r.ctx, order(id))
		require.ErrorIs(t, err, client.ErrInvalid, id)
	}
	for _, id := range []string{"...", ".o", "a:b", ":", "o-", "order", strings.Repeat("x", 128)} {
		r.submit(id)
		got, err := r.client.Get(r.ctx, id)
		require.NoError(t, err)
		require.Equal(t, id, got.OrderID)
	}
}

func TestErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigInProcess(t, client.WithRetry(2, time.Second))
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
			{
				"command to an unknown order", second(r.client.Undo(r.ctx, "none")), client.ErrNotFound,
				"not-found",
			},
			{"other content", second(r.client.Submit(r.ctx, other)), client.ErrRefused, "other-content"},
			{"unknown workflow", second(r.client.Submit(r.ctx, unknown)), client.ErrInvalid, "unknown-workflow"},
			{"bad ID", second(r.client.Submit(r.ctx, order("../x"))), client.ErrInvalid, "invalid-field"},
			{"ID as a path", second(r.client.Get(r.ctx, "../x")), client.ErrInvalid, "invalid-request"},
			{"disk full", second(r.client.Submit(r.ctx, order("full"))), client.ErrUnavailable, "unavailable"},
		} {
			var e *client.Error
			require.ErrorIs(t, tt.err, tt.kind, tt.name)
			require.ErrorAs(t, tt.err, &e, tt.name)
			require.Equal(t, tt.code, e.Code, tt.name)
			require.NotEmpty(t, e.Detail, tt.name)
		}
		_, err := r.client.Submit(r.ctx, client.Order{ID: "o", Content: func() {}})
		require.Error(t, err)
		for _, base := range []string{"", "127.0.0.1:1", "ftp://x", "http://"} {
			_, err := client.New(base)
			require.Error(t, err, base)
		}
	})
}

func second[T any](_ T, err error) error { return err }

// A full server says when to send an order again.
func TestOrdersAreRepeatedWhenTheServerSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRigInProcess(t)
		r.backend.Busy(1)
		began := time.Now()
		r.submit("o-1")
		require.GreaterOrEqual(t, time.Since(began), time.Second)
	})
}

// slow reports once that it is busy, and does not respond to later requests.
type slow struct{ asked bool }

func (s *slow) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.asked {
		<-r.Context().Done()
		return nil, r.Context().Err()
	}
	s.asked = true
	return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}, nil
}

// If the time ends during a later attempt, the error keeps the reason of the earlier one.
func TestATimeoutKeepsTheReasonOfTheAttemptBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		_, err := clientAt(t, "http://server", new(slow)).Get(ctx, "o")
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.ErrorIs(t, err, client.ErrBusy)
	})
}

// A lost answer to a stored order is asked for again, and the order is known.
func TestALostAnswerIsAskedForAgain(t *testing.T) {
	r := newRig(t)
	r.cut.left.Store(10)
	require.True(t, r.submit("o-2").Known)
	require.EqualValues(t, 1, r.cut.cuts.Load())
}

func TestNoServerAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, err := client.New("http://127.0.0.1:1", client.WithRetry(3, time.Second))
		require.NoError(t, err)
		_, err = c.Get(t.Context(), "o")
		require.ErrorIs(t, err, client.ErrConnection)
	})
}

func TestCommandsFillInNumberAndID(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	r.backend.Change("o", func(x *protocol.Task) {
		x.Commands.Number = 4
		x.Run = 2
	})
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
		require.NoError(t, err, "%v", name)
		require.True(t, v.Accepted, "%v", name)
		require.Len(t, r.backend.Commands, 1, "%v", name)
		got := r.backend.Commands[0]
		sent := core.CommandOf(got.Event)
		require.Equal(t, name, got.Kind())
		require.NotEmpty(t, got.ID(), "%s", name)
		require.Equal(t, got.ID(), v.ID, "%s", name)
		if sent.Name == core.Cancel {
			require.Equal(t, 2, sent.Run, "%s", name)
		} else {
			require.Equal(t, 4, sent.Number, "%s", name)
		}
	}
	r.backend.Verdict = func(c message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{ID: c.ID(), Command: string(c.Kind()), Reason: "no", At: 1}, nil
	}
	_, err := r.client.Resubmit(r.ctx, "o", client.NewInput("charge", []byte(`{"a":`)))
	require.ErrorIs(t, err, client.ErrInvalid)
	require.ErrorContains(t, err, "input: it is not JSON")
	_, err = r.client.Resolve(r.ctx, "o", "charge", client.Happened, client.StepOutput([]byte(`1},"by":"x"`)))
	require.ErrorContains(t, err, "output: it is not JSON")
	_, err = r.client.Resubmit(r.ctx, "o", client.NewInput("charge", []byte(`{"a":1e400}`)))
	require.NoError(t, err)
	got := r.backend.Commands[len(r.backend.Commands)-1].Event.(core.Command)
	require.Equal(t, "charge", got.Step)
	require.Equal(t, `{"a":1e400}`, string(got.Input))
	v, err := r.client.Undo(r.ctx, "o", client.CommandID("mine"), client.IfCommand(3))
	require.NoError(t, err)
	require.False(t, v.Accepted)
	require.Equal(t, "no", v.Reason)
	require.Equal(t, "mine", v.ID)
	require.Equal(t, 3, r.backend.Commands[len(r.backend.Commands)-1].Event.(core.Command).Number)
	v, err = r.client.Cancel(r.ctx, "not-there-yet")
	require.NoError(t, err)
	require.Equal(t, "cancel", v.Command, "a cancel before its order")
}

// An answer that names no round, or no run, is for the present one. One that names them is sent unchanged.
func TestAnswers(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	r.backend.Change("o", func(x *protocol.Task) {
		x.Run = 2
		x.Steps[0].Answers = &protocol.Answers{Round: 3}
	})
	answering := *apitest.Definition
	answering.Steps = slices.Clone(answering.Steps)
	answering.Steps[0] = core.StepDefinition{Name: "charge", Answer: &core.Answer{Values: []string{"yes"}}}
	answering.Link()
	r.backend.Pinned = &answering
	for _, x := range []struct {
		reply client.Reply
		want  core.Answered
	}{
		{
			client.Reply{Step: "charge", Value: "yes", By: "ann", Run: -1},
			core.Answered{Run: 2, Step: "charge", Round: 3, Value: []byte(`"yes"`)},
		},
		{
			client.Reply{Step: "charge", Value: "yes", By: "ann", Run: 1, Round: 2},
			core.Answered{Run: 1, Step: "charge", Round: 2, Value: []byte(`"yes"`)},
		},
		{
			client.Reply{Step: "mail", Value: 1, By: "ann", Run: -1},
			core.Answered{Run: 2, Step: "mail", Round: 1, Value: []byte(`1`)},
		},
		{
			client.Reply{
				Event: "bought", Value: json.RawMessage(`{"n":12345678901234567890}`), By: "shop", Run: -1,
			},
			core.Answered{Run: 2, Name: "bought", Value: []byte(`{"n":12345678901234567890}`)},
		},
	} {
		r.backend.Commands = nil
		v, err := r.client.Answer(r.ctx, "o", x.reply, client.CommandID("a-1"))
		require.NoError(t, err)
		require.True(t, v.Accepted)
		require.Len(t, r.backend.Commands, 1)
		got, is := r.backend.Commands[0].Event.(core.Answered)
		require.True(t, is)
		require.Equal(t, "a-1", got.ID)
		require.Equal(t, x.reply.By, got.By)
		require.Equal(t, x.want.Run, got.Run)
		require.Equal(t, x.want.Step, got.Step)
		require.Equal(t, x.want.Name, got.Name)
		require.Equal(t, x.want.Round, got.Round)
		require.Equal(t, string(x.want.Value), string(got.Value))
	}
	_, err := r.client.Answer(r.ctx, "missing", client.Reply{
		Event: "bought", Value: 1, By: "shop",
		Run: -1,
	})
	require.ErrorIs(t, err, client.ErrNotFound)
	_, err = r.client.Answer(r.ctx, "o",
		client.Reply{Event: "bought", Value: func() {}, By: "shop"})
	require.Error(t, err)
}

// The error of a command that gets no reply has the command's ID, because the command may have been carried
// out, and its verdict can be requested under that ID. The error of a command that was refused, or that the
// server cannot take, has none.
func TestUndecidedCommand(t *testing.T) {
	r := newRig(t, client.WithRetry(1, time.Second))
	r.submit("o")
	ctx, cancel := context.WithCancel(r.ctx)
	type answer func(message.Control) (protocol.Verdict, error)
	var now atomic.Value // the server may still be at an answer that its client gave up
	r.backend.Verdict = func(c message.Control) (protocol.Verdict, error) { return now.Load().(answer)(c) }
	now.Store(answer(func(c message.Control) (protocol.Verdict, error) {
		cancel()
		return protocol.Verdict{ID: c.ID(), Accepted: true}, nil
	}))
	var u *client.Undecided
	_, err := r.client.Undo(ctx, "o")
	require.ErrorAs(t, err, &u)
	require.Equal(t, "o", u.OrderID)
	require.NotEmpty(t, u.ID)
	require.False(t, u.Queued)
	require.ErrorIs(t, err, context.Canceled)
	require.True(t, strings.HasPrefix(err.Error(), "command "+u.ID+" of order \"o\" was perhaps sent"), "err begins with what was sent: %s", err.Error())
	v, err := r.client.Undo(r.ctx, "o", client.CommandID(u.ID))
	require.NoError(t, err)
	require.Equal(t, u.ID, v.ID)
	require.True(t, v.Accepted)
	first := u.ID
	now.Store(answer(func(c message.Control) (protocol.Verdict, error) {
		r.cut.left.Store(1)
		return protocol.Verdict{ID: c.ID(), Accepted: true}, nil
	}))
	_, err = r.client.Cancel(r.ctx, "o")
	require.ErrorAs(t, err, &u, "a lost answer")
	require.NotEqual(t, first, u.ID)
	require.ErrorIs(t, err, client.ErrConnection)
	for _, refused := range []error{port.ErrNotFound, port.ErrUnavailable, core.ErrStale} {
		now.Store(answer(func(message.Control) (protocol.Verdict, error) { return protocol.Verdict{}, refused }))
		_, err := r.client.Undo(r.ctx, "o")
		require.Error(t, err, "%v", refused)
		require.NotErrorAs(t, err, &u, "%v", refused)
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
	for s, err := range r.client.List(r.ctx, client.Query{
		State: core.Processing, Workflow: "order",
		PageSize: 3,
	}) {
		require.NoError(t, err)
		got = append(got, s.OrderID)
	}
	require.Equal(t, want, got)
	for _, err := range r.client.List(r.ctx, client.Query{State: "Lost"}) {
		require.ErrorIs(t, err, client.ErrInvalid)
	}
	for range r.client.List(r.ctx, client.Query{OlderThan: time.Hour}) {
		t.Error("an order of now is an hour old")
	}
}

func TestDefinition(t *testing.T) {
	c := newRig(t).client
	d, err := c.Definition(t.Context(), "order", client.Latest)
	require.NoError(t, err)
	require.Len(t, d.Steps, 2)
	require.Equal(t, "order", d.Workflow)
	require.NotEmpty(t, d.Hash)
	require.Equal(t, "charge", d.Steps[1].After[0])
	require.True(t, d.Steps[1].NoReturn)
	require.Equal(t, core.Pending, d.Steps[0].State)
	for _, x := range [][2]string{
		{"none", client.Latest},
		{"order", strings.Repeat("0", 32)},
		{"other", d.Hash},
	} {
		_, err := c.Definition(t.Context(), x[0], x[1])
		require.ErrorIs(t, err, client.ErrNotFound, "%v", x)
	}
	_, err = c.Definition(t.Context(), "order", "short")
	require.ErrorIs(t, err, client.ErrInvalid)
}

// Reports of the server about itself reach the caller.
func TestWhatTheServerReports(t *testing.T) {
	r := newRig(t)
	r.backend.NotTaken = []client.Unattended{{Queue: "requests-shop", Agent: "shop", Waiting: 2}}
	all, err := r.client.Workflows(r.ctx)
	require.NoError(t, err)
	require.Len(t, all, 2)
	require.Equal(t, "order", all[0].Name)
	require.Len(t, all[1].Problems, 1)
	s, err := r.client.Schedules(r.ctx)
	require.NoError(t, err)
	require.Len(t, s, 2)
	require.Equal(t, 3, s[0].Started)
	require.NotZero(t, s[0].Starts[0].At)
	require.NotEmpty(t, s[0].Skipped[0].Why)
	measured, err := r.client.Statistics(r.ctx)
	require.NoError(t, err)
	require.Equal(t, apitest.Now, measured.From)
	require.Len(t, measured.Series, 1)
	require.Equal(t, "shop", measured.Agents[0].Agent)
	u, err := r.client.Unattended(r.ctx, "")
	require.NoError(t, err)
	require.Equal(t, r.backend.NotTaken, u)
	r.submit("o")
	plan, err := r.client.PlanMove(r.ctx, "o", apitest.Definition.Hash)
	whole, err2 := r.client.PlanMoveDocuments(r.ctx, "o", apitest.Definition.Hash)
	require.NoError(t, err)
	require.NoError(t, err2)
	require.Nil(t, plan.Documents)
	require.NotNil(t, whole.Documents)
	require.Equal(t, "o", plan.OrderID)
	require.Equal(t, apitest.Definition.Hash, plan.Definition)
}

// readings holds all calls that read a response.
func readings(ctx context.Context, c *client.Client) map[string]error {
	errs := map[string]error{
		"get": second(c.Get(ctx, "o")), "submitted": second(c.Submitted(ctx, "o")),
		"document": second(c.Document(ctx, "o")),
		"submit":   second(c.Submit(ctx, order("o"))), "wait": second(c.Wait(ctx, "o")),
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
	_, _, errs["approvals"] = c.Approvals(ctx, client.Query{}, "")
	return errs
}

// streamTypes has the media type of the streams by their requests' methods.
var streamTypes = map[string]string{http.MethodGet: "text/event-stream", http.MethodPost: "application/x-ndjson"}

// Every call returns an error if the response does not come from a Stepkeeper server, or breaks off.
func TestAnswersThatCannotBeRead(t *testing.T) {
	long := "data: " + strings.Repeat(" ", 17<<20) // longer than any answer that is read
	for body, want := range map[string]error{
		"data: <html>\n": client.ErrAnswer, "": client.ErrConnection,
		long: client.ErrAnswer, "<html>": client.ErrAnswer,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if body == "<html>" {
				w.Header().Set("Content-Type", "text/html")
			} else {
				w.Header().Set("Content-Type", streamTypes[r.Method])
			}
			if body == "" {
				w.Header().Set("Content-Length", "10")
			}
			_, _ = io.WriteString(w, body)
		}))
		c, err := client.New(s.URL, client.WithRetry(1, time.Second))
		require.NoError(t, err)
		for name, err := range readings(t.Context(), c) {
			require.ErrorIs(t, err, want, name)
		}
		s.Close()
	}
}

// An empty object is no answer of Stepkeeper: not an order without an ID, and not an empty list, for example.
func TestAnswersThatLackTheThing(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "{}")
	}))
	t.Cleanup(s.Close)
	c, err := client.New(s.URL, client.WithRetry(1, time.Second))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second) // else a wait for such an order has no end
	t.Cleanup(cancel)
	for name, err := range readings(ctx, c) {
		if name != "many" && name != "follow" { // an empty stream broke off
			require.ErrorIs(t, err, client.ErrAnswer, name)
		}
	}
}

// A status without an error of Stepkeeper is no verdict: another server does not know whether an order exists.
// A proxy does know that it cannot reach the server.
func TestStatusesOfSomethingElse(t *testing.T) {
	for status, want := range map[int]error{
		400: client.ErrAnswer, 401: client.ErrAnswer, 404: client.ErrAnswer, 409: client.ErrAnswer,
		429: client.ErrBusy, 500: client.ErrInternal, 502: client.ErrConnection, 503: client.ErrUnavailable,
		504: client.ErrConnection,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<html>")
		}))
		c, err := client.New(s.URL, client.WithRetry(1, time.Second))
		require.NoError(t, err)
		for name, err := range readings(t.Context(), c) {
			require.ErrorIs(t, err, want, "%d: %s", status, name)
		}
		s.Close()
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
		for _, options := range map[string][]client.Option{
			"the default client": nil,
			"the caller's own":   {client.WithHTTPClient(&http.Client{})},
		} {
			c, err := client.New(server.URL, append(options, client.WithRetry(1, time.Second))...)
			require.NoError(t, err)
			calls := readings(t.Context(), c)
			_, calls["submit"] = c.Submit(t.Context(), client.Order{ID: "o", Workflow: "w"})
			for call, err := range calls {
				var e *client.Error
				require.ErrorAs(t, err, &e, call)
				require.Equal(t, status, e.Status, call)
				require.Contains(t, e.Error(), fmt.Sprintf("%q", login.URL), call)
				require.NotContains(t, e.Error(), "secret", call)
				require.NotContains(t, e.Error(), "password", call)
			}
		}
		server.Close()
	}
	require.Zero(t, elsewhere.Load())
}

func TestFollowToTheEndOverBrokenConnections(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	var versions []int64
	for x, err := range r.client.Follow(r.ctx, "o") {
		require.NoError(t, err)
		versions = append(versions, x.Version)
		switch x.Version {
		case 1, 2:
			r.cut.left.Store(100) // the next event is lost with its connection, in the middle of its line
			r.backend.Change("o", func(*protocol.Task) {})
		case 3:
			r.backend.End("o")
		}
	}
	require.Equal(t, []int64{1, 2, 3, 4}, versions)
	require.EqualValues(t, 2, r.cut.cuts.Load())
	for x, err := range r.client.Follow(r.ctx, "none") {
		require.Nil(t, x)
		require.ErrorIs(t, err, client.ErrNotFound)
	}
}

// A caller may stop to follow an order, and end the context, with the same version.
func TestFollowEndsWithItsContext(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	ctx, cancel := context.WithCancel(r.ctx)
	defer cancel()
	for _, err := range r.client.Follow(ctx, "o") {
		require.NoError(t, err)
		cancel()
		break
	}
}

// Changes come after changes. After a lost connection, the stream is opened again, and there is one signal more.
func TestChangesOverABrokenConnection(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	var seen []bool // whether it was a signal
	for err := range r.client.Changes(r.ctx, "o") {
		seen = append(seen, err == nil)
		switch len(seen) {
		case 1:
			r.cut.left.Store(1) // the next event is lost with its connection
			r.backend.Change("o", func(*protocol.Task) {})
		case 3:
			r.backend.Change("o", func(*protocol.Task) {})
		}
		if len(seen) == 4 {
			break
		}
	}
	require.Equal(t, []bool{true, false, true, true}, seen)
}

// The wait that a server requests is bounded, however large the number is.
func TestRetryAfterIsBounded(t *testing.T) {
	for header, want := range map[string]time.Duration{
		"7": 7 * time.Second, "3600": time.Hour,
		"9223372036854775807": time.Hour, "-5": 0, "soon": 0,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", header)
			w.WriteHeader(http.StatusTeapot)
		}))
		c, err := client.New(server.URL, client.WithRetry(1, time.Second))
		require.NoError(t, err)
		_, err = c.Get(t.Context(), "o")
		server.Close()
		var e *client.Error
		require.ErrorAs(t, err, &e, header)
		require.Equal(t, want, e.RetryAfter, header)
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
	require.NoError(t, err)
	for _, by := range []client.CommandOption{
		client.By("ann\nbob", ""), client.By("ann", "no\u202e"), client.By("\x1b[2J", ""),
	} {
		_, err := c.Undo(t.Context(), "o-1", by)
		require.ErrorIs(t, err, client.ErrInvalid)
	}
	require.Zero(t, requests.Load())
}
