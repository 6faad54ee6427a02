package embedded

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Options configures the runtime. Data and Workflows are required.
type Options struct {
	Data   string // folder of the database; the runtime creates it if it does not exist
	Listen string // loopback address and port; "" means 127.0.0.1:8377; port 0 selects a free port
	// AnswersListen is a loopback address for a second listener, which serves only the answer pages. A proxy
	// may open the listener to the world. If AnswersListen is "", only Listen serves the answer pages.
	AnswersListen string
	Workflows     string // folder of workflow files
	Agents        string // agents file, see package settings; "" means no file
	// Operations contains the agents that are Go functions of this process, by name. Benchmarks and programs
	// that embed the runtime use it.
	Operations map[string]worker.Operations
	Inside     Inside   // settings of the agents in Operations
	ReplyTo    []string // reply-to names that orders may use; each has a queue "status-<name>"
	// MaxOpen is the largest number of active tasks. At this number the runtime refuses new orders with
	// status 429. 0 means 20,000. A task that only waits for a time, an answer or its child orders is not
	// active.
	MaxOpen int
	// LongestWait shortens the waits of steps, to try a workflow that waits for days. 0 shortens none.
	LongestWait time.Duration
	SweepEvery  time.Duration // time between two sweeps of the Supervisor; 0 means 500 ms
	// StatisticsEvery is the interval of Statistics. 0 means 10 s. The runtime keeps 360 intervals.
	StatisticsEvery time.Duration
	// Keep is the time for which an order at rest stays readable, at least sqlite.MinKeep. 0 means for ever.
	// The runtime keeps the ID and hash of an expired order, so that the order never runs again (P26, an ID
	// never runs twice).
	Keep time.Duration
	// NewTokenKey makes the runtime create a new key for the tokens of answers (P39, a token is an answer's
	// permission). Tokens of the previous key stay valid for 400 days.
	NewTokenKey bool
	OnAlert     OnAlert      // receivers of alerts besides the log
	Tracer      port.Tracer  // nil means no tracing
	Log         *slog.Logger // see Bounded; nil means the default logger
	Clock       port.Timer
	Version     string // version of the program, for the OpenAPI document
	// Pages returns a handler of web pages. Run serves the pages on Listen, under the patterns in PagePaths.
	// The parameter server is the address of Listen. nil means no pages.
	Pages     func(server string) http.Handler
	PagePaths []string
	// Ready is called once, when orders may be submitted.
	Ready func(Started)

	server string // address of this process, for alerts
}

// Inside configures the agents that are Go functions of this process.
type Inside struct {
	Concurrency int // 0 means 10
	Retry       worker.Retry
	Breaker     worker.Breaker
}

// Started contains the facts that the program prints when it is ready.
type Started struct {
	Address   string // http://127.0.0.1:PORT
	Answers   string // address of Options.AnswersListen; "" if there is no second listener
	Workflows int
	Agents    int
	Checked   bool // true if the check of the whole database file has ended
}

func (o Options) withDefaults() Options {
	o.MaxOpen = cmp.Or(o.MaxOpen, 20_000)
	o.SweepEvery = cmp.Or(o.SweepEvery, 500*time.Millisecond)
	o.StatisticsEvery = cmp.Or(o.StatisticsEvery, 10*time.Second)
	o.Log = slog.New(Bounded(cmp.Or(o.Log, slog.Default()).Handler()))
	o.Clock = cmp.Or[port.Timer](o.Clock, port.ClockFunc(time.Now))
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:8377")
	return o
}
