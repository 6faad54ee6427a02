package simulate

// Fault is a kind of thing that goes wrong.
type Fault uint8

// The faults.
const (
	NoFault Fault = iota
	FreshCopy
	Redelivery
	Reorder
	LongDelay
	Zombie
	DeleteLost
	SendAnswerLost
	PartialBatch
	Poison
	Redriven
	Retention
	Throttle
	AppliedButError
	OwnAsCondition
	StaleIndex
	MissingIndex
	TerminalAsDue
	TransactionConflict
	LateDoubt
	ItemTooLarge
	TTL
	CrashBefore
	CrashAfter
	TimeoutAfter
	Frozen
	Concurrency
	ClockJump
	MixedCode
	TickMissed
	TicksOverlap
	ReplyLost
	Contradictory
	KeyForgotten
	Hang
	PermanentFailure
	BreakerOpen
	CredentialExpired
	NotYet
	faultCount
)

// faultNames are the names on tapes and in reports.
var faultNames = [faultCount]string{
	NoFault: "none", FreshCopy: "fresh-copy", Redelivery: "redelivery", Reorder: "reorder",
	LongDelay: "long-delay", Zombie: "zombie",
	DeleteLost: "delete-lost", SendAnswerLost: "send-answer-lost", PartialBatch: "partial-batch",
	Poison:   "poison",
	Redriven: "redriven", Retention: "retention-expired", Throttle: "throttle",
	AppliedButError: "applied-but-error",
	OwnAsCondition:  "own-write-as-condition-failure", StaleIndex: "stale-index",
	MissingIndex:  "missing-index",
	TerminalAsDue: "terminal-as-due", TransactionConflict: "transaction-conflict", LateDoubt: "late-doubt",
	ItemTooLarge: "item-too-large", TTL: "ttl", CrashBefore: "crash-before", CrashAfter: "crash-after",
	TimeoutAfter: "timeout-after", Frozen: "frozen", Concurrency: "throttled-concurrency",
	ClockJump: "clock-jump",
	MixedCode: "mixed-code", TickMissed: "tick-missed", TicksOverlap: "ticks-overlap",
	ReplyLost:     "reply-lost",
	Contradictory: "contradictory-reply", KeyForgotten: "key-forgotten", Hang: "hang",
	PermanentFailure: "permanent-failure",
	BreakerOpen:      "breaker-open", CredentialExpired: "credential-expired", NotYet: "not-yet",
}

func (f Fault) String() string { return faultNames[f] }

// Faults lists every fault.
func Faults() []Fault {
	var all []Fault
	for f := NoFault + 1; f < faultCount; f++ {
		all = append(all, f)
	}
	return all
}

// FaultNamed finds a fault by its name; NoFault where there is none.
func FaultNamed(name string) Fault {
	for f, n := range faultNames {
		if n == name && f > 0 {
			return Fault(f) //nolint:gosec // below faultCount
		}
	}
	return NoFault
}

// call is a kind of call of a port, or another place where things go wrong.
type call uint8

const (
	callLoad call = iota
	callOrder
	callCommit
	callDue
	callLease
	callSend
	callDelete
	callExtend
	callDepth
	callAlert
	callEntry
	callMove
	callDo
	callUndo
	callMessage // one message of a send
	callPoll    // an idle consumer finds messages
	callTick    // the Supervisor's schedule
	callClock   // a clock, now and then
	callForge   // a message arrives that no actor should send
	callExpire  // the store's TTL
	callDeploy  // another version of the workflow is deployed on one instance
	callCount
)

var callNames = [callCount]string{
	"load", "load-order", "commit", "due", "lease", "send", "delete", "extend", "depth", "alert",
	"ledger-read", "ledger-write", "do", "undo", "message", "poll", "tick", "clock", "forge", "expire",
	"deploy",
}

// role is whose call it is.
type role uint8

const (
	aScheduler role = iota
	aSupervisor
	anAgent
	aClient // applications, the operator, and the world around
	roleCount
)

