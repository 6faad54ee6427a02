package soak_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/services"
)

// Faults of processes and clocks.
const (
	killEngine   = "kill the engine"
	killAgent    = "kill an agent"
	freezeEngine = "freeze the engine"
	freezeAgent  = "freeze an agent"
	fullEngine   = "full disk of the engine"
	fullAgent    = "full disk of an agent"
	clockAhead   = "engine's clock ahead"
	clockBehind  = "engine's clock behind"
	leapForward  = "all clocks leap forward"
	leapBack     = "all clocks leap back"
	cutEngine    = "cut the engine off"
)

// processFaults lists all of these faults. Each occurs at least once in every round of the plan.
var processFaults = []string{
	killEngine, freezeEngine, killAgent, fullEngine, clockAhead, cutEngine, freezeAgent, leapForward,
	killEngine, fullAgent, clockBehind, leapBack,
}

// outside lists the agents that are separate processes. The other agents run in the engine.
var outside = []string{services.Inventory, services.Payment, services.Shipping}

// Lengths of the faults. completeBy is the longest time of a step in the soak's workflow; a process is frozen
// for longer. A skew stays within the declared clockSkew, because beyond it services without a fence have no
// guarantee. A leap moves all clocks at once.
const (
	clockSkew   = 600 * time.Millisecond
	completeBy  = 3 * time.Second
	leapAhead   = time.Hour
	leapBehind  = 3 * time.Second // a longer leap only makes all callers wait longer
	skewOfClock = 500 * time.Millisecond
)

// processFault is one line of a plan.
type processFault struct {
	At   time.Duration // time since the first order
	What string
	Who  string // agent that the fault hits
	For  time.Duration
}

func (h processFault) String() string {
	text := fmt.Sprintf("%7.1fs  %s", h.At.Seconds(), h.What)
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
	round := min(length, time.Minute)
	var all []processFault
	agent := rng.IntN(len(outside))
	for begin := time.Duration(0); begin+round <= length; begin += round {
		slot := round / time.Duration(len(processFaults)+1)
		for i, k := range rng.Perm(len(processFaults)) {
			h := processFault{What: processFaults[k], At: begin + slot/2 + time.Duration(i)*slot +
				time.Duration(rng.Int64N(int64(slot/2)))}
			h.At = h.At.Round(100 * time.Millisecond)
			switch h.What {
			case killAgent, freezeAgent:
				h.Who = outside[agent%len(outside)]
				agent++
			case fullAgent:
				h.Who = services.Shipping // shipping is the agent with a ledger
			}
			switch h.What {
			case freezeEngine, freezeAgent:
				h.For = completeBy + time.Second +
					time.Duration(rng.Int64N(int64(time.Second))).Round(100*time.Millisecond)
			case fullEngine, fullAgent, clockAhead, clockBehind:
				h.For = 2*time.Second + time.Duration(rng.Int64N(int64(2*time.Second))).Round(
					100*time.Millisecond)
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
