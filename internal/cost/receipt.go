package cost

import (
	"encoding/json"
	"fmt"
	"math"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Receipt is an estimate of the cost of one order on AWS so far. The estimate uses the order's document, the
// measured batch sizes, and the prices.
type Receipt struct {
	Region  string  `json:"region"`
	Checked string  `json:"checked"`
	Least   float64 `json:"dollars_least"` // cost if every batch is full
	Most    float64 `json:"dollars_most"`  // cost if every message is the only one in its batch
	// Arithmetic is the calculation for a million identical orders. Only the field Units of its entries is
	// for one order.
	Arithmetic map[string][]Entry `json:"arithmetic"`
	PerOrder   map[string]Totals  `json:"per_order"`
}

// Text returns the receipt as one sentence.
func (r Receipt) Text() string {
	return fmt.Sprintf(
		"about $%.7f to $%.7f so far, which is $%.2f to $%.2f for a million orders like it: an estimate "+
			"from its document and the list prices of %s (%s), with full batches and with each message "+
			"alone; the agents' own compute, storage and what idles are not in it",
		r.Least, r.Most, r.Least*million, r.Most*million, r.Region, r.Checked)
}

// ReceiptLine is one line of the arithmetic as text, with the lowest and with the highest cost.
type ReceiptLine struct{ What, Least, Most string }

// Lines returns the lines whose highest cost is above zero.
func (r Receipt) Lines() (lines []ReceiptLine) {
	for i, least := range r.Arithmetic[Load] {
		if most := r.Arithmetic[Trickle][i]; most.Dollars > 0 {
			text := func(e Entry) string { return fmt.Sprintf("$%.2f: %s", e.Dollars, e.How) }
			lines = append(lines, ReceiptLine{least.What, text(least), text(most)})
		}
	}
	return lines
}

func apartBytes(t *view.Task, content json.RawMessage) float64 {
	const overhead = 200 // upper bound of the item's other attributes, in bytes
	def := &core.Definition{Steps: make([]core.StepDefinition, len(t.Steps))}
	for i := range t.Steps {
		def.Steps[i].Name = t.Steps[i].Name
	}
	if len(content) <= core.InlineOrder(def) {
		return 0
	}
	return float64(len(content) + overhead)
}

// ReceiptOf returns the receipt of an order with the last measurement and the published prices.
func ReceiptOf(t *view.Task, content json.RawMessage) (Receipt, bool) {
	return Report{Units: Measured(), Prices: Published()}.Receipt(t, content)
}

// Receipt estimates the cost of an order with the given content. It returns false if the size of the order's
// item is unknown, for example if the order does not run on AWS. The receipt of a parent does not include its
// child orders.
func (r Report) Receipt(t *view.Task, content json.RawMessage) (receipt Receipt, ok bool) {
	if t.ItemBytes == 0 {
		return Receipt{}, false
	}
	receipt = Receipt{Region: r.Prices.Region, Checked: r.Prices.Checked, Arithmetic: map[string][]Entry{},
		PerOrder: map[string]Totals{}}
	for name, dollars := range map[string]*float64{Load: &receipt.Least, Trickle: &receipt.Most} {
		totals := consumed(t, apartBytes(t, content), r.Units.Shapes[name])
		receipt.PerOrder[name], receipt.Arithmetic[name] = totals, entries(totals, r.Prices)
		*dollars = sum(receipt.Arithmetic[name]) / million
	}
	return receipt, true
}

type traffic struct {
	requests, replies, wakes, commands, children, statuses, events float64
}

func trafficOf(t *view.Task) (m traffic) {
	for i := range t.Steps {
		s := &t.Steps[i]
		attempts := float64(s.Attempts)
		switch {
		case s.Children != nil:
			m.children += float64(s.Children.Count)
			if s.Undo != nil && s.Undo.Running {
				m.children += float64(s.Children.Count)
			}
		case s.Answers != nil:
			m.commands += float64(len(s.Answers.Votes))
		case s.Agent == "":
			m.wakes += attempts
		default:
			m.requests += attempts
		}
		if s.Progress != nil {
			m.replies++
		}
	}
	overdue := 0.0
	for _, a := range t.Attempts {
		switch a.Outcome {
		case core.OutcomeOverdue, core.OutcomeSuperseded:
			overdue++
		case core.OutcomeFailed, core.OutcomeRetryLater: // a Wake starts the next attempt
			m.wakes++
		}
	}
	if e := t.Earlier; e != nil {
		overdue += float64(e.Overdue + e.Superseded)
		m.wakes += float64(e.Failed + e.RetryLater)
	}
	for i := range t.Steps {
		if t.Steps[i].InFlight() {
			overdue++ // the attempt has no reply yet
		}
	}
	m.replies += max(0, m.requests-overdue)
	m.commands += float64(len(t.Verdicts))
	numbered := float64(t.Statuses + 1) // t.Statuses does not count the status "received"
	switch t.ReplyTo {
	case "":
	case core.Events:
		m.events = numbered
		return m
	default:
		m.statuses = numbered
	}
	for _, sent := range t.Messages {
		if sent.Kind == view.MessageStatus && sent.Peer == core.Events {
			m.events++
		}
	}
	return m
}

// consumed returns the order's billed consumption. It assumes that the document grew evenly from its size
// without outputs to its present size. It ignores changes of the due time, repeated sends and lookups of
// incidents.
func consumed(t *view.Task, apart float64, shape Shape) Totals {
	m, batch, agents := trafficOf(t), float64(shape.SchedulerBatch), float64(shape.AgentBatch)
	commits := float64(t.Version - 1)
	ended := 0.0
	settled := 0.0
	submitted := 1.0
	toParent := 0.0
	reports := m.statuses+m.events > 0
	if t.Ended && (t.Reported || !reports) {
		ended = 1 // the write that removes the index entry
	}
	if t.Reported && (reports || t.Parent != nil || t.State == core.Error) {
		settled = 1
	}
	if t.Parent != nil {
		submitted, toParent = 0, 1
	}
	first := float64(t.ItemBytes)
	for i := range t.Steps {
		first -= float64(len(t.Steps[i].Output))
	}
	written, read := 0.0, 0.0
	for i := 0.0; i <= commits; i++ {
		size := first + (float64(t.ItemBytes)-first)*i/max(1, commits)
		written += math.Ceil(size / 1024)
		if i > 0 && i <= commits-settled {
			read += math.Ceil(size / 4096)
		}
	}
	toScheduler := 1 + m.replies + m.wakes + m.commands + m.children
	got := Totals{
		WRU: math.Ceil(apart/1024) + written + 1 + ended,
		RRU: read + max(0, m.requests-1)*math.Ceil(apart/4096)/2, StrongReads: read,
		SQSRequests: (2*toScheduler+m.requests+m.wakes+m.children+m.statuses+toParent)/batch +
			(2*m.requests+m.replies)/agents,
		AppRequests: (2*m.statuses + m.commands + submitted) / batch,
		Events:      m.events,
		Invocations: toScheduler / batch, AgentInvoked: m.requests / agents, ItemBytes: t.ItemBytes,
	}
	got.SchedulerGBms = got.Invocations * math.Max(1,
		math.Ceil(shape.Milliseconds["scheduler"])) * schedulerGB
	return got
}
