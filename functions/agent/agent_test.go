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
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/api/sqsproto"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/memory"
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
			if f.Code != want || !f.Permanent || !f.NoEffect {
				t.Errorf("%s: %+v", input, f)
			}
		case err != nil:
			if want != "" {
				t.Errorf("%s: %v", input, err)
			}
		case out.(receipt).ID != want:
			t.Errorf("%s: %+v", input, out)
		}
	}
}

type named struct{ *memory.Queues }

func (n named) QueueNames() []string { return n.Names() }

// dev serves queues as `stepkeeper dev` does, and points the environment there.
func dev(t *testing.T) *memory.Queues {
	t.Helper()
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: "requests-payment"}, {Name: port.Replies}, {Name: port.Quarantine}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(sqsproto.New(sqsproto.Config{Queues: named{queues}}))
	t.Cleanup(srv.Close)
	for _, name := range []string{"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "AWS_LAMBDA_RUNTIME_API", "STEPKEEPER_LEDGER"} {
		t.Setenv(name, "")
	}
	t.Setenv("STEPKEEPER_ENDPOINT", srv.URL)
	return queues
}

func ask(t *testing.T, queues port.Queues, grade core.Grade, attempt int) {
	t.Helper()
	now := core.TimeOf(time.Now())
	q, err := queues.Queue("requests-payment")
	if err != nil {
		t.Fatal(err)
	}
	err = q.Send(context.Background(), []port.Message{{Value: &message.Request{Schema: 1, SendRequest: core.SendRequest{
		OrderID: "o-1", Step: "pay", Attempt: attempt, Operation: core.Do, Name: "charge", Grade: grade, Key: "o-1/0/pay", Timeout: core.Minute,
		ClaimedAt: now, CompleteBy: now.Add(core.Minute), StopBy: now.Add(core.Minute), Input: json.RawMessage(`{"amount":7}`),
	}}}})[0]
	if err != nil {
		t.Fatal(err)
	}
}

func answer(t *testing.T, queues port.Queues) *message.Reply {
	t.Helper()
	q, err := queues.Queue(port.Replies)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	ds, err := q.Receive(ctx, 1, 20*time.Second, time.Minute)
	if err != nil || len(ds) != 1 {
		t.Fatalf("%d replies, %v", len(ds), err)
	}
	r, err := message.ReplyOf(ds[0])
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// An agent finds its queues by the environment alone, answers over SQS's protocol, keeps its ledger
// over a restart, and ends with its context.
func TestServe(t *testing.T) {
	queues := dev(t)
	folder := t.TempDir()
	calls := 0
	operations := agent.Operations{"charge": agent.Typed(func(context.Context, payment, agent.Call) (receipt, error) {
		calls++
		return receipt{ID: "c-1"}, nil
	})}
	for start := 1; start <= 2; start++ {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		var stats worker.Stats
		go func() {
			ended <- agent.Serve(ctx, "payment", operations, agent.WithLedgerFolder(folder), agent.WithConcurrency(4), agent.WithBatch(2),
				agent.WithDrain(time.Second), agent.WithRetry(agent.Retry{Tries: 1}), agent.WithBreaker(agent.Breaker{Off: true}),
				agent.WithLog(slog.New(slog.DiscardHandler)), agent.WithStats(func(s worker.Stats) { stats = s }))
		}()
		ask(t, queues, core.Plain, start)
		if r := answer(t, queues); r.Outcome != core.OutcomeDone || string(r.Output) != `{"id":"c-1"}` || r.Attempt != start || r.Agent != "payment" {
			t.Errorf("start %d: %+v", start, r)
		}
		cancel()
		if err := <-ended; err != nil || stats.Done != 1 {
			t.Errorf("start %d: %v, %+v", start, err, stats)
		}
	}
	if calls != 1 {
		t.Errorf("%d calls of a plain service", calls)
	}
}

func TestServeThatCannotStart(t *testing.T) {
	queues := dev(t)
	run := agent.Operation{Run: func(context.Context, agent.Call) (any, error) { return nil, nil }}
	for want, start := range map[string]func() error{
		"no operations": func() error { return agent.Serve(t.Context(), "payment", nil) },
		"requests-shipping": func() error {
			return agent.Serve(t.Context(), "shipping", agent.Operations{"book": run}, agent.WithQueues(queues))
		},
		"opening its ledger": func() error {
			return agent.Serve(t.Context(), "payment", agent.Operations{"charge": run}, agent.WithLedgerFolder("/dev/null/x"))
		},
	} {
		if err := start(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
