package simulate

import (
	"bytes"
	"os"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

var order = []byte(`{"items":[{"sku":"a","quantity":1,"unitPrice":5,"physical":true}],"payment":{"card":"x"},
	"currency":"EUR","shipTo":"here","customer":{"email":"a@b"}}`)

// A Cancel with the ID of a refused Resubmit is refused too while the task knows the ID: until eight other verdicts
// have come (P5, commands have a number and an ID). The Resubmit itself stays refused because of its number.
func TestIDOfAForgottenVerdict(t *testing.T) {
	text, err := os.ReadFile("../../examples/order/order.yaml")
	require.NoError(t, err)
	text = bytes.Replace(text, []byte("pointOfNoReturn: true"), []byte("undo: none"), 1)
	def, problems := source.Parse("order.yaml", text, source.Options{})
	if def == nil {
		t.Fatal(problems)
	}
	for others, want := range map[int]core.State{7: core.Processed, 8: core.Cancelled} {
		sc := Scenario{Definition: def, Order: order, Orders: 1, Alone: true}
		w := NewSimulation(sc, Plain{})
		SetUp(w)
		o := w.AllOrders[0]
		after := int64(2)
		send := func(ev core.Event) {
			after += 3
			w.After(after, func() { instruct(w, o, ev, true) })
		}
		send(core.Command{Name: core.Resubmit, ID: "x", Number: 0})
		for i := range others {
			send(core.Command{Name: core.Resubmit, ID: strconv.Itoa(i), Number: 0})
		}
		after += 10 // the task has decided the others by then
		send(core.Command{Name: core.Cancel, ID: "x"})
		Play(w)
		got := w.Store.Task(o.Id).ProcessState
		require.Nil(t, w.Violation, "%+v", others)
		require.Equal(t, want, got, "%+v", others)
	}
}
