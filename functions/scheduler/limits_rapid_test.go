package scheduler_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
)

// read decodes a message from its bytes, as the actor that receives from the queue does.
func read(queue string, m port.Message) error {
	body, err := m.Bytes()
	if err != nil {
		return err
	}
	d := port.Delivery{Message: port.Message{Body: body}}
	switch queue {
	case port.Intake:
		_, err = message.SubmitOf(d)
	case port.Replies:
		_, err = message.Of[message.Reply](d)
	case port.Control, port.Tasks:
		_, err = message.Of[message.Control](d)
	case "shop", "desk":
		_, err = message.Of[message.Status](d)
	default:
		_, err = message.Of[message.Request](d)
	}
	return err
}

// family draws a workflow with up to MaxChildDepth levels of children, whose names are as long as they may
// be, and stores those of the children. With alone each has one child, which gets the order itself; else one
// for each item.
func family(rt *rapid.T, long, alone bool) (defs []*core.Definition) {
	name := func(one string) string {
		if long {
			return strings.Repeat(one, 40)
		}
		return one
	}
	agent := name("g")
	for level := range rapid.IntRange(1, core.MaxChildDepth).Draw(rt, "levels") + 1 {
		def := actorstest.Definition()
		def.Steps = def.Steps[:1]
		def.Steps[0].Name = name("a")
		def.Steps[0].Agent = agent
		def.Steps[0].Retry.MaxFailures = 1
		def.Output = fmt.Appendf(nil, `["${ steps.%s.output }"]`, name("a"))
		if alone || level > 0 {
			def.Steps[0].Input = nil
		}
		def.Agents = map[string]core.AgentDefinition{agent: {
			QueueAllowance: 20 * core.Second,
			ClockSkew:      core.Second,
		}}
		if level > 0 {
			below := defs[level-1]
			each := core.StepDefinition{
				Name: name("c"), OnFailure: core.OnFailureUndo,
				Each: &core.Each{Workflow: below.Name, Definition: below.Hash, Concurrency: 20},
			}
			if !alone {
				each.Input = json.RawMessage(`"${ order.items }"`)
				each.Each.Order = json.RawMessage(`"${ item }"`)
				each.Each.Collect = true
			}
			def.Steps = []core.StepDefinition{each, def.Steps[0]}
			def.Output = nil
			def.Steps[1].After = []string{each.Name}
		}
		data, err := json.Marshal(def)
		require.NoError(rt, err)
		def.Hash = core.DefinitionHash(data)
		defs = append(defs, def)
	}
	return defs
}

// TestEveryMessageCanBeRead: no message that an actor sends is refused by its reader, whatever the lengths of
// IDs and names, the levels of children, and the depth of what orders and services hold. Orders go to their
// ends, forward or undone.
func TestEveryMessageCanBeRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		alone := rapid.Bool().Draw(rt, "alone")
		defs := family(rt, rapid.Bool().Draw(rt, "long names"), alone)
		w := actorstest.New(t, defs[len(defs)-1])
		for _, def := range defs {
			data, err := json.Marshal(def)
			if err == nil {
				err = w.Defs.PutDefinition(ctx, def.Hash, data)
			}
			require.NoError(rt, err)
		}
		w.Fail = func(queue string, m port.Message) error {
			if err := read(queue, m); err != nil && queue != port.Quarantine {
				body, _ := m.Bytes()
				rt.Errorf("%s cannot read %.200s: %v", queue, body, err)
			}
			return nil
		}
		refused := rapid.SampledFrom([]string{"", "the top", "a child"}).Draw(rt, "refused")
		length := rapid.SampledFrom([]int{1, 60, 94, 121, core.MaxID}).Draw(rt, "length")
		id := rapid.StringMatching(fmt.Sprintf(`[A-Za-z0-9][A-Za-z0-9._:-]{%d}`, length-1)).Draw(rt, "id")
		output := nested(rawjson.MaxLevels - 1) // the workflow's output has one more
		w.Script = func(r *message.Request) *message.Reply {
			ofChild := strings.Contains(r.OrderID, core.ChildMark)
			if r.Operation == core.Do && (refused == "a child" && ofChild || refused == "the top" &&
				!ofChild) {
				return actorstest.Failed(r, strings.Repeat("x", 128))
			}
			reply := actorstest.Done(r)
			reply.Output = output
			return reply
		}
		w.Boot()
		o := actorstest.Order(id)
		levels := len(defs) - 1
		o.Order = orderOf(rapid.IntRange(1, 11).Draw(rt, "items"), levels,
			rawjson.MaxLevels-1-2*levels)
		if alone {
			o.Order = orderOf(1, 0, rawjson.MaxLevels-1)
		}
		w.Send(port.Intake, o)
		for range 60 {
			if w.Round(); w.Task(id) != nil && w.Task(id).AtRest() {
				break
			}
		}
		if task := w.Task(id); task == nil || !task.AtRest() ||
			(task.ProcessState == core.Processed) != (refused == "") {
			rt.Errorf("the order did not end: %+v", task)
		}
		if q := w.Take(port.Quarantine); len(q) > 0 {
			rt.Errorf("in quarantine: %s", q[0].Value.(*message.Quarantined).Reason)
		}
	})
}

// nested returns lists in lists.
func nested(levels int) json.RawMessage {
	return json.RawMessage(strings.Repeat("[", levels) + strings.Repeat("]", levels))
}

// orderOf has a list of items, each of them an order for a child with the same, and at the bottom lists in
// lists.
func orderOf(items, levels, depth int) json.RawMessage {
	if levels == 0 {
		return fmt.Appendf(nil, `{"deep":%s}`, nested(depth))
	}
	item := string(orderOf(1, levels-1, depth))
	return fmt.Appendf(nil, `{"items":[%s]}`, strings.Join(slices.Repeat([]string{item}, items), ","))
}

// TestEveryScheduledOrderCanBeRead: a schedule's order has an ID of its own making.
func TestEveryScheduledOrderCanBeRead(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.StringMatching(`[a-z][a-z0-9-]{0,63}`).Draw(rt, "workflow")
		at := core.Time(rapid.Int64Range(1, 253402300799999).Draw(rt, "at"))
		order, err := schedule.Order(&core.Schedule{}, at)
		require.NoError(rt, err)
		o := &message.SubmitOrder{
			Schema: message.Schema, OrderID: schedule.OrderID(name, at), Workflow: name,
			Order: order,
		}
		if err := read(port.Intake, port.Message{Value: o}); err != nil {
			rt.Error(err)
		}
	})
}
