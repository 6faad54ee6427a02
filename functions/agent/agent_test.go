package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqsproto"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

type payment struct {
	Amount int `json:"amount"`
}

type receipt struct {
	ID string `json:"id"`
}

func TestTyped(t *testing.T) {
	op := agent.Typed(func(_ context.Context, in payment, c agent.Call) (receipt, error) {
		if in.Amount < 0 {
			return receipt{}, errors.New("no")
		}
		return receipt{ID: fmt.Sprint(c.Key, in.Amount)}, nil
	})
	for input, want := range map[string]string{
		`{"amount":7}`: "k7", ``: "k0", ` {} `: "k0",
		`{"amount":7,"x":1}`: "input", `{"amount":"7"}`: "input", `{} {}`: "input", `{`: "input",
		`{"amount":-1}`: "",
	} {
		out, err := op.Run(context.Background(), agent.Call{Key: "k", Input: json.RawMessage(input)})
		f := (*agent.Failure)(nil)
		switch {
		case errors.As(err, &f):
			require.Equal(t, want, f.Code, input)
			require.True(t, f.Permanent, input)
			require.True(t, f.NoEffect, input)
		case err != nil:
			require.Empty(t, want, input)
		case out.(receipt).ID != want:
			t.Errorf("%s: %+v", input, out)
		}
	}
}

// What an author says of an error reaches the reply by the worker's own words.
func TestWordsForErrors(t *testing.T) {
	boom := errors.New("boom")
	for name, tt := range map[string]struct {
		err  error
		want agent.Failure
	}{
		"permanent": {agent.Permanent(boom), agent.Failure{Permanent: true, Code: "failed"}},
		"transient": {agent.Transient(agent.Permanent(boom)), agent.Failure{Code: "failed"}},
		"retry after": {
			agent.RetryAfter(agent.Permanent(boom), time.Second),
			agent.Failure{RetryAfter: time.Second, Code: "failed"},
		},
		"unauthorized": {
			agent.Unauthorized(boom),
			agent.Failure{NoEffect: true, Code: core.CodeUnauthorized},
		},
		"no effect": {agent.NoEffect(boom), agent.Failure{NoEffect: true, Code: "failed"}},
		"with a code": {
			agent.WithCode(agent.Permanent(boom), "no-funds"),
			agent.Failure{Permanent: true, Code: "no-funds"},
		},
	} {
		var got *agent.Failure
		require.ErrorAs(t, tt.err, &got, "%v", name)
		require.ErrorIs(t, tt.err, boom, "%v", name)
		tt.want.Err = got.Err
		require.Equal(t, tt.want, *got, name)
	}
}

// P45. What it waits for can be said around it.
func TestNotYet(t *testing.T) {
	err := fmt.Errorf("the parcel was not collected: %w", agent.NotYet(time.Minute))
	if got := (*agent.Failure)(nil); !errors.As(err, &got) || got.Permanent || !got.NoEffect ||
		got.Code != core.CodeNotYet || got.RetryAfter != time.Minute {
		t.Errorf("%v: %+v", err, got)
	}
}

// site are the queues of a site, by their names there.
type site struct {
	*memory.Queues
	url, requests, replies, quarantine string
}

// serve serves queues in SQS's protocol. The environment names none of them, and nothing of AWS.
func serve(t *testing.T, requests, replies, quarantine string) site {
	t.Helper()
	queues, err := memory.NewQueues(port.ClockFunc(time.Now),
		[]memory.QueueConfig{{Name: requests}, {Name: replies}, {Name: quarantine}})
	require.NoError(t, err)
	srv := httptest.NewServer(sqsproto.New(sqsproto.Config{Queues: queues}))
	t.Cleanup(srv.Close)
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ENDPOINT_URL",
		"AWS_ENDPOINT_URL_SQS", "STEPKEEPER_ENDPOINT", deployment.VarRuntimeAPI,
		deployment.VarLedger, deployment.VarLedgerFolder, deployment.VarQueuePrefix,
		deployment.VarRequestsURL, deployment.VarRepliesURL, deployment.VarQuarantineURL,
	} {
		t.Setenv(name, "")
	}
	return site{queues, srv.URL, requests, replies, quarantine}
}

