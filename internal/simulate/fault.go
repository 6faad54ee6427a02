package simulate

import (
	"slices"
	"strings"
)

// Fault is a kind of fault. Its text is its name in recorded runs (tapes) and in reports.
type Fault string

// Kinds of faults.
const (
	NoFault Fault = ""

	FreshCopy           Fault = "fresh-copy"
	Redelivery          Fault = "redelivery"
	Reorder             Fault = "reorder"
	LongDelay           Fault = "long-delay"
	Zombie              Fault = "zombie"
	DeleteLost          Fault = "delete-lost"
	SendAnswerLost      Fault = "send-answer-lost"
	PartialBatch        Fault = "partial-batch"
	Poison              Fault = "poison"
	Redriven            Fault = "redriven"
	Retention           Fault = "retention-expired"
	Throttle            Fault = "throttle"
	AppliedButError     Fault = "applied-but-error"
	OwnAsCondition      Fault = "own-write-as-condition-failure"
	StaleIndex          Fault = "stale-index"
	MissingIndex        Fault = "missing-index"
	TerminalAsDue       Fault = "terminal-as-due"
	TransactionConflict Fault = "transaction-conflict"
	LateDoubt           Fault = "late-doubt"
	ItemTooLarge        Fault = "item-too-large"
	TTL                 Fault = "ttl"
	CrashBefore         Fault = "crash-before"
	CrashAfter          Fault = "crash-after"
	TimeoutAfter        Fault = "timeout-after"
	Frozen              Fault = "frozen"
	Concurrency         Fault = "throttled-concurrency"
	ClockJump           Fault = "clock-jump"
	MixedCode           Fault = "mixed-code"
	TickMissed          Fault = "tick-missed"
	TicksOverlap        Fault = "ticks-overlap"
	ReplyLost           Fault = "reply-lost"
	Contradictory       Fault = "contradictory-reply"
	KeyForgotten        Fault = "key-forgotten"
	Hang                Fault = "hang"
	PermanentFailure    Fault = "permanent-failure"
	BreakerOpen         Fault = "breaker-open"
	CredentialExpired   Fault = "credential-expired"
	NotYet              Fault = "not-yet"
)

// faults lists all kinds of faults. Each run draws in this order which kinds may happen.
var faults = []Fault{
	FreshCopy, Redelivery, Reorder, LongDelay, Zombie, DeleteLost, SendAnswerLost, PartialBatch, Poison,
	Redriven, Retention, Throttle, AppliedButError, OwnAsCondition, StaleIndex, MissingIndex,
	TerminalAsDue, TransactionConflict, LateDoubt, ItemTooLarge, TTL, CrashBefore, CrashAfter,
	TimeoutAfter, Frozen, Concurrency, ClockJump, MixedCode, TickMissed, TicksOverlap, ReplyLost,
	Contradictory, KeyForgotten, Hang, PermanentFailure, BreakerOpen, CredentialExpired, NotYet,
}

// Faults returns all kinds of faults.
func Faults() []Fault { return slices.Clone(faults) }

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

// Act is a fault at a call. If After is false, the fault happens before the call takes effect. Otherwise it
// happens after the effect.
type Act struct {
	Fault Fault
	After bool
}

// String returns the act's name.
func (a Act) String() string {
	if a.After && (a.Fault == Zombie || a.Fault == Frozen) {
		return string(a.Fault) + "-after"
	}
	return string(a.Fault)
}

// compute lists the faults that can happen to a handler at each of its port calls.
var compute = []Act{
	{CrashBefore, false},
	{CrashAfter, true},
	{TimeoutAfter, true},
	{Zombie, false},
	{Zombie, true},
	{Frozen, false},
	{Frozen, true},
}

func with(more ...Act) []Act { return slices.Concat(compute, more) }

var (
	engineRoles = []Role{AScheduler, ASupervisor}
	actors      = []Role{AScheduler, ASupervisor, AnAgent}
	takers      = []Role{AScheduler, AnAgent, AClient}
	service     = with(Act{ReplyLost, true}, Act{Contradictory, true}, Act{KeyForgotten, false}, Act{Hang, false},
		Act{PermanentFailure, false}, Act{BreakerOpen, false}, Act{CredentialExpired, false}, Act{NotYet, false})
)

