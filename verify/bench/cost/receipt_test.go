package cost_test

import (
	"encoding/json"
	"math"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/cost"
	"github.com/stepkeeper/stepkeeper/internal/world"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

const receiptID = "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234"

// receiptOf lets one order of a measured shape run to its end, and makes its receipt from its document alone.
func receiptOf(t *testing.T, r cost.Report, o options) cost.Receipt {
	def, err := o.definition()
	if err != nil {
		t.Fatal(err)
	}
	hash := def.Hash
	w := world.New(t, def)
	def.Hash = hash
	st := state.New(state.Config{Store: w.Store, Definitions: w.Defs, Compile: workflow.Decode,
		Encode:  workflow.Encode,
		Current: func(string) *core.Definition { return def }})
	w.Config = func(c *scheduler.Config) { c.State, c.Name = st, instance }
	w.Sweeping = func(c *supervisor.Config) { c.State = st }
	w.Script = func(r *message.Request) *message.Reply {
		reply := world.Done(r)
		reply.Output = json.RawMessage(`{"ok":true}`)
		return reply
	}
	w.Boot()
	submitted := &message.SubmitOrder{Schema: 1, OrderID: receiptID, Workflow: "saga",
		Order: json.RawMessage(body)}
	if o.reported {
		submitted.ReplyTo = "shop"
	}
	w.Send(port.Intake, submitted)
	for i := range 100 {
		for _, queue := range []string{port.Intake, port.Replies, port.Control, port.Tasks} {
			w.Handle(queue)
		}
		w.Agents()
		w.Listen()
		w.Clock.Advance(time.Second)
		if i == 10 && o.wait > 0 {
			w.Clock.Advance(o.wait.Std())
		}
		if i == 10 && o.answer {
			if errs := w.Control().Send(t.Context(),
				[]port.Message{{Body: []byte(`{"schema":1,"kind":"answer","task":"` + receiptID +
					`","id":"a-1","step":"agree","round":1,"by":"ann","value":"yes"}`)}}); errs[0] != nil {
				t.Fatal(errs[0])
			}
		}
	}
	task := w.Task(receiptID)
	if task == nil || task.ProcessState != core.Processed || !task.AtRest() {
		t.Fatalf("no good end: %+v", task)
	}
	document, err := state.EncodeTask(task)
	if err != nil {
		t.Fatal(err)
	}
	shown := view.Of(task, def)
	if _, priced := r.Receipt(&shown, nil); priced {
		t.Error("there is a receipt of an order that no stack has")
	}
	if shown.ItemBytes, err = dynamo.New(nil, dynamo.Tables{},
		dynamo.Options{}).ItemSize(&port.Record{ID: task.OrderID, Version: task.Version,
		State: string(task.ProcessState), Workflow: task.Workflow, Created: task.Created.Std(),
		Document: document}); err != nil {
		t.Fatal(err)
	}
	receipt, _ := r.Receipt(&shown, json.RawMessage(body))
	return receipt
}

// The receipt of an order, made of its document alone, is what `make cost` measured of orders like it: to the
// unit where nothing is estimated, and within 25 % in dollars where the document grew over 1 KiB on the way.
func TestTheReceiptMeetsTheMeasurements(t *testing.T) {
	units := cost.Measured()
	prices := cost.Published()
	r := cost.Calculate(units, prices, cost.ServiceTime)
	for name, c := range map[string]struct {
		trickle string // the same order, each message alone; "": not measured
		bound   float64
	}{
		cost.Load: {cost.Trickle, 0.001}, cost.EightLoad: {cost.EightTrickle, 0.25}, cost.NoReplyTo: {"",
			0.001}, cost.Sequence: {"", 0.001}, cost.Wait: {"", 0.001}, cost.Answer: {"", 0.25},
	} {
		got := receiptOf(t, r, shapes[name])
		for kind, measured := range map[string]string{cost.Load: name, cost.Trickle: c.trickle} {
			if measured == "" {
				continue
			}
			want, totals := r.PerOrder[measured], got.PerOrder[kind]
			dollars := map[string]float64{cost.Load: got.Least, cost.Trickle: got.Most}[kind] * 1e6
			// differs from one measurement to the next
			lambda := math.Abs(
				totals.SchedulerGBms-want.SchedulerGBms) / 1000 * prices.Prices[cost.LambdaTime].Of(1e6)
			if off := math.Abs(
				dollars-r.DollarsPerMillion[measured]) - lambda; off > c.bound*r.DollarsPerMillion[measured] {
				t.Errorf("%s: $%.3f a million, measured $%.3f\n got %+v\nwant %+v", measured, dollars,
					r.DollarsPerMillion[measured], totals, want)
			}
		}
	}
}
