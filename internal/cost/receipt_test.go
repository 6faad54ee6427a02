package cost

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// called is a step that an agent did at its first attempt.
func called() view.Step { return view.Step{State: core.Processed, Agent: "shop", Attempts: 1} }

// An order and its two children cost together what was measured of them, within 4 %.
func TestReceiptsOfChildren(t *testing.T) {
	r := measuredReport(t)
	parent := view.Task{Version: 7, Ended: true, Reported: true, ReplyTo: "shop", Statuses: 1, ItemBytes: 800,
		Steps: []view.Step{called(), called(), {State: core.Processed, Children: &view.Children{Count: 2}},
			called(), called()}}
	child := view.Task{Version: 3, Ended: true, Reported: true, Parent: &view.Parent{OrderID: "o"},
		ItemBytes: 600, Steps: []view.Step{called()}}
	// those of the children stand in their items
	total, content := 0.0, json.RawMessage(strings.Repeat(" ", 300)+`{}`)
	for _, task := range []view.Task{parent, child, child} {
		receipt, ok := r.Receipt(&task, content)
		content = json.RawMessage(`{}`)
		if !ok {
			t.Fatal("no receipt")
		}
		total += receipt.Least * million
	}
	if want := r.DollarsPerMillion[Children]; math.Abs(total-want) > 0.04*want {
		t.Errorf("$%.2f a million, measured $%.2f", total, want)
	}
}

// Whatever an order does more of is on its receipt, and the receipt says what it is.
func TestReceiptGrows(t *testing.T) {
	r := measuredReport(t)
	order := func(change func(*view.Task)) Receipt {
		task := view.Task{Version: 6, Ended: true, Reported: true, ReplyTo: "shop", Statuses: 1,
			ItemBytes: 700, Steps: []view.Step{called(), called(), called(), called()}}
		change(&task)
		receipt, _ := r.Receipt(&task, json.RawMessage(`{}`))
		return receipt
	}
	plain := order(func(*view.Task) {})
	for name, more := range map[string]func(*view.Task){
		"commits":           func(x *view.Task) { x.Version++ },
		"a larger document": func(x *view.Task) { x.ItemBytes = 1100 },
		"attempts":          func(x *view.Task) { x.Steps[0].Attempts++ },
		"a wait": func(x *view.Task) {
			x.Steps = append(x.Steps,
				view.Step{Kind: view.KindWait, Attempts: 1})
		},
		"commands": func(x *view.Task) {
			x.Verdicts = []core.Verdict{{Command: "resubmit",
				Accepted: true}}
		},
		"statuses": func(x *view.Task) { x.Statuses++ },
		"an end on the bus": func(x *view.Task) {
			x.Messages = []view.Message{{Kind: view.MessageStatus, Peer: core.Events}}
		},
		"failures": func(x *view.Task) {
			x.Attempts = []view.Attempt{{Outcome: core.OutcomeFailed}}
		},
	} {
		if got := order(more); got.Least <= plain.Least || got.Most <= plain.Most {
			t.Errorf("%s cost nothing: $%.9f to $%.9f, without $%.9f to $%.9f", name, got.Least, got.Most,
				plain.Least, plain.Most)
		}
	}
	if got := order(func(x *view.Task) {
		x.Attempts = []view.Attempt{{Outcome: core.OutcomeOverdue}}
	}); got.Most >= plain.Most {
		t.Error("a reply that never came is paid for")
	}
	for _, want := range []string{"an estimate", "list prices of us-east-1 (" + r.Prices.Checked + ")", "$7.",
		"$19."} {
		if !strings.Contains(plain.Text(), want) {
			t.Errorf("%q lacks %q", plain.Text(), want)
		}
	}
	if len(plain.Lines()) != 6 {
		t.Errorf("%+v", plain.Lines())
	}
}
