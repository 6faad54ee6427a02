package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/internal/cloud"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// charge returns a workflow of one step, which stops for the operator at its first or second failure.
const charge = `
workflow: charge
steps:
  pay: {agent: payment, operation: charge, timeout: 1s, onFailure: stop, undo: refund, grade: fenced, retry: {maxFailures: %d}}
`

// sweeps is a deployment of the workflow charge.
type sweeps struct {
	*cloudtest.Deployment
	t        *testing.T
	out, log bytes.Buffer
}

func sweeping(t *testing.T, maxFailures int) *sweeps {
	t.Helper()
	return &sweeps{Deployment: cloudtest.Kept(t, fmt.Sprintf(charge, maxFailures)), t: t}
}

// submit lets a Scheduler take orders at a time in the past; none of their requests is ever answered.
func (d *sweeps) submit(at time.Time, ids ...string) {
	d.t.Helper()
	settings, err := deployment.ReadScheduler(d.Lookup)
	c, errClient := wire.Environment(d.Lookup)
	require.NoError(d.t, errors.Join(err, errClient))
	engine := cloud.Open(c, d.Lookup, settings.Engine, d.Definitions, io.Discard, cloudtest.Quiet)
	engine.Clock = port.ClockFunc(func() time.Time { return at })
	s := scheduler.New(scheduler.Config{Parts: engine.Parts})
	for _, id := range ids {
		answer := s.Submit(context.Background(),
			[]message.SubmitOrder{{Schema: 1, OrderID: id, Workflow: "charge", Order: []byte("{}")}})[0]
		require.False(d.t, answer.Known, "%+v", answer)
		require.Nil(d.t, answer.Refusal)
		require.NoError(d.t, answer.Err)
	}
}

// sweep lets the function handle a tick. It returns the lines of metrics.
func (d *sweeps) sweep(ctx context.Context) (metrics []map[string]any) {
	d.t.Helper()
	d.out.Reset()
	d.log.Reset()
	f, err := newFunction(d.Lookup, &d.out, slog.New(slog.NewTextHandler(&d.log, nil)))
	if err == nil {
		err = f(ctx, nil)
	}
	require.NoError(d.t, err)
	for line := range strings.Lines(d.out.String()) {
		m := map[string]any{}
		require.NoError(d.t, json.Unmarshal([]byte(line), &m))
		metrics = append(metrics, m)
	}
	return metrics
}

// pay is a step's state and its failures, as they are stored.
func (d *sweeps) pay(id string) string {
	d.t.Helper()
	pay := d.Step(id, "pay")
	return fmt.Sprintf("%s %d", pay.State, pay.Failures.Do)
}

// One sweep: what is overdue is handed back; the metric is the oldest of them, in seconds; the lease
// has ended when the next tick comes.
func TestASweep(t *testing.T) {
	d := sweeping(t, 2)
	now := time.Now()
	d.submit(now.Add(-3*time.Hour), "oldest")
	d.submit(now.Add(-2*time.Hour), "older")
	d.submit(now.Add(time.Hour), "not-yet") // the Scheduler's clock is ahead
	at, err := strconv.ParseInt(fmt.Sprint(d.Item("orders", "oldest")["dueAt"]["N"]), 10, 64)
	require.NoError(t, err)
	due := time.UnixMilli(at)
	least := time.Since(due).Seconds()
	metrics := d.sweep(t.Context())
	most := time.Since(due).Seconds()
	got, _ := metrics[0]["OldestOverdue"].(float64)
	require.Len(t, metrics, 1)
	require.GreaterOrEqual(t, got, least-0.01)
	require.LessOrEqual(t, got, most+0.01)
	require.GreaterOrEqual(t, got, 10_000.0)
	require.LessOrEqual(t, got, 11_000.0)
	require.Contains(t, d.log.String(), "msg=swept")
	require.Equal(t, []any{2.0, 0.0, 2.0, "Shop/Engine"}, []any{
		metrics[0]["HandedBack"], metrics[0]["Failed"],
		metrics[0]["Scanned"], metrics[0]["Deployment"],
	})
	// The embedded format, as CloudWatch documents it: without one of these members there is no metric to
	// alarm on.
	format, _ := metrics[0]["_aws"].(map[string]any)
	written, _ := format["Timestamp"].(float64)
	require.LessOrEqual(t, math.Abs(written-float64(now.UnixMilli())), float64(60_000))
	const want = `[{"Dimensions":[["Deployment"]],"Metrics":[{"Name":"OldestOverdue","Unit":"Seconds"}],"Namespace":"Stepkeeper"}]`
	if got, _ := json.Marshal(format["CloudWatchMetrics"]); string(got) != want {
		t.Errorf("CloudWatch gets %s, want %s", got, want)
	}
	for id, want := range map[string]string{
		"oldest": "Pending 1", "older": "Pending 1",
		"not-yet": "Processing 0",
	} {
		require.Equal(t, want, d.pay(id), "%v", id)
	}
	until, err := strconv.ParseInt(fmt.Sprint(d.Item("orders", "#lease/sweep/0")["Until"]["N"]), 10, 64)
	left := time.UnixMilli(until).Sub(now)
	require.NoError(t, err)
	require.Greater(t, left, time.Duration(0))
	require.LessOrEqual(t, left, time.Minute)
	require.Equal(t, any(0.0), d.sweep(t.Context())[0]["OldestOverdue"])
	require.Empty(t, d.log.String(), "nothing is overdue any more")
}

