package protocol

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"math"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// AskedAgent returns the agent of the step's last attempt. Without an attempt, or after a Move, it returns
// the first agent of the step.
func (s *Step) AskedAgent(d *core.StepDefinition) string { return cmp.Or(s.Claim.Agent, d.Agent) }

// OperationOf returns the name of the operation that the step's last attempt asked for.
func (s *Step) OperationOf(d *core.StepDefinition) string {
	if s.Claim.Undo && d.Undo != nil {
		return d.Undo.Operation
	}
	return d.Operation
}

// TimeoutOf returns the timeout of the step's present attempt. A do and an undo have different timeouts.
func (s *Step) TimeoutOf(d *core.StepDefinition) core.Duration {
	if s.Claim.Undo {
		return d.Undo.Timeout
	}
	return d.Timeout
}

// Long reports whether the present attempt may run longer than its timeout while it reports progress (P43,
// long work reports progress).
func (s *Step) Long(d *core.StepDefinition) bool { return d.MaxDuration > 0 && !s.Claim.Undo }

// Longest returns the longest time that the agent may work on the present attempt (P43).
func (s *Step) Longest(d *core.StepDefinition) core.Duration {
	if s.Long(d) {
		return max(d.MaxDuration, d.Timeout)
	}
	return s.TimeoutOf(d)
}

// FirstCompleteBy returns the complete-by time that the present claim set. It is the stop-by, or an earlier
// time if the step is long. A Progress may have moved the stored time since then. A repeated request contains
// the first time (P12, effects are emitted again).
func (s *Step) FirstCompleteBy(d *core.StepDefinition) core.Time {
	if !s.Long(d) {
		return s.Claim.StopBy
	}
	return min(s.Claim.StopBy, s.Claim.At.Add(d.Timeout+s.Claim.Allowance))
}

// KnownUntil returns the time until which the service certainly remembers the key of step i. 0 means for
// ever. The agent's KeyRetention counts from one of these times:
//
//   - If no claim came after the operator's latest fact about the step, or the step has no claim: now.
//   - Otherwise the later of the step's first claim and the operator's latest fact.
func (t *Task) KnownUntil(def *core.Definition, i int, now core.Time) core.Time {
	s := &t.Steps[i]
	agent := def.Agents[def.Steps[i].Agent]
	if agent.KeyRetention == 0 {
		return 0
	}
	since := cmp.Or(s.FirstClaim(), now)
	switch {
	case s.Resolved == nil:
	case s.Resolved.At > s.Claim.At: // no request was sent after the fact
		since = now
	default:
		since = max(since, s.Resolved.At)
	}
	return since.Add(agent.KeyRetention - agent.ClockSkew)
}

// KeyMayExpire reports whether the service may forget the key of step i during a call that starts now (P18,
// resubmit uses a remembered key). It returns true only for an attempted step that was handed back, failed,
// or waits for its undo. An earlier call may have had an effect, which a call with a forgotten key could
// repeat.
func (t *Task) KeyMayExpire(def *core.Definition, i int, now core.Time) bool {
	s := &t.Steps[i]
	until := t.KnownUntil(def, i, now)
	return s.AwaitsWake() && s.Attempted() && until != 0 && now.Add(s.TimeoutOf(&def.Steps[i])) > until
}

// NotDone returns the agents of the step's unsuccessful attempts, except superseded attempts. It looks only
// at the last len(d.Others) attempts, so that at least one agent of the step is not in the result.
func (t *Task) NotDone(d *core.StepDefinition, s *Step) (agents []string) {
	for _, a := range t.Attempts.Last {
		if a.Step == s.Name && a.Number > s.Attempt-len(d.Others) && a.Outcome != OutcomeSuperseded {
			agents = append(agents, cmp.Or(a.Agent, d.Agent))
		}
	}
	return agents
}

// Uncalled reports whether the step waits for its next attempt because its agent could not call the service
// (P45, "not now" is not a failure). An undo that waits until its do is quiet does not wait for its agent (P21,
// an undo waits for quiet).
func (s *Step) Uncalled() bool {
	return (s.HandedBack() || s.State == core.UndoWait && s.Claim.Undo) && s.wasUncalled()
}

// EndsUncalled reports whether the step's present attempt follows attempts in which the agent could not call
// the service.
func (s *Step) EndsUncalled() bool { return s.InFlight() && s.wasUncalled() }

func (s *Step) wasUncalled() bool {
	return s.Error != nil && s.Error.Since != 0 && core.Uncalled(s.Error.Code)
}

// jitter returns a number in [0, 1) that spreads the retries of different orders. Every instance computes
// the same number for an attempt.
func jitter(orderID string, run int, step string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%s/%d/%s/%d", orderID, run, step, attempt)
	x := h.Sum64()
	// FNV's high bits differ little for short inputs. The first half of MurmurHash3's finaliser mixes them.
	x ^= x >> 33
	x *= 0xff51afd7ed558ccd
	x ^= x >> 33
	return float64(x>>11) / (1 << 53)
}

// backoffWait returns the wait after the n-th counted failure, for n from 1. u is the jitter.
func backoffWait(b core.Backoff, n int, u float64) core.Duration {
	d := float64(b.Initial) * math.Pow(b.Multiplier, float64(n-1))
	if limit := float64(b.Max); d > limit {
		d = limit
	}
	return core.Duration(math.Round(d * (1 - b.Jitter*u)))
}
