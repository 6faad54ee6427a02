package cost

import (
	"context"
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/internal/world"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const (
	sampleID = "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234"
	// sample is the order of docs/reference/document.md.
	sample = `{"currency":"EUR","customer":{"email":"a@example.com"},` +
		`"items":[{"sku":"mug","quantity":2,"unitPrice":1250,"physical":true}],"payment":{"card":"tok"},"shipTo":{"city":"Hamburg"}}`
)

// items keeps the sizes of the items that are written, and counts the units that DynamoDB bills.
type items struct {
	*memory.Store
	t        *testing.T
	sizes    []float64
	wru, rru float64
}

func (s *items) Commit(ctx context.Context, writes []port.Write) []error {
	for i := range writes {
		size, err := dynamo.New(nil, dynamo.Tables{}, dynamo.Options{}).ItemSize(&writes[i].Record)
		if err != nil {
			s.t.Fatal(err)
		}
		s.sizes = append(s.sizes, float64(size))
		s.wru += math.Ceil(float64(size)/1024) + math.Ceil(float64(len(writes[i].Content))/1024)
	}
	return s.Store.Commit(ctx, writes)
}

func (s *items) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	s.rru += float64(len(ids))
	return s.Store.Load(ctx, ids)
}

func (s *items) Content(ctx context.Context, id, hash string) ([]byte, error) {
	s.rru += 0.5
	return s.Store.Content(ctx, id, hash)
}

// sampled runs an order of order.yaml to its end. Each output has so many bytes; 0 means no outputs. finished
// reports that the order's reply-to gets the statuses step-finished.
func sampled(t *testing.T, order string, output int, finished bool) *items {
	t.Helper()
	def, problems := source.LoadFile("../../workflows/order.yaml", source.Options{})
	if err := problems.Err(); err != nil {
		t.Fatal(err)
	}
	if !finished {
		def.Notify = slices.DeleteFunc(def.Notify,
			func(k core.StatusKind) bool { return k == core.StatusStepFinished })
	}
	w := world.New(t, def)
	s := &items{Store: w.Store, t: t}
	st := state.New(state.Config{Store: s, Definitions: w.Defs, Compile: workflow.Decode,
		Encode:  workflow.Encode,
		Current: func(string) *core.Definition { return def }})
	w.Config = func(c *scheduler.Config) { c.State, c.Name = st, "1f9b27c0" }
	w.Script = func(r *message.Request) *message.Reply {
		reply := world.Done(r)
		name := map[string]string{"reserve-inventory": "reservationId", "charge-payment": "chargeId",
			"book-shipment": "shipmentId", "send-confirmation": "messageId"}[r.Step]
		reply.Output = nil
		if output > 0 {
			reply.Output = json.RawMessage(`{"` + name + `":"` + strings.Repeat("x", output-len(name)-7) +
				`"}`)
		}
		return reply
	}
	w.Boot()
	w.Send(port.Intake, &message.SubmitOrder{Schema: 1, OrderID: sampleID, Workflow: "order",
		Order: json.RawMessage(order), ReplyTo: "shop"})
	for range 20 {
		for _, queue := range []string{port.Intake, port.Replies, port.Control, port.Tasks} {
			w.Handle(queue)
		}
		w.Agents()
	}
	if task := w.Task(sampleID); task == nil || task.ProcessState != core.Processed || !task.AtRest() {
		t.Fatalf("no good end: %+v", task)
	}
	s.wru += 2 // the index entry: put at the creation, taken out at the end
	return s
}

// TestDocumentShowsTheSampleOrder: docs/explanation/cost.md shows the sizes of the items of the sample order,
// what they cost, and what each unit above those of the first KiB is for.
func TestDocumentShowsTheSampleOrder(t *testing.T) {
	page, prices := read(t, "cost.md"), published(t).Prices
	dollars := func(s *items) float64 {
		return prices[DynamoWrite].Of(s.wru*million) + prices[DynamoRead].Of(s.rru*million)
	}
	for row, s := range map[string]*items{
		"as shipped":                           sampled(t, sample, 60, true),
		"without the outputs":                  sampled(t, sample, 0, true),
		"without the statuses `step-finished`": sampled(t, sample, 60, false),
		"without both":                         sampled(t, sample, 0, false),
	} {
		page.row(row, append(s.sizes, s.wru, s.rru, dollars(s))...)
	}
	all, plain := slices.Max(sampled(t, sample, 60, true).sizes),
		slices.Max(sampled(t, sample, 0, true).sizes)
	quiet := slices.Max(sampled(t, sample, 60, false).sizes)
	page.sentence("The sample order of", float64(len(sample)))
	page.sentence("The outputs take", all-plain)
	page.sentence("the statuses take", all-quiet)
	page.sentence("Its largest item has", all)
	long := sampled(t, sample[:len(sample)-1]+`,"note":"`+strings.Repeat("x", 200)+`"}`, 60, true)
	page.sentence("A sample order that is too long for its item takes", long.wru, long.rru, dollars(long))
}
