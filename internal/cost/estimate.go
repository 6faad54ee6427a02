package cost

import (
	"fmt"
	"math"
)

// Workload describes the user's orders for an Estimate.
type Workload struct {
	Name   string `json:"workflow,omitempty"`
	Steps  int    `json:"steps"`  // number of steps that call an agent, one after another; 1 to MaxSteps
	Waits  int    `json:"waits"`  // number of steps that wait up to 15 minutes; 0 to MaxSteps
	Agents int    `json:"agents"` // number of deployed agents; 1 or more
	Events int    `json:"events"` // number of events that an order sends to a bus; 0 or 1
	Orders int    `json:"orders_per_month"`
}

// MaxSteps is the largest number of steps in an estimate. It is bounded, because the measurements cover only
// orders of four and eight steps.
const MaxSteps = 100

// Estimate is the cost of a Workload, per million orders and per month.
type Estimate struct {
	Workload
	// size of an order's largest item, computed from the sizes measured at four and eight steps
	ItemBytes         int                `json:"largest_item_bytes"`
	PerOrder          map[string]Totals  `json:"per_order"`
	PerMillion        map[string][]Entry `json:"arithmetic"`
	DollarsPerMillion map[string]float64 `json:"dollars_per_million"`
	// cost of the agents' functions; the totals do not include this cost
	AgentFunctions  map[string][]Entry `json:"agent_functions"`
	IdlePerMonth    float64            `json:"idle_per_month"`
	DollarsPerMonth map[string]float64 `json:"dollars_per_month"` // cost of orders and idle deployment
	Peers           []PeerEstimate     `json:"peers"`
}

// PeerEstimate is the cost of the same orders on another vendor's service. The estimate does not include the
// further costs in Peer.Beside.
type PeerEstimate struct {
	Name            string  `json:"name"`
	PerMillion      float64 `json:"dollars_per_million"`
	PerMillionUpper float64 `json:"upper,omitempty"`
	PerMonth        float64 `json:"dollars_per_month"`
	PerMonthUpper   float64 `json:"upper_per_month,omitempty"`
}

// Estimate extrapolates the measurements of four and eight steps to a workload. Except for writes and reads,
// consumption grows linearly with the number of steps. The number of write units is an upper bound, because
// each commit counts with the largest size of the item. Estimate returns an error if the workload is invalid
// or a measurement is missing.
func (r Report) Estimate(w Workload) (*Estimate, error) {
	switch {
	case w.Steps < 1 || w.Steps > MaxSteps:
		return nil, fmt.Errorf("%d steps: give 1 to %d", w.Steps, MaxSteps)
	case w.Waits < 0 || w.Waits > MaxSteps:
		return nil, fmt.Errorf("%d waits: give 0 to %d", w.Waits, MaxSteps)
	case w.Agents < 1:
		return nil, fmt.Errorf("%d agents: give 1 or more", w.Agents)
	case w.Orders < 0:
		return nil, fmt.Errorf("%d orders a month: give none or more", w.Orders)
	}
	e := &Estimate{Workload: w, PerOrder: map[string]Totals{}, PerMillion: map[string][]Entry{},
		DollarsPerMillion: map[string]float64{},
		AgentFunctions:    map[string][]Entry{}, DollarsPerMonth: map[string]float64{}}
	e.IdlePerMonth = sum(idle(r.Units.Shapes[Sweep], r.Prices, w.Agents, production))
	for name, eight := range map[string]string{Load: EightLoad, Trickle: EightTrickle} {
		four, there := r.PerOrder[name]
		further, both := r.PerOrder[eight]
		if !there || !both {
			return nil, fmt.Errorf("the measured units lack %q or %q; measure again with `make cost`", name,
				eight)
		}
		t := four.carried(further, float64(w.Steps), w.Steps+w.Waits > inlineSteps).waiting(r, name,
			float64(w.Waits))
		t.Events = float64(w.Events)
		e.ItemBytes = max(e.ItemBytes, t.ItemBytes)
		e.PerOrder[name], e.PerMillion[name] = t, entries(t, r.Prices)
		e.DollarsPerMillion[name], e.AgentFunctions[name] = sum(e.PerMillion[name]), r.agentFunctions(t)
		e.DollarsPerMonth[name] = e.IdlePerMonth + e.DollarsPerMillion[name]*float64(w.Orders)/million
	}
	for _, p := range r.Prices.Peers {
		low, high := p.of(w.Steps)
		e.Peers = append(e.Peers, PeerEstimate{Name: p.Name, PerMillion: low, PerMillionUpper: high,
			PerMonth: low * float64(w.Orders) / million, PerMonthUpper: high * float64(w.Orders) / million})
	}
	return e, nil
}