var roleNames = [roleCount]string{"scheduler", "supervisor", "agent", "client"}

// act is a fault with the side of the call on which it falls.
type act struct {
	fault Fault
	after bool
}

func (a act) String() string {
	if a.after && (a.fault == Zombie || a.fault == Frozen) {
		return a.fault.String() + "-after"
	}
	return a.fault.String()
}

var compute = []act{{CrashBefore, false}, {CrashAfter, true}, {TimeoutAfter, true}, {Zombie, false},
	{Zombie, true}, {Frozen, false}, {Frozen, true}}

func with(more ...act) []act { return append(append([]act(nil), compute...), more...) }

// actsAt lists what can go wrong at a call.
var actsAt = [callCount][]act{
	callLoad:  with(act{Throttle, false}),
	callOrder: with(act{Throttle, false}),
	callCommit: with(act{Throttle, false}, act{AppliedButError, true}, act{OwnAsCondition, true},
		act{TransactionConflict, false}, act{LateDoubt, true}, act{ItemTooLarge, false}),
	callDue: with(act{Throttle, false}, act{StaleIndex, true}, act{MissingIndex, true},
		act{TerminalAsDue, true}),
	callLease: with(act{Throttle, false}),
	callSend: with(act{Throttle, false}, act{SendAnswerLost, true}, act{PartialBatch, true},
		act{ItemTooLarge, true}),
	callDelete: with(act{DeleteLost, false}),
	callExtend: with(act{Throttle, false}),
	callDepth:  with(act{Throttle, false}),
	callAlert:  with(act{Throttle, false}, act{SendAnswerLost, true}),
	callEntry:  with(act{Throttle, false}),
	callMove:   with(act{Throttle, false}, act{AppliedButError, true}, act{OwnAsCondition, true}),
	callDo: with(act{ReplyLost, true}, act{Contradictory, true}, act{KeyForgotten, false}, act{Hang, false},
		act{PermanentFailure, false},
		act{BreakerOpen, false}, act{CredentialExpired, false}, act{NotYet, false}),
	callUndo: with(act{ReplyLost, true}, act{Contradictory, true}, act{KeyForgotten, false}, act{Hang, false},
		act{PermanentFailure, false},
		act{BreakerOpen, false}, act{CredentialExpired, false}, act{NotYet, false}),
	callMessage: {{FreshCopy, true}, {Redelivery, true}, {Reorder, false}, {LongDelay, false},
		{Redriven, true}, {Retention, false}},
	callPoll:   {{Concurrency, false}},
	callTick:   {{TickMissed, false}, {TicksOverlap, false}},
	callClock:  {{ClockJump, false}},
	callForge:  {{Poison, false}},
	callExpire: {{TTL, false}},
	callDeploy: {{MixedCode, false}},
}

// often is by how much more is to go wrong at a call than at others: some calls are rare, and some
// are there for nothing else.
var often = func() (n [callCount]float64) {
	for c := range n {
		n[c] = 1
	}
	n[callDo], n[callUndo], n[callTick], n[callDue], n[callAlert], n[callDepth] = 8, 8, 5, 4, 8, 3
	n[callClock], n[callForge], n[callExpire], n[callDeploy] = 100, 100, 100, 100
	n[callPoll] = 0.3
	return n
}()

// sites are the names of the calls of each role.
var sites = func() (s [roleCount][callCount]string) {
	for r := range s {
		for c := range s[r] {
			s[r][c] = roleNames[r] + "." + callNames[c]
		}
	}
	return s
}()

var actsBySite = func() map[string][]string {
	m := map[string][]string{}
	for r := range sites {
		for c := range sites[r] {
			var names []string
			for _, a := range actsAt[c] {
				names = append(names, a.String())
			}
			m[sites[r][c]] = names
		}
	}
	return m
}()

// actNames lists the names of what can go wrong at a site, nil where nothing can.
func actNames(site string) []string { return actsBySite[site] }