// P32: the deployment states how many requests an agent takes at a time. More waiting requests are a backlog.
// A request without a queue was never sent.
func TestBacklogs(t *testing.T) {
	for name, c := range map[string]struct {
		capacity string
		waiting  int
		inFlight int
		deployed bool
		want     string
	}{
		"a backlog for a small agent": {`{"payment":3}`, 5, 1, true, "Pending 0"},
		"none for a larger one":       {`{"payment":50}`, 40, 1, true, "Pending 1"},
		"an agent that takes nothing": {`{"payment":50}`, 1, 0, true, "Pending 0"},
		"another agent's capacity":    {`{"shipping":50}`, 40, 1, true, "Pending 0"},
		"none where nothing is said":  {"", 5, 1, true, "Pending 1"},
		"SQS knows no such queue":     {`{"payment":3}`, -1, 1, true, "Pending 0"},
		"no such queue is deployed":   {`{"payment":3}`, 5, 1, false, "Pending 0"},
	} {
		t.Run(name, func(t *testing.T) {
			d := sweeping(t, 5)
			d.submit(time.Now().Add(-time.Hour), "o-1")
			d.Settings[deployment.VarCapacity] = c.capacity
			d.Holds("requests-payment", c.waiting, c.inFlight)
			if !c.deployed {
				d.Settings[deployment.VarQueues] = d.Queues(port.Intake, port.Replies, port.Control,
					port.Quarantine)
			}
			require.InDelta(t, 1, d.sweep(t.Context())[0]["HandedBack"], 0)
			require.Equal(t, c.want, d.pay("o-1"))
		})
	}
}

// Rule 17: each sweep begins at another shard, which follows from the clock and the interval.
func TestFirstShardOfASweep(t *testing.T) {
	const shards = 997
	for every, interval := range map[string]time.Duration{"": time.Minute, "7m": 7 * time.Minute} {
		d := sweeping(t, 1)
		var lock sync.Mutex
		var asked []string
		inner := d.Config.Handler
		d.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
				inner.ServeHTTP(w, r)
				return
			}
			var in struct {
				ExpressionAttributeValues awsstub.Item
			}
			_ = json.NewDecoder(r.Body).Decode(&in)
			lock.Lock()
			asked = append(asked, fmt.Sprint(in.ExpressionAttributeValues[":bucket"]["S"]))
			lock.Unlock()
			_, _ = io.WriteString(w,
				`{"Count":1,"Items":[{"OrderID":{"S":"gone"},"bucket":{"S":"due#0"},"dueAt":{"N":"1795262400000"}}]}`)
		})
		d.Settings[deployment.VarShards] = strconv.Itoa(shards)
		d.Settings[deployment.VarSweepPages] = "1"
		d.Settings[deployment.VarSweepEvery] = every
		turn := func() string { return fmt.Sprintf("due#%d", time.Now().UnixNano()/int64(interval)%shards) }
		before := turn()
		d.sweep(t.Context())
		if after := turn(); len(asked) != 1 || asked[0] != before && asked[0] != after {
			t.Errorf("every %q: the shards %q; it is the turn of %s", every, asked, before)
		}
	}
}

// An order that stops is reported by the function, and counted by a line of metrics of its workflow.
func TestOrdersInError(t *testing.T) {
	d := sweeping(t, 1)
	at := time.Now().Add(-3 * time.Hour)
	d.submit(at, "o-1", "o-2")
	d.sweep(t.Context()) // their failures are counted, and are the last ones
	metrics := d.sweep(t.Context())
	require.Len(t, metrics, 2)
	m := metrics[1]
	require.EqualValues(t, "Shop/Engine", m["Deployment"])
	require.EqualValues(t, "charge", m["Workflow"])
	require.InDelta(t, 2, m["OrdersInError"], 0)
	require.LessOrEqual(t, m["OldestInError"].(float64), float64(60))
	const want = `[{"Dimensions":[["Deployment","Workflow"]],"Metrics":[{"Name":"OldestInError","Unit":"Seconds"},{"Name":"OrdersInError","Unit":"Count"}],"Namespace":"Stepkeeper"}]`
	got, _ := json.Marshal(metrics[1]["_aws"].(map[string]any)["CloudWatchMetrics"])
	require.Equal(t, want, string(got))
	published := d.Published()
	require.Len(t, published, 1)
	require.Contains(t, published[0], "--stack Shop/Engine show o-")
}

