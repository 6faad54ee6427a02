package embedded

import (
	"cmp"
	"log/slog"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Options configures the runtime. Data and Workflows are required, and Agents or Operations.
type Options struct {
	Data   string // folder of the database; created if it does not exist
	Listen string // loopback address and port, 127.0.0.1:8377; port 0 takes a free one
	// AnswersListen is a loopback address that serves only the pages behind links of answers, so that a proxy
	// may open it to the world. Empty means that only Listen serves them.
	AnswersListen string
	Workflows     string // folder of *.yaml files
	Agents        string // file of the HTTP agents and of the external agents (see package httpagent)
	// Operations holds agents inside this process, by name: for benchmarks, and programs that embed the
	// runtime.
	Operations map[string]worker.Operations
	Inside     Inside   // settings of the agents in Operations
	ReplyTo    []string // logical names that orders may name; each has a queue "status-<name>"
	// MaxOpen is the number of active tasks above which intake refuses new orders with 429; default 20,000. A
	// task that only waits for a time, an answer or its child orders is not active.
	MaxOpen    int
	SweepEvery time.Duration // time between the Supervisor's sweeps; default 500 ms
	// StatisticsEvery is the interval of Statistics, of which 360 are kept; default 10 s.
	StatisticsEvery time.Duration
	// Keep is the time that an order at rest stays readable; 0 means for ever. The ID and hash of an expired
	// order stay, so that it never runs again (P26, an ID never runs twice). At least sqlite.MinKeep.
	Keep time.Duration
	// NewTokenKey makes a new key for the tokens of answers (P39, a token is an answer's permission). Tokens
	// of the previous key are accepted for 400 more days.
	NewTokenKey bool
	OnAlert     OnAlert     // receivers of alerts besides the log
	Tracer      port.Tracer // nil records no spans
	Log         *slog.Logger
	Clock       port.Clock
	Version     string // version of the program, stated in the OpenAPI document
	// Pages returns a handler of pages for people. Run serves it under PagePaths (patterns of http.ServeMux)
	// beside the interface. server is the interface's address. nil means no pages.
	Pages     func(server string) http.Handler
	PagePaths []string
	// Ready is called once, with the address, when orders may be submitted.
	Ready func(Started)

	server string // address of this process, for alerts
}

// Inside configures an agent inside the process.
type Inside struct {
	Concurrency int // default 10
	Retry       worker.Retry
	Breaker     worker.Breaker
}

// Started is the content of the ready line.
type Started struct {
	Address   string // http://127.0.0.1:PORT
	Answers   string // address of Options.AnswersListen; empty if there is none
	Workflows int
	Agents    int
	Checked   bool // true if the whole database file was checked; otherwise the check continues
}

func (o Options) withDefaults() Options {
	o.MaxOpen = cmp.Or(o.MaxOpen, 20_000)
	o.SweepEvery = cmp.Or(o.SweepEvery, 500*time.Millisecond)
	o.StatisticsEvery = cmp.Or(o.StatisticsEvery, 10*time.Second)
	o.Log = cmp.Or(o.Log, slog.Default())
	o.Clock = cmp.Or[port.Clock](o.Clock, port.ClockFunc(time.Now))
	o.Listen = cmp.Or(o.Listen, "127.0.0.1:8377")
	return o
}
