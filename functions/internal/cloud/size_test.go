package cloud

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// measured notes what each commit would write.
type measured struct {
	port.Store
	t       *testing.T
	items   *dynamo.Store
	largest port.Record
	item    int // bytes, as DynamoDB counts
	commits int
	text    int // bytes of the document, as SQLite keeps it
}

func (m *measured) Commit(ctx context.Context, writes []port.Write) []error {
	for i := range writes {
		r := &writes[i].Record
		n, err := m.items.ItemSize(&writes[i])
		require.NoError(m.t, err)
		if n > m.item {
			m.item = n
			m.largest = *r
		}
		m.commits++
		m.text = max(m.text, len(r.Document))
	}
	return m.Store.Commit(ctx, writes)
}

// sixty is an output of 60 bytes.
func sixty(name string) json.RawMessage {
	id := name + strings.Repeat("0123456789", 6)
	return json.RawMessage(fmt.Sprintf(`{%q:%q}`, name, id[:60-len(name)-7]))
}

const (
	sampleID = "0198c3f2-5f0a-7c4e-9d1b-3a5e7f901234"
	instance = "1f9b27c0" // the end of a log stream's name
)

// With outputs of 60 bytes, the item of each commit of the example's orders stays within one write unit, and
// within two where an undo stops: orders that go well, and those in which something is tried again or undone.
func TestItemsStayWithinAWriteUnit(t *testing.T) {
	def, problems := source.LoadFile("../../../examples/order/order.yaml", source.Options{})
	require.NotNil(t, def, "%v", problems)
	outputs := map[string]string{
		"reserve-inventory": "reservationId", "charge-payment": "chargeId",
		"book-shipment": "shipmentId", "send-confirmation": "messageId",
	}
	answer := func(fails map[string]int, outcome func(*message.Request) *message.Reply) func(
		*message.Request) *message.Reply {
		left := map[string]int{}
		maps.Copy(left, fails)
		return func(r *message.Request) *message.Reply {
			if left[r.Step+"."+string(r.Operation)] > 0 {
				left[r.Step+"."+string(r.Operation)]--
				return outcome(r)
			}
			reply := actorstest.Done(r)
			reply.Output = sixty(outputs[r.Step])
			return reply
		}
	}
	refuse := func(r *message.Request) *message.Reply { return actorstest.Failed(r, "card-declined") }
	silent := func(*message.Request) *message.Reply { return nil }
	for name, script := range map[string]func(*message.Request) *message.Reply{
		"goes well": answer(nil, nil),
		"retries": answer(map[string]int{
			"reserve-inventory.do": 1,
			"send-confirmation.do": 1,
		}, actorstest.Later),
		"no answer": answer(map[string]int{"charge-payment.do": 1, "send-confirmation.do": 1},
			silent),
		"undone":       answer(map[string]int{"book-shipment.do": 1}, refuse),
		"undone first": answer(map[string]int{"charge-payment.do": 1}, refuse),
		"undo retries": answer(map[string]int{"book-shipment.do": 1, "reserve-inventory.undo": 2},
			actorstest.Later),
		"refused at the last step": answer(map[string]int{"send-confirmation.do": 1}, refuse),
		"undo that stops": answer(map[string]int{"book-shipment.do": 1, "charge-payment.undo": 99},
			refuse),
	} {
		t.Run(name, func(t *testing.T) {
			m := sample(t, def, script)
			t.Logf("%d commits; the largest item has %d bytes, the largest document %d", m.commits, m.item,
				m.text)
			most := 1024
			if name == "undo that stops" {
				most = 2048
			}
			require.LessOrEqual(t, m.item, most)
		})
	}
}

func sample(t *testing.T, def *core.Definition, script func(*message.Request) *message.Reply) *measured {
	hash := def.Hash
	w := actorstest.New(t, def)
	def.Hash = hash
	m := &measured{Store: w.Store, t: t, items: dynamo.New(nil, dynamo.Tables{}, dynamo.Options{})}
	st := state.New(state.Config{
		Store: m, Definitions: w.Defs, Compile: workflow.Decode, Encode: workflow.Encode,
		Current: func(string) *core.Definition { return def },
	})
	w.Config = func(c *scheduler.Config) {
		c.State = st
		c.Name = instance
	}
	w.Sweeping = func(c *supervisor.Config) { c.State = st }
	w.Script = script
	w.Boot()
	order := `{"currency":"EUR","customer":{"email":"a@example.com"},"items":[{"sku":"mug","quantity":2,"unitPrice":1250,"physical":true}],"payment":{"card":"tok"},"shipTo":{"city":"Hamburg"}}`
	w.Send(port.Intake, &message.SubmitOrder{
		Schema: 1, OrderID: sampleID, Workflow: "order",
		Order: json.RawMessage(order), ReplyTo: "shop",
	})
	for range 300 {
		w.Round()
		w.Clock.Advance(137 * time.Millisecond) // no times that are short by chance
		if task := w.Task(sampleID); task != nil && task.AtRest() {
			return m
		}
	}
	t.Fatal("no end")
	return nil
}