// Orders that a sweep could not handle are a metric, although the invocation succeeds. No metric is a zero.
func TestMetricOfOrdersThatASweepLeaves(t *testing.T) {
	d := sweeping(t, 2)
	d.submit(time.Now().Add(-3*time.Hour), "o-1", "o-2")
	d.Fail("sqs:SendMessageBatch")
	metrics := d.sweep(t.Context())
	require.Len(t, metrics, 2)
	delete(metrics[1]["_aws"].(map[string]any), "Timestamp")
	require.Empty(t, gocmp.Diff(map[string]any{
		"Deployment": "Shop/Engine", "Function": "supervisor",
		"Returned": 2.0, "_aws": map[string]any{"CloudWatchMetrics": []any{map[string]any{
			"Namespace": "Stepkeeper", "Dimensions": []any{[]any{"Deployment", "Function"}},
			"Metrics": []any{map[string]any{"Name": "Returned", "Unit": "Count"}},
		}}},
	}, metrics[1]))
	d.Allow("sqs:SendMessageBatch")
	require.Len(t, d.sweep(t.Context()), 1)
}

// An order that a sweep stops is a metric of ended orders too, in the state Error, and has a span.
func TestSweepWritesOutcomes(t *testing.T) {
	spans := make(chan string, 1)
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans <- string(body)
	}))
	defer c.Close()
	d := sweeping(t, 1)
	d.Settings[deployment.VarTraces] = c.URL
	d.Settings[deployment.VarOutcomes] = "true"
	d.submit(time.Now().Add(-3*time.Hour), "o-1", "o-2")
	metrics := d.sweep(t.Context())
	require.InDelta(t, 2, metrics[len(metrics)-1]["OrdersEnded"], 0)
	require.EqualValues(t, "Error", metrics[len(metrics)-1]["State"])
	got := <-spans
	require.Contains(t, got, `"supervisor"`)
	require.Contains(t, got, `"o-2"`)
}

// A sweep whose alert SNS does not take ends in time. The alert stays due.
func TestSweepEndsThoughSNSHangs(t *testing.T) {
	d := sweeping(t, 1)
	d.submit(time.Now().Add(-3*time.Hour), "stops")
	defer d.Hang("sns:Publish")()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	require.Len(t, d.sweep(ctx), 2)
	require.NoError(t, ctx.Err(), "the function's time was over")
	stored := fmt.Sprint(d.Item("orders", incident.Key)["Output"]["S"])
	require.Contains(t, stored, `"orderId":"stops"`)
	require.NotContains(t, stored, `"told"`)
}

// The order of a scheduled time that has passed goes to the intake queue; while that cannot be reached, it
// waits for the next sweep. A function whose workflows cannot be read does not start.
func TestScheduledOrders(t *testing.T) {
	d := cloudtest.Kept(t, "workflow: nightly\nschedule: {cron: '* * * * *', catchUp: 1h}\nsteps:\n  pay: {agent: "+
		"payment, operation: charge, timeout: 1s, onFailure: stop, pointOfNoReturn: true, grade: fenced}\n")
	c, err := wire.Environment(d.Lookup)
	require.NoError(t, err)
	records := dynamo.New(dynamo.NewHandlerClient(c), dynamo.Tables{Orders: "orders"},
		dynamo.Options{}).Schedules()
	r, e, err := schedule.Load(t.Context(), records, "nightly")
	r.Workflow = "nightly"
	r.Cron = "* * * * *"
	r.Overlap = core.OverlapSkip
	r.Next = core.TimeOf(time.Now().Add(-30 * time.Minute).Truncate(time.Minute))
	require.NoError(t, errors.Join(err, r.Store(t.Context(), records, &e)))
	f, err := newFunction(d.Lookup, io.Discard, cloudtest.Quiet)
	require.NoError(t, err)
	id := schedule.OrderID("nightly", r.Next)
	d.Fail("sqs:SendMessageBatch")
	err = f(t.Context(), nil)
	require.ErrorContains(t, err, id+" is started at the next sweep")
	d.Allow("sqs:SendMessageBatch")
	require.NoError(t, f(t.Context(), nil))
	sent := d.Sent("intake")
	require.Len(t, sent, 1)
	require.Contains(t, sent[0], id)
	require.NoError(t, os.WriteFile(filepath.Join(d.Settings["LAMBDA_TASK_ROOT"], deployment.WorkflowsFolder, "bad.json"), []byte("{"), 0o600))
	_, err = newFunction(d.Lookup, io.Discard, cloudtest.Quiet)
	require.ErrorContains(t, err, "bad.json")
}