// dev serves queues as `stepkeeper dev` does, and points the environment there.
func dev(t *testing.T) site {
	t.Helper()
	s := serve(t, "requests-payment", port.Replies, port.Quarantine)
	t.Setenv("AWS_ENDPOINT_URL_SQS", s.url)
	return s
}

// deployed serves queues with the names that CloudFormation makes, and points the environment there, as
// docs/how-to/add-an-agent.md says.
func deployed(t *testing.T) site {
	t.Helper()
	s := serve(t, "Shop-EngineRequestspayment5D21-aZ", "Shop-EngineReplies77F0-bY",
		"Shop-EngineQuarantine0C3B-cX")
	for variable, queue := range map[string]string{
		deployment.VarRequestsURL: s.requests,
		deployment.VarRepliesURL:  s.replies, deployment.VarQuarantineURL: s.quarantine,
	} {
		t.Setenv(variable, s.url+"/111122223333/"+queue)
	}
	t.Setenv("AWS_ENDPOINT_URL_SQS", s.url)
	return s
}

func ask(t *testing.T, s site, grade core.Grade, attempt int, change ...func(*core.SendRequest)) {
	t.Helper()
	now := core.TimeOf(time.Now())
	q, err := s.Queue(s.requests)
	require.NoError(t, err)
	request := &message.Request{Schema: 1, SendRequest: core.SendRequest{
		OrderID: "o-1", Step: "pay", Attempt: attempt, Operation: core.Do, Name: "charge", Grade: grade,
		Key: "o-1/0/pay", Timeout: core.Minute,
		ClaimedAt: now, CompleteBy: now.Add(core.Minute), StopBy: now.Add(core.Minute),
		Input: json.RawMessage(`{"amount":7}`),
	}}
	for _, f := range change {
		f(&request.SendRequest)
	}
	require.NoError(t, q.Send(context.Background(), []port.Message{{Value: request}})[0])
}

func answer(t *testing.T, s site) *message.Reply {
	t.Helper()
	q, err := s.Queue(s.replies)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ds, err := q.Receive(ctx, 1, 20*time.Second, time.Minute)
	require.NoError(t, err)
	require.Len(t, ds, 1)
	r, err := message.Of[message.Reply](ds[0])
	require.NoError(t, err)
	return r
}

// An agent finds its queues by the environment alone, answers over SQS's protocol, keeps its ledger
// over a restart, and ends with its context.
func TestServe(t *testing.T) {
	queues := dev(t)
	folder := t.TempDir()
	calls := 0
	operations := agent.Operations{
		"charge": agent.Typed(func(context.Context, payment, agent.Call) (receipt, error) {
			calls++
			return receipt{ID: "c-1"}, nil
		}),
	}
	for start := 1; start <= 2; start++ {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		var stats worker.Stats
		go func() {
			ended <- agent.Serve(ctx, "payment", operations, ledger.InFolder(folder),
				agent.WithConcurrency(4), agent.WithBatch(2),
				agent.WithDrain(time.Second), agent.WithRetry(agent.Retry{Tries: 1}),
				agent.WithBreaker(agent.Breaker{Off: true}),
				agent.WithLog(slog.New(slog.DiscardHandler)), agent.WithStats(
					func(s worker.Stats) { stats = s }))
		}()
		ask(t, queues, core.Plain, start)
		r := answer(t, queues)
		require.Equal(t, core.OutcomeDone, r.Outcome, "%+v", start)
		require.Equal(t, `{"id":"c-1"}`, string(r.Output), "%+v", start)
		require.Equal(t, start, r.Attempt)
		require.Equal(t, "payment", r.Agent, "%+v", start)
		cancel()
		require.NoError(t, <-ended, "%v", start)
		require.Equal(t, int64(1), stats.Done, "%v", start)
	}
	require.Equal(t, 1, calls)
}

