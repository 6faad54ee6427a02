package cost_test

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// tables are the tables of the measurement.
type tables struct {
	dynamotest.Names
	plain, client *dynamodb.Client // without and with the meter
	meter         *meter
	orders        int // number of orders so far
}

func newTables(t *testing.T) *tables {
	t.Helper()
	c := dynamotest.Config(t, awsclient.Options{}) // skips the test if there is no DynamoDB
	d := &tables{plain: dynamo.NewClient(c), meter: &meter{}}
	d.Names = dynamotest.Tables(t, d.plain)
	d.meter.into(&c)
	d.client = dynamo.NewClient(c)
	return d
}

// running is one order on its way.
type running struct {
	*actorstest.World
	row
	consumed
	id     string
	swept  int // number of sweeps
	agents map[string]*worker.Worker
}

// measure runs one order to its end. The queries of sweeps do not count.
func (d *tables) measure(t *testing.T, r row) consumed {
	t.Helper()
	x := d.prepare(t, r)
	d.meter.take()
	x.run(t, dynamo.New(d.plain, d.Tables, dynamo.Options{}))
	x.bytes = float64(d.meter.largest)
	x.writes, x.reads = d.meter.take()
	if swept := float64(x.swept); swept > 0 {
		x.proceed(t) // a sweep that finds nothing
		_, queries := d.meter.take()
		x.reads -= queries * swept
	}
	return x.consumed
}

// prepare starts the actors for an order.
func (d *tables) prepare(t *testing.T, r row) *running {
	t.Helper()
	d.orders++
	def := definition(t, r)
	x := &running{
		World: actorstest.New(t, def), row: r, agents: map[string]*worker.Worker{},
		id: fmt.Sprintf("0198c3f2-5f0a-7c4e-9d1b-%012d", d.orders),
	}
	r.options.Clock = x.Clock
	st := state.New(state.Config{
		Store: dynamo.New(d.client, d.Tables, r.options), Definitions: x.Defs,
		Compile: workflow.Decode, Encode: workflow.Encode,
		Current: func(name string) *core.Definition {
			if name != def.Name {
				return nil
			}
			return def
		},
	})
	x.Config = func(c *scheduler.Config) {
		c.State = st
		c.Name = "1f9b27c0"
	} // a name as on Lambda
	x.Sweeping = func(c *supervisor.Config) { c.State = st }
	x.Boot()
	replies, err := x.Queues.Queue(port.Replies)
	require.NoError(t, err)
	quarantine, err := x.Queues.Queue(port.Quarantine)
	require.NoError(t, err)
	for name := range def.Agents {
		x.agents[name], err = worker.New(worker.Config{
			Agent: name, Clock: x.Clock, Replies: replies,
			Quarantine: quarantine, Ledger: dynamo.NewLedger(d.client, d.Ledger), Retry: worker.Retry{Tries: 1},
			Operations: worker.Operations{worker.AnyOperation: {Run: r.operate}},
		})
		require.NoError(t, err)
	}
	return x
}

// operate is what every service does.
func (r row) operate(ctx context.Context, c worker.Call) (any, error) {
	switch {
	case c.Name == "flaky" && c.Attempt == 1:
		return nil, errors.New("not now")
	case c.Name == "refuse" && c.Operation == core.Do:
		return nil, worker.Permanent(errors.New("refused"))
	case c.Name == "report":
		if err := worker.Progress(ctx, 50, "half"); err != nil {
			return nil, err
		}
	}
	return json.RawMessage(cmp.Or(r.output, `{"ok":true}`)), nil
}

func definition(t *testing.T, r row) *core.Definition {
	t.Helper()
	file := r.file
	if file == "" {
		file = filepath.Join(t.TempDir(), "measured.yaml")
		text := "workflow: measured\n" + r.head + "steps:\n" + first + r.steps
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.WriteFile(filepath.Join(filepath.Dir(file), "part.yaml"),
			[]byte("workflow: part\nsteps:\n"+first), 0o600))
	}
	def, problems := source.LoadFile(file, source.Options{})
	require.NoError(t, problems.Err())
	return def
}

// run lets the actors work until the order is at rest.
func (x *running) run(t *testing.T, stored *dynamo.Store) {
	t.Helper()
	order := &message.SubmitOrder{
		Schema: 1, OrderID: x.id, Workflow: x.Def.Name,
		Order: json.RawMessage(cmp.Or(x.order, "{}")),
	}
	if !x.silent {
		order.ReplyTo = "shop"
	}
	x.Send(port.Intake, order)
	for range 100 {
		for worked := 1; worked > 0; {
			worked = x.work(t)
		}
		records, errs := stored.Load(t.Context(), []string{x.id})
		require.NoError(t, errs[0])
		require.NotNil(t, records[0], "no order was stored")
		task, err := state.DecodeTask(records[0].Document)
		require.NoError(t, err)
		if task.AtRest() {
			require.Equal(t, cmp.Or(x.ends, core.Processed), task.ProcessState, x.name)
			return
		}
		x.proceed(t)
	}
	require.FailNow(t, "the order does not end", x.name)
}

// proceed answers the question of the order, or lets time pass.
func (x *running) proceed(t *testing.T) {
	t.Helper()
	x.Clock.Advance(cmp.Or(x.pause, 10*time.Second))
	if x.answer {
		yes := fmt.Appendf(nil, `{"schema":1,"kind":"answer","task":%q,"id":"a-1","step":"b","round":1,`+
			`"by":"ann","value":"yes"}`, x.id)
		errs := x.Control().Send(actorstest.Context, []port.Message{{Body: yes}})
		require.NoError(t, errs[0])
		x.answer = false
	}
	if x.sweeps {
		x.swept++
		_, err := x.Supervisor.Sweep(actorstest.Context)
		require.NoError(t, err)
	}
}

// work lets each actor handle its visible messages once, and returns their number.
func (x *running) work(t *testing.T) int {
	t.Helper()
	before := x.consumed
	x.others += float64(x.Handle(port.Intake) + x.Handle(port.Control) + x.Handle(port.Tasks))
	x.replies += float64(x.Handle(port.Replies))
	for _, name := range slices.Sorted(maps.Keys(x.agents)) {
		requests := x.Take(port.Requests(name))
		require.Empty(t, x.agents[name].Batch(actorstest.Context, requests), "an agent returns a request to its queue")
		x.requests += float64(len(requests))
	}
	x.statuses += float64(len(x.Take("shop")))
	x.events += float64(len(x.Take(core.Events)))
	x.Clock.Advance(137 * time.Millisecond) // so that times in the item have as many digits as in practice
	return int(x.consumed.less(before).messages() + x.events - before.events)
}

// sweep returns the consumption of a sweep of the Supervisor that finds nothing.
func (d *tables) sweep(t *testing.T) (writes, reads float64) {
	t.Helper()
	now := actorstest.Start
	s := newSweeper(t, dynamo.New(d.client, d.Tables, dynamo.Options{}), &now)
	for range 2 { // the first sweep creates the leases
		d.meter.take()
		_, err := s.Sweep(t.Context())
		require.NoError(t, err)
		now = now.Add(time.Minute)
	}
	return d.meter.take()
}