const (
	// inlineSteps is the largest number of steps and waits with which the task's item still contains the
	// measured order. A task with more steps stores the order in an item of its own, see core.InlineOrder.
	inlineSteps = 4
	// inlineBytes is the difference in bytes between an item with the measured order and an item with only
	// the order's hash.
	inlineBytes = 313 - 39
	// apartWRU and apartReads are the additional units if the order's content has an item of its own. The
	// content is written once, which costs apartWRU. It is read for each claim except the first, and each
	// read costs apartReads.
	apartWRU, apartReads = 1, 0.5
)

// carried extrapolates linearly from the totals t of four steps and the totals of eight steps. The parameter
// apart means that the order's content has an item of its own. Among the measured orders, only the order of
// eight steps has such an item.
func (t Totals) carried(eight Totals, steps float64, apart bool) Totals {
	line := func(a, b float64) float64 { return math.Max(0, a+(b-a)/4*(steps-4)) }
	item := line(float64(t.ItemBytes-inlineBytes), float64(eight.ItemBytes))
	contentWRU, contentReads := float64(apartWRU), apartReads*(steps-1)
	if !apart {
		item, contentWRU, contentReads = item+inlineBytes, 0, 0
	}
	kib, reads := math.Ceil(item/1024), math.Ceil(item/4096)
	strong := line(t.StrongReads, eight.StrongReads)
	return Totals{
		// The sum counts the write of the content item. It also counts the writes of the task's item: at
		// creation, after each step and at the end. The number 2 stands for the addition and the removal of
		// the index entry (rule 12 in docs/reference/aws-rules.md).
		WRU:           contentWRU + kib + steps*kib + kib + 2,
		RRU:           strong*reads + contentReads,
		StrongReads:   strong,
		SQSRequests:   line(t.SQSRequests, eight.SQSRequests),
		AppRequests:   line(t.AppRequests, eight.AppRequests),
		Invocations:   line(t.Invocations, eight.Invocations),
		AgentInvoked:  line(t.AgentInvoked, eight.AgentInvoked),
		SchedulerGBms: line(t.SchedulerGBms, eight.SchedulerGBms), LogBytes: line(t.LogBytes, eight.LogBytes),
		ItemBytes: int(item),
	}
}

// waiting adds the cost of waits. One wait costs the difference between the measured shapes Wait and Load.
// The method subtracts the write of the content item, because carried has already added it. In the shape
// Trickle, each message is a separate batch.
func (t Totals) waiting(r Report, shape string, waits float64) Totals {
	with, without, batch := r.PerOrder[Wait], r.PerOrder[Load], 1.0
	if shape == Trickle {
		batch = float64(r.Units.Shapes[Load].SchedulerBatch)
	}
	more := func(a, b float64) float64 { return max(0, a-b) * waits }
	invoked := more(with.Invocations, without.Invocations) * batch
	if t.Invocations > 0 {
		t.SchedulerGBms *= 1 + invoked/t.Invocations
	}
	t.WRU += more(with.WRU-apartWRU, without.WRU)
	t.RRU += more(with.StrongReads, without.StrongReads)
	t.StrongReads += more(with.StrongReads, without.StrongReads)
	t.SQSRequests += more(with.SQSRequests, without.SQSRequests) * batch
	t.Invocations += invoked
	return t
}

func (p Peer) of(steps int) (low, high float64) {
	units := p.FixedUnits + p.UnitsPerStep*float64(steps)
	if p.FurtherUnits > 0 {
		high = (units + p.FurtherUnits) * p.UnitDollars
	}
	return units * p.UnitDollars, high
}