// P43. Long work reports how far it is, may be answered later by another process, which finds the queue as
// the agent does, and is not answered once its time is over.
func TestLongWorkIsAnsweredByAnotherProcess(t *testing.T) {
	for name, made := range map[string]func(*testing.T) site{"dev": dev, "deployed": deployed} {
		t.Run(name, func(t *testing.T) {
			queues := made(t)
			ids := make(chan string, 1)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() {
				ended <- agent.Serve(ctx, "payment",
					agent.Operations{"charge": {Run: func(ctx context.Context, c agent.Call) (any, error) {
						ids <- c.ReplyID()
						return nil, errors.Join(agent.Progress(ctx, 10, "begun"),
							agent.Deferred(20*time.Minute))
					}}}, agent.WithLog(slog.New(slog.DiscardHandler)))
			}()
			begun := time.Now()
			ask(t, queues, core.Idempotent, 1, func(r *core.SendRequest) {
				r.MaxDuration = core.Hour
				r.StopBy = core.TimeOf(begun.Add(time.Hour))
			})
			if r := answer(t, queues); r.Outcome != message.Progress || r.Percent != 10 || r.Note != "begun" {
				t.Errorf("%+v", r)
			}
			r := answer(t, queues)
			require.Equal(t, message.Progress, r.Outcome)
			require.GreaterOrEqual(t, r.Until, core.TimeOf(begun.Add(20*time.Minute)))
			require.LessOrEqual(t, r.Until, core.TimeOf(time.Now().Add(20*time.Minute)))
			cancel()
			require.NoError(t, <-ended)
			id := <-ids
			replies, err := agent.OpenReplies(t.Context(), "payment")
			require.NoError(t, err)
			require.NoError(t, replies.Done(t.Context(), id, receipt{ID: "c-1"}))
			if r := answer(t, queues); r.Outcome != core.OutcomeDone || string(r.Output) != `{"id":"c-1"}` ||
				r.OrderID != "o-1" || r.Step != "pay" || r.Agent != "payment" {
				t.Errorf("%+v", r)
			}
			late, err := agent.OpenReplies(t.Context(), "payment",
				agent.WithClock(port.ClockFunc(func() time.Time { return begun.Add(2 * time.Hour) })))
			require.NoError(t, err)
			require.ErrorIs(t, late.Done(t.Context(), id, nil), agent.ErrTooLate)
		})
	}
}

// unreachable fails to look up one of its queues.
type unreachable struct {
	port.Queues
	name string
}

func (u unreachable) Queue(name string) (port.Queue, error) {
	if name == u.name {
		return nil, fmt.Errorf("queue %q: %w", name, port.ErrUnavailable)
	}
	return u.Queues.Queue(name)
}

func TestServeThatCannotStart(t *testing.T) {
	queues := dev(t)
	run := agent.Operation{Run: func(context.Context, agent.Call) (any, error) { return nil, nil }}
	for want, start := range map[string]func() error{
		"no operations": func() error { return agent.Serve(t.Context(), "payment", nil) },
		"requests-shipping": func() error {
			return agent.Serve(t.Context(), "shipping", agent.Operations{"book": run},
				agent.WithQueues(queues.Queues))
		},
		deployment.VarRequestsURL: func() error {
			return agent.Serve(t.Context(), "shipping",
				agent.Operations{"book": run})
		},
		"opening its ledger": func() error {
			return agent.Serve(t.Context(), "payment", agent.Operations{"charge": run},
				ledger.InFolder("/dev/null/x"))
		},
		`queue "replies"`: func() error {
			return agent.Serve(t.Context(), "payment", agent.Operations{"charge": run},
				agent.WithQueues(unreachable{queues.Queues, port.Replies}))
		},
	} {
		require.ErrorContains(t, start(), want)
	}
}

