package integration

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stretchr/testify/require"
)

func waitFor(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(rescued); time.Now().Before(end); time.Sleep(look) {
		if condition() {
			return
		}
	}
	t.Fatalf("no %s within %s", what, rescued)
}

// The tests that kill are not parallel: their processes serve other orders too.

// The agent's process dies while its service works on the call. No reply comes, and the test sends no
// command: the Supervisor, fired by the deployed rule, finds the step past its complete-by and hands it
// back.
func TestAgentKilledInMidCall(t *testing.T) {
	s := on(t, localstack)
	s.ticks.onSchedule(t)
	o := s.newOrder(t, "order")
	n, release := o.killedInMidCall("charge-payment", "AgentPayment")
	defer release()
	died := time.Now()
	end := o.notified("completed", rescued)
	t.Logf("%d processes killed; done %.1f s later", n, time.Since(died).Seconds())
	k := o.task()
	require.GreaterOrEqual(t, end.attempts("charge-payment"), 2)
	require.GreaterOrEqual(t, k.Step("charge-payment").Failures.Do, 1)
	o.oneKeyPerStep()
}

// The Scheduler's process dies at its first send after the commit of a new order: the proxy holds
// that request back, kills, and breaks the connection. Nothing was sent, and all was stored.
func TestSchedulerKilledBetweenCommitAndSend(t *testing.T) {
	s := on(t, localstack)
	o := s.newOrder(t, "order")
	scheduler := s.function(t, "Scheduler")
	var once sync.Once
	var stored string
	var killed int
	var failed error
	dead := make(chan struct{})
	t.Cleanup(s.proxy.hook(func(r request) verdict {
		v := pass
		if strings.HasPrefix(r.function, "Scheduler") && r.sends() && r.concerns(o.id) {
			once.Do(func() {
				stored = o.item()
				killed, failed = kill(scheduler)
				v = refuse
				close(dead)
			})
		}
		return v
	}))
	o.submit()
	select {
	case <-dead:
	case <-time.After(rescued):
		t.Fatal("the Scheduler sent nothing")
	}
	require.NoError(t, failed)
	require.NotZero(t, killed)
	died := time.Now()
	require.Contains(t, stored, "Processing")
	require.Empty(t, s.remote.of(o.id, ""))
	o.notified("completed", rescued)
	t.Logf("%d processes killed; done %.1f s later", killed, time.Since(died).Seconds())
	o.oneKeyPerStep()
}

// Every message of an order is sent, and so delivered, twice: orders, requests, replies, statuses.
func TestDuplicateMessagesHaveOneEffect(t *testing.T) {
	s := on(t, localstack)
	t.Parallel()
	o := s.newOrder(t, "order")
	var doubled atomic.Int32
	t.Cleanup(s.proxy.hook(func(r request) verdict {
		if r.sends() && r.concerns(o.id) {
			doubled.Add(1)
			return twice
		}
		return pass
	}))
	o.submit().submit()
	o.notified("completed", soon)
	require.GreaterOrEqual(t, doubled.Load(), int32(5))
	// plain: its ledger lets the second copy make no second parcel (P31).
	require.Len(t, s.remote.of(o.id, "book-shipment"), 1)
	o.oneKeyPerStep()
	for _, st := range o.task().Steps {
		// Attempt may be higher: a request that waits in its queue on a busy machine is sent again,
		// uncounted.
		require.Zero(t, st.Failures.Do, "%+v", st)
	}
	ends := 0
	for _, st := range o.statuses() {
		if st.Kind == "completed" {
			ends++
		}
	}
	require.Equal(t, 1, ends)
}

var firstAttempt = regexp.MustCompile(`\\"attempt\\":1[,}]`)

// Two further Supervisors sweep beside the one that the rule fires, while a step is overdue: it is
// counted and handed back once. The agent's reply never gets through, which leaves the step overdue.
// It runs before the parallel tests: a queue that they had filled would hand the step back uncounted (P32).
func TestSupervisorsCountAFailureOnce(t *testing.T) {
	s := on(t, localstack)
	o := s.newOrder(t, "stopping")
	var held atomic.Int32
	t.Cleanup(s.proxy.hook(func(r request) verdict {
		if strings.HasPrefix(r.function, "AgentPayment") && r.sends() && r.concerns(o.id) &&
			firstAttempt.MatchString(r.body) {
			held.Add(1)
			return refuse
		}
		return pass
	}))
	o.submit()
	o.until(soon, "call", func() bool { return len(s.remote.of(o.id, "")) > 0 })
	supervisor := s.function(t, "Supervisor")
	for range 2 {
		require.NoError(t, s.invoke(t.Context(), supervisor))
	}
	o.notified("completed", rescued)
	k := o.task()
	require.Equal(t, 1, k.Step("settle").Failures.Do)
	require.Equal(t, 2, k.Step("settle").Attempt)
	require.NotZero(t, held.Load())
}

