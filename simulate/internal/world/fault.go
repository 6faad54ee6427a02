package world

// Fault is a kind of fault.
type Fault uint8

// Kinds of faults. FaultNames lists their names.
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
	FaultCount
)

// FaultNames lists the names of the faults in recorded runs (tapes) and in reports. The index is the Fault.
var FaultNames = [FaultCount]string{
	"none", "fresh-copy", "redelivery", "reorder", "long-delay", "zombie", "delete-lost", "send-answer-lost",
	"partial-batch", "poison", "redriven", "retention-expired", "throttle", "applied-but-error",
	"own-write-as-condition-failure", "stale-index", "missing-index", "terminal-as-due",
	"transaction-conflict", "late-doubt", "item-too-large", "ttl", "crash-before", "crash-after",
	"timeout-after", "frozen", "throttled-concurrency", "clock-jump", "mixed-code", "tick-missed",
	"ticks-overlap", "reply-lost", "contradictory-reply", "key-forgotten", "hang", "permanent-failure",
	"breaker-open", "credential-expired", "not-yet",
}

// String returns the fault's name.
func (f Fault) String() string { return FaultNames[f] }

// Faults returns all kinds of faults except NoFault.
func Faults() []Fault {
	var all []Fault
	for f := NoFault + 1; f < FaultCount; f++ {
		all = append(all, f)
	}
	return all
}

// FaultNamed returns the fault with the given name, or NoFault if no fault has the name.
func FaultNamed(name string) Fault {
	for f, n := range FaultNames {
		if n == name && f > 0 {
			return Fault(f) //nolint:gosec // the index is less than FaultCount
		}
	}
	return NoFault
}

// Call is a kind of port call, or another occasion at which a fault can happen.
type Call uint8

// Kinds of calls.
const (
	CallLoad Call = iota
	CallOrder
	CallCommit
	CallDue
	CallLease
	CallSend
	CallDelete
	CallExtend
	CallDepth
	CallAlert
	CallEntry
	CallMove
	CallDo
	CallUndo
	CallMessage // one message of a send
	CallPoll    // a consumer polls its queue
	CallTick    // the schedule starts a sweep of the Supervisor
	CallClock   // the clock of a process jumps
	CallForge   // a message arrives that no actor should send
	CallExpire  // the time to live of a record passes
	CallDeploy  // a process gets a newer version of the workflow
	CallCount
)

// CallNames lists the names of the calls. Sites combines them with the names of the roles.
var CallNames = [CallCount]string{
	"load", "load-order", "commit", "due", "lease", "send", "delete", "extend", "depth", "alert",
	"ledger-read", "ledger-write", "do", "undo", "message", "poll", "tick", "clock", "forge", "expire",
	"deploy",
}

// Role is the kind of the process that makes a call.
type Role uint8

// Roles of processes.
const (
	AScheduler Role = iota
	ASupervisor
	AnAgent
	AClient // an application, an operator, or anything else outside the actors
	RoleCount
)

// RoleNames lists the names of the roles.
var RoleNames = [RoleCount]string{"scheduler", "supervisor", "agent", "client"}

// Act is a fault at a call. If After is false, the fault happens before the call takes effect. Otherwise it
// happens after the effect.
type Act struct {
	Fault Fault
	After bool
}

// String returns the act's name.
func (a Act) String() string {
	if a.After && (a.Fault == Zombie || a.Fault == Frozen) {
		return a.Fault.String() + "-after"
	}
	return a.Fault.String()
}

// Compute lists the faults that can happen to a handler at each of its port calls.
var Compute = []Act{
	{CrashBefore, false},
	{CrashAfter, true},
	{TimeoutAfter, true},
	{Zombie, false},
	{Zombie, true},
	{Frozen, false},
	{Frozen, true},
}

func with(more ...Act) []Act { return append(append([]Act(nil), Compute...), more...) }

var service = with(Act{ReplyLost, true}, Act{Contradictory, true}, Act{KeyForgotten, false}, Act{Hang, false},
	Act{PermanentFailure, false}, Act{BreakerOpen, false}, Act{CredentialExpired, false}, Act{NotYet, false})

// ActsAt lists the possible faults of each kind of call.
var ActsAt = [CallCount][]Act{
	CallLoad:  with(Act{Throttle, false}),
	CallOrder: with(Act{Throttle, false}),
	CallCommit: with(Act{Throttle, false}, Act{AppliedButError, true}, Act{OwnAsCondition, true},
		Act{TransactionConflict, false}, Act{LateDoubt, true}, Act{ItemTooLarge, false}),
	CallDue: with(Act{Throttle, false}, Act{StaleIndex, true}, Act{MissingIndex, true},
		Act{TerminalAsDue, true}),
	CallLease: with(Act{Throttle, false}),
	CallSend: with(Act{Throttle, false}, Act{SendAnswerLost, true}, Act{PartialBatch, true},
		Act{ItemTooLarge, true}),
	CallDelete: with(Act{DeleteLost, false}),
	CallExtend: with(Act{Throttle, false}),
	CallDepth:  with(Act{Throttle, false}),
	CallAlert:  with(Act{Throttle, false}, Act{SendAnswerLost, true}),
	CallEntry:  with(Act{Throttle, false}),
	CallMove:   with(Act{Throttle, false}, Act{AppliedButError, true}, Act{OwnAsCondition, true}),
	CallDo:     service,
	CallUndo:   service,
	CallMessage: {
		{FreshCopy, true},
		{Redelivery, true},
		{Reorder, false},
		{LongDelay, false},
		{Redriven, true},
		{Retention, false},
	},
	CallPoll:   {{Concurrency, false}},
	CallTick:   {{TickMissed, false}, {TicksOverlap, false}},
	CallClock:  {{ClockJump, false}},
	CallForge:  {{Poison, false}},
	CallExpire: {{TTL, false}},
	CallDeploy: {{MixedCode, false}},
}

// Often holds a factor for the rate of faults at each kind of call. The factor is large for rare calls, and
// for occasions that exist only for faults.
var Often = [CallCount]float64{
	CallLoad: 1, CallOrder: 1, CallCommit: 1, CallDue: 4, CallLease: 1, CallSend: 1, CallDelete: 1,
	CallExtend: 1, CallDepth: 3, CallAlert: 8, CallEntry: 1, CallMove: 1, CallDo: 8, CallUndo: 8,
	CallMessage: 1, CallPoll: 0.3, CallTick: 5, CallClock: 100, CallForge: 100, CallExpire: 100,
	CallDeploy: 100,
}

// Sites holds the name of each kind of call of each role, such as "scheduler.load".
var Sites = func() (s [RoleCount][CallCount]string) {
	for r := range s {
		for c := range s[r] {
			s[r][c] = RoleNames[r] + "." + CallNames[c]
		}
	}
	return s
}()

var actsBySite = func() map[string][]string {
	m := map[string][]string{}
	for r := range Sites {
		for c := range Sites[r] {
			var names []string
			for _, a := range ActsAt[c] {
				names = append(names, a.String())
			}
			m[Sites[r][c]] = names
		}
	}
	return m
}()

// ActNames returns the names of the possible faults at a site, or nil if the site does not exist.
func ActNames(site string) []string { return actsBySite[site] }