// An agent that finds no server names the command and the variable that are missing, once.
func TestServeWithoutAServer(t *testing.T) {
	dev(t)
	run := agent.Operations{"charge": {Run: func(context.Context, agent.Call) (any, error) {
		return nil,
			nil
	}}}
	const unset = "set AWS_ENDPOINT_URL_SQS=http://127.0.0.1:8377"
	for endpoint, want := range map[string]string{
		"": unset,
		"http://127.0.0.1:1": "is `stepkeeper dev` running at http://127.0.0.1:1? start it, or set " +
			"AWS_ENDPOINT_URL_SQS",
	} {
		t.Setenv("AWS_ENDPOINT_URL_SQS", endpoint)
		synctest.Test(t, func(t *testing.T) { // the SDK waits between its attempts
			err := agent.Serve(t.Context(), "payment", run)
			require.Error(t, err, endpoint)
			require.Equal(t, 1, strings.Count(err.Error(), want), endpoint)
			require.NotContains(t, err.Error(), port.Quarantine, endpoint)
			_, err = agent.OpenReplies(t.Context(), "payment")
			require.Error(t, err, endpoint)
			require.Equal(t, 1, strings.Count(err.Error(), want), endpoint)
		})
	}
}

func TestServeWithAProfileThatDoesNotExist(t *testing.T) {
	for want, open := range map[string]func(*testing.T) site{
		"AWS_ENDPOINT_URL_SQS": dev,
		"opening its ledger": func(t *testing.T) site {
			s := deployed(t)
			t.Setenv(deployment.VarLedger, "ledger")
			return s
		},
	} {
		t.Run(want, func(t *testing.T) {
			open(t)
			t.Setenv("AWS_PROFILE", "absent")
			err := agent.Serve(t.Context(), "payment", agent.Operations{"charge": {
				Run: func(context.Context, agent.Call) (any, error) { return nil, nil },
			}})
			require.ErrorContains(t, err, "absent")
			require.ErrorContains(t, err, want)
		})
	}
}

// An agent of a deployed stack that runs elsewhere gets the addresses of its queues, and a table.
func TestServeForAStack(t *testing.T) {
	queues := deployed(t)
	aws := awsstub.New(t)
	aws.Keep("ledger", "Key")
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", aws.URL)
	t.Setenv(deployment.VarLedger, "ledger")
	calls := 0
	run := agent.Operation{Run: func(context.Context, agent.Call) (any, error) {
		calls++
		return receipt{ID: "c-1"}, nil
	}}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- agent.Serve(ctx, "payment", agent.Operations{"charge": run},
			ledger.InFolder("/dev/null/x"), agent.WithLog(slog.New(slog.DiscardHandler)))
	}()
	for attempt := 1; attempt <= 2; attempt++ {
		ask(t, queues, core.Plain, attempt)
		r := answer(t, queues)
		require.Equal(t, core.OutcomeDone, r.Outcome)
		require.Equal(t, attempt, r.Attempt)
	}
	cancel()
	require.NoError(t, (<-ended))
	require.Equal(t, 1, calls)
	require.Contains(t, aws.Calls(), "PutItem ledger")
}

// One error lists everything.
func TestEverythingWrongAtOnce(t *testing.T) {
	dev(t)
	t.Setenv(deployment.VarRepliesURL, "replies")
	t.Setenv(deployment.VarLedger, "./ledger")
	err := agent.Serve(t.Context(), "payment", agent.Operations{"charge": {}},
		agent.WithRetry(agent.Retry{Tries: 100}), agent.WithBreaker(agent.Breaker{Failures: -1}))
	for _, want := range []string{
		deployment.VarRequestsURL + " is not set", deployment.VarQuarantineURL + " is not set",
		deployment.VarRepliesURL + ` is "replies"`, deployment.VarLedgerFolder,
		`operation "charge" has no function`, "100 tries", "breaker",
	} {
		require.ErrorContains(t, err, want)
	}
}