// Calls describes the kinds of calls.
var Calls = [CallCount]struct {
	Name  string // Sites combines it with the roles
	Roles []Role // roles that make such calls
	// Often is a factor for the rate of faults. It is large for rare calls, and for occasions that exist only for
	// faults.
	Often float64
	Acts  []Act // possible faults
}{
	CallLoad:  {"load", engineRoles, 1, with(Act{Throttle, false})},
	CallOrder: {"load-order", []Role{AScheduler}, 1, with(Act{Throttle, false})},
	CallCommit: {"commit", engineRoles, 1, with(Act{Throttle, false}, Act{AppliedButError, true},
		Act{OwnAsCondition, true}, Act{TransactionConflict, false}, Act{LateDoubt, true}, Act{ItemTooLarge, false})},
	CallDue: {"due", engineRoles, 4, with(Act{Throttle, false}, Act{StaleIndex, true}, Act{MissingIndex, true},
		Act{TerminalAsDue, true})},
	CallLease: {"lease", []Role{ASupervisor}, 1, with(Act{Throttle, false})},
	CallSend: {"send", actors, 1, with(Act{Throttle, false}, Act{SendAnswerLost, true}, Act{PartialBatch, true},
		Act{ItemTooLarge, true})},
	CallDelete: {"delete", takers, 1, with(Act{DeleteLost, false})},
	CallExtend: {"extend", []Role{AScheduler, AnAgent}, 1, with(Act{Throttle, false})},
	CallDepth:  {"depth", []Role{ASupervisor}, 3, with(Act{Throttle, false})},
	CallAlert:  {"alert", engineRoles, 8, with(Act{Throttle, false}, Act{SendAnswerLost, true})},
	CallEntry:  {"ledger-read", []Role{AnAgent}, 1, with(Act{Throttle, false})},
	CallMove: {"ledger-write", []Role{AnAgent}, 1, with(Act{Throttle, false}, Act{AppliedButError, true},
		Act{OwnAsCondition, true})},
	CallDo:   {"do", []Role{AnAgent}, 8, service},
	CallUndo: {"undo", []Role{AnAgent}, 8, service},
	CallMessage: {"message", []Role{AScheduler, ASupervisor, AnAgent, AClient}, 1, []Act{
		{FreshCopy, true},
		{Redelivery, true},
		{Reorder, false},
		{LongDelay, false},
		{Redriven, true},
		{Retention, false},
	}},
	CallPoll:   {"poll", takers, 0.3, []Act{{Concurrency, false}}},
	CallTick:   {"tick", []Role{ASupervisor}, 5, []Act{{TickMissed, false}, {TicksOverlap, false}}},
	CallClock:  {"clock", actors, 100, []Act{{ClockJump, false}}},
	CallForge:  {"forge", []Role{AClient}, 100, []Act{{Poison, false}}},
	CallExpire: {"expire", []Role{AClient}, 100, []Act{{TTL, false}}},
	CallDeploy: {"deploy", []Role{AScheduler}, 100, []Act{{MixedCode, false}}},
}

// Sites holds the name of each kind of call of each role, such as "scheduler.load".
var Sites = func() (s [RoleCount][CallCount]string) {
	for r, name := range [RoleCount]string{"scheduler", "supervisor", "agent", "client"} {
		for c := range Calls {
			s[r][c] = name + "." + Calls[c].Name
		}
	}
	return s
}()

// CallAt returns the role and the kind of call of a site. It returns false if there is no such site.
func CallAt(site string) (Role, Call, bool) {
	for r := range RoleCount {
		if c := slices.Index(Sites[r][:], site); c >= 0 {
			return r, Call(c), true //nolint:gosec // the index is less than CallCount
		}
	}
	return 0, 0, false
}

// absent reports whether an act cannot happen at a call in any simulation:
//   - the role makes no such call
//   - the application is its owner's, and no part of the protocol
//   - what the Supervisor and the agents send is small, or was cut before
func absent(r Role, c Call, a Act) bool {
	return !slices.Contains(Calls[c].Roles, r) || r == AClient && slices.Contains(compute, a) ||
		a.Fault == ItemTooLarge && c == CallSend && r != AScheduler
}

// cell names one act at one call of one role.
func cell(r Role, c Call, a Act) string { return Sites[r][c] + " × " + a.String() }

// Cells returns the cells that can exist, and those that cannot, for the given kinds of faults. A nil list means all
// kinds.
func Cells(only []Fault) (can, cannot []string) {
	for r := range RoleCount {
		for c := range CallCount {
			for _, a := range Calls[c].Acts {
				switch {
				case only != nil && !slices.Contains(only, a.Fault):
				case absent(r, c, a):
					cannot = append(cannot, cell(r, c, a))
				default:
					can = append(can, cell(r, c, a))
				}
			}
		}
	}
	return can, cannot
}

// Impossible reports whether an act cannot happen at a call about a subject in this simulation:
//   - no service of the scenario may forget a key, because none declares a keyRetention
//   - the size of a child order's first document is the same at every attempt to create it, but the fault would hit
//     only some of them
//   - the queues of one process end with it, so nothing is redriven and nothing expires days later
func (w *Simulation) Impossible(r Role, c Call, subject string, a Act) bool {
	return absent(r, c, a) || a.Fault == KeyForgotten && !w.Forgets() ||
		a.Fault == ItemTooLarge && strings.Contains(subject, "~") ||
		w.Embedded && (a.Fault == Redriven || a.Fault == Retention) && c == CallMessage && r != AClient
}

// Forgets reports whether the service of any agent may forget keys.
func (w *Simulation) Forgets() bool {
	for name, a := range w.Def.Agents {
		if a.KeyRetention > 0 || w.Sc.Services[name].Forgets > 0 {
			return true
		}
	}
	return false
}
