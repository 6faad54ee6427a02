package onlambda_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/agent/onlambda"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

var quiet = slog.New(slog.DiscardHandler)

func variables(s *awsstub.Stub) map[string]string {
	return map[string]string{
		deployment.VarAgent:  "payment",
		deployment.VarQueues: s.Queues("requests-payment", "replies", "quarantine"),
	}
}

// payment is an agent that counts its charges.
func payment(charges *atomic.Int32) worker.Config {
	return worker.Config{Agent: "payment", Retry: worker.Retry{Tries: 1}, Operations: worker.Operations{
		"charge": {Run: func(context.Context, worker.Call) (any, error) {
			charges.Add(1)
			return "c-1",
				nil
		}},
		"refuse": {Run: func(context.Context, worker.Call) (any, error) {
			return nil, worker.Permanent(errors.New("no"))
		}},
		"panic": {Run: func(context.Context, worker.Call) (any, error) { panic("poison") }},
	}}
}

// request is a record of the agent's queue.
func request(t *testing.T, id, name string, change func(*core.SendRequest)) events.SQSMessage {
	t.Helper()
	stopBy := core.TimeOf(time.Now().Add(time.Minute))
	r := core.SendRequest{
		Agent: "payment", OrderID: id, Step: "pay", Attempt: 1, Operation: core.Do,
		Name: name, Grade: core.Idempotent,
		Key: id + "/0/pay", Timeout: 5 * core.Second, StopBy: stopBy, CompleteBy: stopBy,
	}
	if change != nil {
		change(&r)
	}
	body, err := json.Marshal(message.Request{Schema: message.Schema, SendRequest: r})
	require.NoError(t, err)
	return events.SQSMessage{
		MessageId: id, ReceiptHandle: id, Body: string(body),
		EventSourceARN: "arn:aws:sqs:eu-central-1:1:requests-payment",
	}
}

func again(t *testing.T, answer events.SQSEventResponse, err error) string {
	t.Helper()
	require.NoError(t, err)
	require.NotNil(t, answer.BatchItemFailures)
	ids := make([]string, len(answer.BatchItemFailures))
	for i, f := range answer.BatchItemFailures {
		ids[i] = f.ItemIdentifier
	}
	return strings.Join(ids, " ")
}

