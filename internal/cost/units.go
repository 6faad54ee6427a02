package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Units holds the measured consumption of orders. `make cost` measures them again.
type Units struct {
	Measured string           `json:"measured"` // day of the measurement
	How      string           `json:"how"`
	Shapes   map[string]Shape `json:"shapes"`
}

// Names of shapes. Load, Three and Trickle are the basis of the totals. The others show the cost of an
// option.
const (
	Load      = "load"             // full batches: Scheduler 10, agents 5
	Three     = "batches-of-three" // three messages in each batch, between the two
	Trickle   = "trickle"          // every message alone
	NoReplyTo = "load-no-reply-to" // load, with orders that name no reply-to
	Finished  = "load-finished"    // load, with the index of finished orders
	Sequence  = "load-four-agents" // load, with an agent for each step
	Wait      = "load-wait"        // load, with a step that waits for ten minutes: a delayed message ends it
	Answer    = "load-answer"      // load, with an approval that is answered once
	Children  = "load-children"    // load, with two child orders of one step
	Progress  = "load-progress"    // load, with a step that reports its progress once
	Sweep     = "sweep"            // a sweep of the Supervisor over an empty index, without orders
	// Eight steps instead of four, to measure the cost of a step.
	EightLoad    = "load-eight-steps"
	EightTrickle = "trickle-eight-steps"
)

// Shape is a pattern of arriving orders, with the consumption of one order.
type Shape struct {
	Orders         int                `json:"orders"` // number of measured orders
	SchedulerBatch int                `json:"scheduler_batch"`
	AgentBatch     int                `json:"agent_batch"`
	ItemBytes      int                `json:"item_bytes"`  // largest item of a task, as DynamoDB counts
	Lines          []Line             `json:"per_order"`   // lines of the bill
	Invocations    map[string]float64 `json:"invocations"` // per order, by function
	// duration of an invocation on the machine that measured
	Milliseconds map[string]float64 `json:"milliseconds"`
	LogBytes     float64            `json:"log_bytes"` // per order
}

// Line is one order's consumption of one operation on one table or queue.
type Line struct {
	Service   string  `json:"service"`
	Operation string  `json:"operation"`
	Resource  string  `json:"resource"`
	Calls     float64 `json:"calls"`
	// billed requests: SQS rounds a request up to multiples of 64 KiB
	Requests float64 `json:"requests,omitempty"`
	WRU      float64 `json:"wru,omitempty"`
	IndexWRU float64 `json:"index_wru,omitempty"`
	RRU      float64 `json:"rru,omitempty"`
	IndexRRU float64 `json:"index_rru,omitempty"`
	// calls of the application: sending orders and receiving statuses
	Application bool `json:"application,omitempty"`
}

//go:embed units.json
var unitsFile []byte

// Measured returns the units of the last measurement. It panics if the embedded file is damaged.
func Measured() (u Units) {
	if err := json.Unmarshal(unitsFile, &u); err != nil {
		panic(fmt.Errorf("measured units: %w; measure again with `make cost`", err))
	}
	return u
}