// Rule 6: dead letters that are put back days later, when the order has ended, do no harm. A second
// is as good as a day once every deadline has passed.
//
// Not parallel: a redrive takes the dead letters of other tests along, and LocalStack keeps their count of
// receives, so that the Scheduler hides them for minutes.
func TestRedriveAfterTheEndChangesNothing(t *testing.T) {
	s := on(t, localstack)
	o := s.newOrder(t, "stopping")
	var mu sync.Mutex
	seen := map[string]string{} // a message of each kind, by the queue it went to
	t.Cleanup(s.proxy.hook(func(r request) verdict {
		if r.sends() && r.concerns(o.id) {
			mu.Lock()
			defer mu.Unlock()
			for kind, queue := range map[string]string{
				"Scheduler":    "RequestsPayment",
				"AgentPayment": "Replies",
			} {
				if strings.HasPrefix(r.function, kind) {
					for _, body := range bodies(r.body) {
						if strings.Contains(body, `"operation"`) {
							seen[queue] = body
						}
					}
				}
			}
		}
		return pass
	}))
	o.submit()
	o.notified("completed", soon)
	var request struct{ StopBy time.Time }
	require.NoError(t, json.Unmarshal([]byte(seen["RequestsPayment"]), &request))
	require.False(t, request.StopBy.IsZero())
	time.Sleep(time.Until(request.StopBy)) // it is the deployed agent's clock that has to pass it
	waitFor(t, "settling of the end", func() bool { return o.task().Due == 0 })
	settled := o.task()
	calls := len(s.remote.of(o.id, ""))
	late := strings.Replace(seen["Replies"], `"done"`, `"retry-later"`, 1)
	for queue, dead := range map[string][]string{
		"Intake": {o.body}, "RequestsPayment": {seen["RequestsPayment"]}, "Replies": {seen["Replies"], late},
		"Control": {fmt.Sprintf(`{"schema":1,"kind":"wake","task":%q,"step":"settle","attempt":1}`, o.id)},
	} {
		for _, body := range dead {
			s.send(t, queue+"Dead", body)
		}
		s.redrive(t, queue)
	}
	waitFor(t, "end of the redriven messages", func() bool {
		return s.depth(t, "Intake")+s.depth(t, "RequestsPayment")+s.depth(t, "Replies")+
			s.depth(t, "Control") == 0
	})
	k := o.task()
	require.Equal(t, settled.Version, k.Version)
	require.EqualValues(t, "Processed", k.ProcessState)
	require.Len(t, s.remote.of(o.id, ""), calls, "the service was called again")
}

// bodies are the messages in a call of SendMessage or SendMessageBatch.
func bodies(call string) []string {
	var c struct {
		MessageBody string
		Entries     []struct{ MessageBody string }
	}
	if err := json.Unmarshal([]byte(call), &c); err != nil {
		return nil
	}
	all := []string{c.MessageBody}
	for _, e := range c.Entries {
		all = append(all, e.MessageBody)
	}
	return all
}

// redrive puts a queue's dead letters back, as an operator does in the console.
func (s *site) redrive(t *testing.T, queue string) {
	t.Helper()
	from, err := s.arn(t.Context(), s.url(t, queue+"Dead"))
	require.NoError(t, err)
	to, err := s.arn(t.Context(), s.url(t, queue))
	require.NoError(t, err)
	_, err = s.sqs.StartMessageMoveTask(t.Context(),
		&sqs.StartMessageMoveTaskInput{SourceArn: &from, DestinationArn: aws.String(to)})
	require.NoError(t, err)
	waitFor(t, "end of the redrive of "+queue, func() bool {
		all, err := s.sqs.ListMessageMoveTasks(t.Context(), &sqs.ListMessageMoveTasksInput{SourceArn: &from})
		return err == nil && len(all.Results) > 0 && aws.ToString(all.Results[0].Status) == "COMPLETED"
	})
}
