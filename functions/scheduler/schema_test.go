package scheduler_test

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/actorstest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// formed returns a world whose workflow has a schema of its orders.
func formed(t *testing.T, schema string) *actorstest.World {
	t.Helper()
	def := actorstest.Definition()
	def.Order = json.RawMessage(schema)
	require.NoError(t, workflow.Seal(def))
	return actorstest.New(t, def)
}

// of returns an order with that content.
func of(id, content string) *message.SubmitOrder {
	o := actorstest.Order(id)
	o.Order = json.RawMessage(content)
	return o
}

// An order that does not match the schema of its workflow is refused before it is stored: at once, with a
// status to its reply-to, or in quarantine if it has none. No log line has its content.
func TestOrdersThatDoNotMatchTheSchema(t *testing.T) {
	const text = "the order does not match the schema of the workflow order: at /total it is a text, not a " +
		"number"
	w := formed(t, `{"properties":{"total":{"type":"number"}}}`)
	log := logged(t, w)
	r := w.Scheduler.Submit(ctx, []message.SubmitOrder{
		*of("o-1", `{"total":"secret"}`),
		*of("o-2", `{"total":1}`),
	})
	require.NotNil(t, r[0].Refusal, "refused with %+v", r[0])
	require.Equal(t, message.CodeInvalid, r[0].Refusal.Code)
	require.Equal(t, "order", r[0].Refusal.Field)
	require.Equal(t, text, r[0].Refusal.Text)
	require.Nil(t, r[1].Refusal)
	require.NoError(t, r[1].Err)
	require.NotNil(t, w.Task("o-2"), "the order beside it: %+v", r[1])
	w.Take("shop")
	quiet := of("o-4", `{"total":"secret"}`)
	quiet.ReplyTo = ""
	require.Empty(t, w.Scheduler.Handle(ctx, port.Intake, deliver(of("o-3", `{"total":"secret"}`), quiet)))
	all := statuses(t, w, "shop")
	require.Len(t, all, 1)
	require.Equal(t, core.StatusRefused, all[0].Kind)
	require.Equal(t, "o-3", all[0].OrderID)
	require.Equal(t, text, all[0].Message)
	kept := w.Take(port.Quarantine)
	require.Len(t, kept, 1)
	require.Equal(t, text, kept[0].Value.(*message.Quarantined).Reason)
	require.NotContains(t, fmt.Sprint(log.Lines()), "secret")
	for _, id := range []string{"o-1", "o-3", "o-4"} {
		require.Nil(t, w.Task(id), id)
	}
}

// An order keeps the schema that it began with: sent again after a deploy with another schema, it is known.
func TestARunningOrderKeepsItsSchema(t *testing.T) {
	w := formed(t, `{"required":["total"]}`).Boot()
	o := of("o-1", `{"total":1}`)
	require.Nil(t, w.Scheduler.Submit(ctx, []message.SubmitOrder{*o})[0].Refusal)
	later := formed(t, `{"required":["price"]}`)
	w.Def = later.Def
	w.Boot()
	r := w.Scheduler.Submit(ctx, []message.SubmitOrder{*o, *of("o-2", `{"total":1}`)})
	require.True(t, r[0].Known)
	require.Nil(t, r[0].Refusal)
	require.NotNil(t, r[1].Refusal)
}
