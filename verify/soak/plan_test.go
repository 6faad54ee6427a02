package soak_test

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// outside lists the agents that are separate processes. The other agents run in the engine.
var outside = []string{services.Inventory, services.Payment, services.Shipping}

// Lengths of the faults. completeBy is the longest time of a step in the soak's workflow; a process is frozen
// for longer. A skew stays within the declared clockSkew, because beyond it services without a fence have no
// guarantee. A leap moves all clocks at once.
const (
	clockSkew   = 600 * time.Millisecond
	completeBy  = 3 * time.Second
	frozen      = completeBy + time.Second
	leapAhead   = time.Hour
	leapBehind  = 3 * time.Second // a longer leap only makes all callers wait longer
	skewOfClock = 500 * time.Millisecond
)

// faultKind is a kind of fault of processes and clocks.
type faultKind struct {
	what        string
	agents      []string // agents that it can hit; nil means the engine or all processes
	least, most time.Duration
	run         func(*injector, context.Context, processFault) error
}

// processFaults lists all kinds. Each occurs in every round of the plan, as often as it stands here.
var processFaults = []faultKind{
	{what: "kill the engine", run: (*injector).killEngine},
	{what: "kill the engine", run: (*injector).killEngine},
	{what: "kill an agent", agents: outside, run: (*injector).killAgent},
	{what: "freeze the engine", least: frozen, most: frozen + time.Second, run: (*injector).freezeEngine},
	{what: "freeze an agent", agents: outside, least: frozen, most: frozen + time.Second, run: (*injector).freezeAgent},
	{what: "full disk of the engine", least: 2 * time.Second, most: 4 * time.Second, run: (*injector).fullEngine},
	{
		what: "full disk of an agent", agents: []string{services.Shipping}, // the agent with a ledger
		least: 2 * time.Second, most: 4 * time.Second, run: (*injector).fullAgent,
	},
	{what: "engine's clock ahead", least: 2 * time.Second, most: 4 * time.Second, run: (*injector).clockAhead},
	{what: "engine's clock behind", least: 2 * time.Second, most: 4 * time.Second, run: (*injector).clockBehind},
	{what: "all clocks leap forward", run: (*injector).leapForward},
	{what: "all clocks leap back", run: (*injector).leapBack},
	{what: "cut the engine off", run: (*injector).cutEngine},
}

// processFault is one line of a plan.
type processFault struct {
	faultKind
	At  time.Duration // time since the first order
	Who string        // agent that the fault hits
	For time.Duration
}

func (h processFault) String() string {
	text := fmt.Sprintf("%7.1fs  %s", h.At.Seconds(), h.what)
	if h.Who != "" {
		text += ": " + h.Who
	}
	if h.For > 0 {
		text += " for " + h.For.String()
	}
	return text
}

// plan draws the faults of a run: rounds of all kinds, each in another order.
func plan(seed uint64, length time.Duration) []processFault {
	rng := rand.New(rand.NewPCG(seed, 0x736f616b))
	upTo := func(d time.Duration) time.Duration {
		return time.Duration(rng.Int64N(int64(d) + 1)).Round(100 * time.Millisecond)
	}
	round := min(length, time.Minute)
	slot := round / time.Duration(len(processFaults)+1)
	var all []processFault
	for begin := time.Duration(0); begin+round <= length; begin += round {
		for i, k := range rng.Perm(len(processFaults)) {
			h := processFault{faultKind: processFaults[k]}
			h.At = begin + slot/2 + time.Duration(i)*slot + upTo(slot/2)
			h.For = h.least + upTo(h.most-h.least)
			if len(h.agents) > 0 {
				h.Who = h.agents[rng.IntN(len(h.agents))]
			}
			all = append(all, h)
		}
	}
	return all
}

func printPlan(out io.Writer, seed uint64, all []processFault) {
	fmt.Fprintf(out, "plan of seed %d:\n", seed)
	for _, h := range all {
		fmt.Fprintln(out, " ", h)
	}
}