func outcomes(t *testing.T, replies []string) string {
	t.Helper()
	var all []string
	for _, body := range replies {
		var r message.Reply
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		all = append(all, fmt.Sprint(r.OrderID, " ", r.Outcome))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

// Of one batch: what is done and what is refused are replies in one request of SQS (rule 4), what is
// too late is not called, what cannot be read goes to quarantine, and only what panics or is
// too new comes again (rule 2).
func TestABatch(t *testing.T) {
	s := awsstub.New(t)
	var charges atomic.Int32
	f, err := onlambda.New(s.Environment(variables(s)), payment(&charges), io.Discard, quiet)
	require.NoError(t, err)
	require.Empty(t, s.Calls())
	unreadable := request(t, "unreadable", "charge", nil)
	newer := request(t, "newer", "charge", nil)
	unreadable.Body = "{"
	newer.Body = `{"schema":2}`
	answer, err := f(context.Background(), events.SQSEvent{Records: []events.SQSMessage{
		request(t, "good", "charge", nil), request(t, "refused", "refuse", nil), unreadable, newer,
		request(t, "late", "charge", func(r *core.SendRequest) { r.StopBy = core.TimeOf(time.Now()) }),
		// there is no ledger
		request(t, "plain", "charge", func(r *core.SendRequest) { r.Grade = core.Plain }),
	}})
	require.Equal(t, "newer", again(t, answer, err))
	require.Equal(t, "good done, late retry-later, plain retry-later, refused failed", outcomes(t, s.Sent("replies")))
	got := strings.Join(s.Calls(), ", ")
	require.EqualValues(t, 1, charges.Load())
	require.Equal(t,
		"ChangeMessageVisibilityBatch requests-payment, SendMessageBatch quarantine, "+"SendMessageBatch replies",
		got)
	answer, err = f(context.Background(),
		events.SQSEvent{Records: []events.SQSMessage{
			request(t, "panics", "panic", nil),
			request(t, "beside", "charge", nil),
		}})
	require.Empty(t, again(t, answer, err))
	require.Equal(t, "beside done, panics retry-later", outcomes(t, s.Sent("replies")))
}

// Rule 3: a call ends two seconds before Lambda ends the process, however long the step may take.
func TestACallEndsBeforeLambdaDoes(t *testing.T) {
	s := awsstub.New(t)
	end := time.Now().Add(time.Minute)
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	var ends time.Time
	a := worker.Config{
		Agent: "payment",
		Operations: worker.Operations{"charge": {Run: func(ctx context.Context, _ worker.Call) (any, error) {
			ends, _ = ctx.Deadline()
			return nil, nil
		}}},
	}
	f, err := onlambda.New(s.Environment(variables(s)), a, io.Discard, quiet)
	require.NoError(t, err)
	answer, err := f(ctx,
		events.SQSEvent{Records: []events.SQSMessage{request(t, "long", "charge", func(r *core.SendRequest) {
			r.Timeout = core.Hour
			r.StopBy = core.TimeOf(end.Add(time.Hour))
		})}})
	require.Empty(t, again(t, answer, err))
	require.False(t, ends.IsZero())
	require.False(t, ends.After(end.Add(-2*time.Second)))
}

// The handler returns only when no operation runs any more, even if one ignores the end of its time. Otherwise Lambda
// would freeze the process, and continue the operation with a later batch (P25).
func TestTheHandlerWaitsForItsOperations(t *testing.T) {
	s := awsstub.New(t)
	type result struct {
		answer events.SQSEventResponse
		err    error
	}
	over := make(chan struct{})
	release := make(chan struct{})
	returned := make(chan result, 1)
	a := worker.Config{
		Agent: "payment", Retry: worker.Retry{Tries: 1},
		Operations: worker.Operations{"charge": {Run: func(ctx context.Context, _ worker.Call) (any, error) {
			<-ctx.Done()
			close(over)
			<-release
			return nil, nil
		}}},
	}
	f, err := onlambda.New(s.Environment(variables(s)), a, io.Discard, quiet)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond) // of which 2 s are in reserve
	defer cancel()
	asked := request(t, "a", "charge", nil)
	go func() {
		answer, err := f(ctx, events.SQSEvent{Records: []events.SQSMessage{asked}})
		returned <- result{answer, err}
	}()
	<-over
	select {
	case <-returned:
		t.Error("the handler returned while the operation ran")
	default:
	}
	close(release)
	got := <-returned
	require.Empty(t, again(t, got.answer, got.err))
	require.Equal(t, "a done", outcomes(t, s.Sent("replies")))
}

// A reply that cannot be sent makes its request come again, and does not use up Lambda's time.
func TestRepliesThatCannotBeSent(t *testing.T) {
	s := awsstub.New(t)
	s.Fail("sqs:SendMessageBatch")
	var charges atomic.Int32
	f, err := onlambda.New(s.Environment(variables(s)), payment(&charges), io.Discard, quiet)
	require.NoError(t, err)
	answer, err := f(context.Background(),
		events.SQSEvent{Records: []events.SQSMessage{
			request(t, "a", "charge", nil),
			request(t, "b", "refuse", nil),
		}})
	require.Equal(t, "a b", again(t, answer, err))
}

// A plain service is called once for a key: by the deployment's table, or by a ledger of the
// program's own, which comes first.
func TestLedgers(t *testing.T) {
	plain := func(r *core.SendRequest) { r.Grade = core.Plain }
	for name, own := range map[string]port.Ledger{"the table": nil, "its own": memory.NewLedger()} {
		s := awsstub.New(t)
		s.Keep("ledger", "Key")
		env := variables(s)
		env[deployment.VarLedger] = "ledger"
		var charges atomic.Int32
		a := payment(&charges)
		a.Ledger = own
		f, err := onlambda.New(s.Environment(env), a, io.Discard, quiet)
		require.NoError(t, err)
		for range 2 {
			answer, err := f(context.Background(),
				events.SQSEvent{Records: []events.SQSMessage{request(t, "p", "charge", plain)}})
			require.Empty(t, again(t, answer, err), name)
			require.Equal(t, "p done", outcomes(t, s.Sent("replies")), name)
		}
		asked := slices.Contains(s.Calls(), "PutItem ledger")
		require.Equal(t, int32(1), charges.Load(), name)
		require.Equal(t, own == nil, asked, name)
	}
}

// While there is no worker, as when a secret cannot be read, everything comes again.
func TestNoWorker(t *testing.T) {
	s := awsstub.New(t)
	lookup := s.Environment(variables(s))
	settings, err := deployment.ReadAgent(lookup, false)
	c, errClient := wire.Environment(lookup)
	require.NoError(t, errors.Join(err, errClient))
	settings.Stack = "Shop/Engine"
	var metrics bytes.Buffer
	f := onlambda.Function(c, settings, func(ctx context.Context) (*worker.Worker, error) {
		if _, bounded := ctx.Deadline(); !bounded {
			t.Error("making a worker may take longer than its batch")
		}
		return nil, errors.New("throttled")
	}, &metrics, quiet)
	batch, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	answer, err := f(batch, events.SQSEvent{Records: []events.SQSMessage{
		request(t, "a", "charge", nil),
		request(t, "b", "charge", nil),
	}})
	require.Equal(t, "a b", again(t, answer, err))
	if got := s.Extended(); len(got) != 2 || got[0].Seconds < 2 || got[0].Seconds > 3 || got[1].Seconds < 2 ||
		got[1].Seconds > 3 {
		t.Errorf("they come again: %+v", got)
	}
	got := metrics.String()
	require.Contains(t, got, `"Returned":2`)
	require.Contains(t, got, `"Function":"payment"`)
	require.Contains(t, got, `"Deployment":"Shop/Engine"`)
}

// P46: a request is returned to the queue that it came from.
func TestGivenBackToItsQueue(t *testing.T) {
	s := awsstub.New(t)
	env := variables(s)
	env[deployment.VarQueues] = s.Queues("requests-payment", "requests-payment-high", "replies", "quarantine")
	f, err := onlambda.New(s.Environment(env), payment(new(atomic.Int32)), io.Discard, quiet)
	require.NoError(t, err)
	for id, queue := range map[string]string{"a": "-high", "b": "-other", "c": ""} {
		r := request(t, id, "charge", nil)
		r.Body = `{"schema":2}`
		r.EventSourceARN = r.EventSourceARN + queue
		answer, err := f(context.Background(), events.SQSEvent{Records: []events.SQSMessage{r}})
		require.Equal(t, id, again(t, answer, err))
	}
	var back []string
	for _, e := range s.Extended() {
		back = append(back, e.Receipt+" "+e.Queue)
	}
	if slices.Sort(back); !slices.Equal(back, []string{"a requests-payment-high", "c requests-payment"}) {
		t.Errorf("returned: %q", back)
	}
}

// One error lists what is wrong with the deployment and with the program.
func TestEverythingWrongAtOnce(t *testing.T) {
	s := awsstub.New(t)
	env := variables(s)
	env[deployment.VarQueues] = `{"replies":"replies"}`
	env[deployment.VarLedger] = "./ledger"
	env["AWS_REGION"] = ""
	_, err := onlambda.New(s.Environment(env), worker.Config{
		Agent:      "shipping",
		Operations: worker.Operations{"book": {}}, Retry: worker.Retry{Tries: 100},
	}, io.Discard, quiet)
	for _, want := range []string{
		`lacks the queue "quarantine"`, `lacks the queue "requests-payment"`, "it must be the URL of a queue",
		deployment.VarLedgerFolder, "AWS_REGION is not set",
		`the program is agent "shipping", and was deployed as agent "payment"`,
		`operation "book" has no function`, "100 tries",
	} {
		require.ErrorContains(t, err, want)
	}
	none := maps.Clone(env)
	clear(none)
	unset := func(string) (string, bool) { return "", false }
	_, err = onlambda.New(unset, worker.Config{Agent: "payment"}, io.Discard, quiet)
	require.Error(t, err, "nothing at all is accepted")
	for text, want := range map[string]bool{
		"it has no operations": true, deployment.VarAgent: true, "was deployed as": false,
	} {
		require.Equal(t, want, strings.Contains(err.Error(), text), "%v", text)
	}
}
