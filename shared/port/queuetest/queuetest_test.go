// Package queuetest holds each adapter to the promises of port.Queue and port.Queues. Its options list what
// an adapter may do differently; nothing else is negotiable.
package queuetest_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Config is a queue that a test needs.
type Config struct {
	Name        string
	MaxReceives int // 0 means no dead letters
	DeadLetter  string
	Retention   time.Duration // 0 means longer than the test
}

// Backends are fresh, empty queues.
type Backends struct {
	Queues port.Queues
	// Advance moves the adapter's clock. Nil: it runs in real time, and the suite waits.
	Advance func(d time.Duration)
	// Sleepers is how many long polls wait on the clock that Advance moves. Required with Advance.
	Sleepers func() int
	// Close is called when the test is over. Nil: nothing to close.
	Close func()
}

// Options say what the port leaves to the adapter.
type Options struct {
	// Unit is the shortest time that the adapter distinguishes: the suite's delays and timeouts are
	// multiples of it. Default 1 s, as SQS has it.
	Unit time.Duration
	// KeepsValues: a Value arrives as it was sent, not encoded.
	KeepsValues bool
	// DeadLetters, Retentions: the adapter has such a limit.
	DeadLetters bool
	Retentions  bool
	// Once: nothing is received twice within its visibility timeout.
	Once bool
	// LateDelete: Delete works after the visibility timeout while no other receiver got the message.
	LateDelete bool
	// LosesPolls: a receive whose context ends can take messages along until their visibility
	// timeout has passed, as one over a network does whose answer is not read any more.
	LosesPolls bool
	// ExactDepth: Depth counts what was sent at once; otherwise the suite does not look at it.
	ExactDepth bool
	// Virtual: each case runs in a bubble of testing/synctest, whose time passes while all of its goroutines
	// wait. The adapter uses the machine's clock and its timers, and no socket.
	Virtual bool
	// Groups are the groups of cases to run; none: all. Cases about visibility and delay need a
	// clock that can be moved, or a Unit that no pause of a loaded machine reaches.
	Groups []string
	// Messages is how many messages the concurrent tests send; default 2,000.
	Messages int
}

// Make gives fresh queues. replyTo names those that an order may name. It is called once a test.
type Make func(t *testing.T, queues []Config, replyTo []string) Backends

// The queues of every test.
const (
	plain    = "plain"
	other    = "other"
	retry    = "retry"    // three receives, then dead
	dead     = "dead"     // takes its dead letters
	retained = "retained" // keeps messages for twenty units
)

// Run holds the adapter to the contract.
func Run(t *testing.T, options Options, make Make) {
	if options.Unit == 0 {
		options.Unit = time.Second
	}
	if options.Messages == 0 {
		options.Messages = 2000
	}
	for _, group := range []struct {
		name  string
		cases []testCase
	}{
		{"names", nameCases},
		{"send", sendCases},
		{"receive", receiveCases},
		{"delete", deleteCases},
		{"visibility", visibilityCases},
		{"delay", delayCases},
		{"poll", pollCases},
		{"dead", deadCases},
		{"limits", limitCases},
		{"depth", depthCases},
		{"together", togetherCases},
	} {
		if len(options.Groups) > 0 && !slices.Contains(options.Groups, group.name) || group.name == "dead" &&
			!options.DeadLetters {
			continue
		}
		t.Run(group.name, func(t *testing.T) {
			for _, c := range group.cases {
				t.Run(c.name, func(t *testing.T) {
					run := func(t *testing.T) { runCase(t, options, make, c) }
					if options.Virtual {
						synctest.Test(t, run)
						return
					}
					run(t)
				})
			}
		})
	}
}

func runCase(t *testing.T, options Options, make Make, c testCase) {
	if c.needs != nil && !c.needs(options) {
		t.Skip("the adapter does not offer this")
	}
	queues := []Config{
		{Name: plain},
		{Name: other},
		{Name: dead},
		{Name: retry, MaxReceives: 3, DeadLetter: dead},
	}
	if options.Retentions {
		queues = append(queues, Config{Name: retained, Retention: 20 * options.Unit})
	}
	backends := make(t, queues, []string{other})
	if backends.Close != nil {
		t.Cleanup(backends.Close)
	}
	s := &suite{T: t, Backends: backends, options: options, ctx: t.Context(), unit: options.Unit}
	c.run(s, s.queue(cmp.Or(c.queue, plain)))
}

type testCase struct {
	name  string
	queue string // queue under test; "" means plain
	run   func(s *suite, q port.Queue)
	needs func(o Options) bool
}

type suite struct {
	*testing.T
	Backends
	options Options
	ctx     context.Context
	unit    time.Duration
}

func retentions(o Options) bool { return o.Retentions }
func once(o Options) bool       { return o.Once }
func lateDelete(o Options) bool { return o.LateDelete }
func exactDepth(o Options) bool { return o.ExactDepth }
