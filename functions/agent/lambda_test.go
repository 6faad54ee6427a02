package agent

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/memory"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// On Lambda bad messages never fail their neighbours, failures of the business are replies, and a
// call ends two seconds before Lambda does.
func TestLambdaHandler(t *testing.T) {
	queues, err := memory.NewQueues(port.ClockFunc(time.Now), []memory.QueueConfig{{Name: port.Replies}, {Name: port.Quarantine}})
	if err != nil {
		t.Fatal(err)
	}
	end := time.Now().Add(time.Minute)
	s := settings{queues: queues, retry: Retry{Tries: 1}}
	w, err := s.worker(context.Background(), "payment", Operations{
		"charge": {Run: func(ctx context.Context, _ Call) (any, error) {
			if d, bounded := ctx.Deadline(); !bounded || d.After(end.Add(-2*time.Second).Add(100*time.Millisecond)) {
				t.Errorf("the call ends at %s, Lambda at %s", d, end)
			}
			return nil, nil
		}},
		"refuse": {Run: func(context.Context, Call) (any, error) { return nil, worker.Permanent(fmt.Errorf("no")) }},
	})
	if err != nil {
		t.Fatal(err)
	}
	record := func(id, name string) events.SQSMessage {
		now := core.TimeOf(time.Now())
		body, err := json.Marshal(&message.Request{Schema: 1, SendRequest: core.SendRequest{
			OrderID: id, Step: "pay", Attempt: 1, Operation: core.Do, Name: name, Key: id, Timeout: core.Hour,
			ClaimedAt: now, StopBy: now.Add(core.Hour),
		}})
		if err != nil {
			t.Fatal(err)
		}
		return events.SQSMessage{MessageId: id, Body: string(body)}
	}
	ctx, cancel := context.WithDeadline(context.Background(), end)
	defer cancel()
	res, err := handler(w)(ctx, events.SQSEvent{Records: []events.SQSMessage{
		record("a", "charge"), {MessageId: "poison", Body: "?"}, {MessageId: "newer", Body: `{"schema":2}`}, record("b", "refuse"),
	}})
	if err != nil || len(res.BatchItemFailures) != 1 || res.BatchItemFailures[0].ItemIdentifier != "newer" {
		t.Errorf("%+v, %v", res, err)
	}
	if st := w.Stats(); st.Done != 1 || st.Failed != 1 || st.Quarantined != 1 || st.GivenBack != 1 {
		t.Errorf("%+v", st)
	}
}
