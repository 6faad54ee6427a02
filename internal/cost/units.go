package cost

import (
	_ "embed"
	"encoding/json"
	"fmt"
)

// Units holds the measured consumption of orders. `make cost` writes it to units.json.
type Units struct {
	Measured string           `json:"measured"` // day of the measurement
	How      string           `json:"how"`
	Shapes   map[string]Shape `json:"shapes"`
}

// Names of shapes. The command cost prints the whole cost of an order for Load, Three and Trickle. Sweep
// gives the cost of an idle deployment. Each other shape measures the cost of one option.
const (
	Load      = "load"             // full batches: 10 messages for the Scheduler, 5 for an agent
	Three     = "batches-of-three" // three messages in each batch
	Trickle   = "trickle"          // one message in each batch
	NoReplyTo = "load-no-reply-to" // load, but no order names a reply-to
	Finished  = "load-finished"    // load, with the index of finished orders
	Sequence  = "load-four-agents" // load, with a separate agent for each step
	Wait      = "load-wait"        // load, with a step that waits ten minutes for a delayed message
	Answer    = "load-answer"      // load, with an approval that one person answers
	Children  = "load-children"    // load, with a step that starts two child orders
	Progress  = "load-progress"    // load, with a step that reports progress once
	Sweep     = "sweep"            // one sweep of the Supervisor over an empty index
	// Orders with eight steps instead of four. The difference is the cost of four steps.
	EightLoad    = "load-eight-steps"
	EightTrickle = "trickle-eight-steps"
)

// Shape is the measured consumption of one order, for one pattern of arriving orders.
type Shape struct {
	Orders         int                `json:"orders"`
	SchedulerBatch int                `json:"scheduler_batch"`
	AgentBatch     int                `json:"agent_batch"`
	ItemBytes      int                `json:"item_bytes"`  // size of a task's largest item in DynamoDB
	Lines          []Line             `json:"per_order"`   // consumption by operation and resource
	Invocations    map[string]float64 `json:"invocations"` // number of invocations per order, by function
	// duration of an invocation on the measuring machine, by function
	Milliseconds map[string]float64 `json:"milliseconds"`
	LogBytes     float64            `json:"log_bytes"`
}

// Line is one order's consumption of one operation on one table or queue.
type Line struct {
	Service   string  `json:"service"`
	Operation string  `json:"operation"`
	Resource  string  `json:"resource"`
	Calls     float64 `json:"calls"`
	// number of billed requests; SQS bills each 64 KiB of a request as one
	Requests float64 `json:"requests,omitempty"`
	WRU      float64 `json:"wru,omitempty"`
	IndexWRU float64 `json:"index_wru,omitempty"`
	RRU      float64 `json:"rru,omitempty"`
	IndexRRU float64 `json:"index_rru,omitempty"`
	// true for calls of the application, which sends orders and receives statuses
	Application bool `json:"application,omitempty"`
}

//go:embed units.json
var unitsFile []byte

// Measured returns the last measurement. It panics if the embedded file is damaged.
func Measured() (u Units) {
	if err := json.Unmarshal(unitsFile, &u); err != nil {
		panic(fmt.Errorf("measured units: %w; measure again with `make cost`", err))
	}
	return u
}
