package protocol_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// P45. An agent that makes no call for an hour, its circuit breaker open or its credentials expired, costs
// neither a failure nor a hop, and is asked ever less often. Broken by: hold counts a failure; hold keeps
// the hop; the wait does not grow.
func TestAnAgentThatMakesNoCallIsNotCounted(t *testing.T) {
	d := begun(t, step("a", failures(1), func(s *core.StepDefinition) { s.MaxQueueTime = core.Day }))
	hops := d.task.Hops
	from := d.now
	last := core.Duration(0)
	for attempt := 1; d.now.Sub(from) < core.Hour; attempt++ {
		code := core.CodeUnauthorized
		if attempt%3 == 0 {
			code = core.CodeBreakerOpen
		}
		d.decide(coded(later("a", attempt), code))
		s := d.task.Step("a")
		wait := s.Wait.At.Sub(d.now)
		held := d.now.Sub(from)
		switch {
		case s.State != core.Pending || s.Failures.Do != 0 || d.task.Hops != hops-1:
			t.Fatalf("attempt %d: %s, %d failures, %d hops after %d", attempt, states(d.task), s.Failures.Do,
				d.task.Hops, hops)
		case s.Error == nil || s.Error.Code != code || s.Error.Since != from:
			t.Fatalf("attempt %d: %+v; the step waits since %s", attempt, s.Error, from)
		case wait < 2*core.Second || wait < min(held, 5*core.Minute) || wait > 450*core.Second:
			t.Fatalf("attempt %d waits for %s after %s", attempt, wait, held)
		}
		last = wait
		d.now = s.Wait.At
		d.decide(wake("a", attempt))
		if attempt > 30 {
			t.Fatalf("%d attempts in %s", attempt, d.now.Sub(from))
		}
	}
	if last < 5*core.Minute {
		t.Errorf("after an hour it waits for %s only", last)
	}
	d.decide(done("a", d.task.Step("a").Attempt))
	d.expect(nil, "Processed: a Processed/16", "")
	if e := d.task.Step("a").Error; e == nil || e.Since != 0 {
		t.Errorf("%+v: it does not wait any more", e)
	}
}

// P45. A failure of a call that was made counts as usual, and ends the series of hand-backs that do not
// count. The next series has its own maxQueueTime. Broken by: release keeps the begin of the earlier series.
func TestACallThatFailedCounts(t *testing.T) {
	d := begun(t, step("a", failures(2)))
	d.decide(coded(later("a", 1), core.CodeUnauthorized))
	d.now = d.task.Step("a").Wait.At
	d.decideAll(wake("a", 1), later("a", 2))
	if s := d.task.Step("a"); s.Failures.Do != 1 || s.Error.Since != 0 {
		t.Errorf("%d failures, %+v", s.Failures.Do, s.Error)
	}
	d.now = d.task.Step("a").Wait.At
	d.decideAll(wake("a", 2), coded(later("a", 3), core.CodeUnauthorized))
	if s := d.task.Step("a"); s.Failures.Do != 1 || s.Error.Since != d.now {
		t.Errorf("%d failures, %+v; it is %s", s.Failures.Do, s.Error, d.now)
	}
	d.now = d.task.Step("a").Wait.At
	d.decideAll(wake("a", 3), failedAs("a", 4, core.CodeUnauthorized))
	d.expect(nil, "Compensating: a Compensating/5", "")
}

// failedAs returns a permanent failure with a code. The code does not change its kind.
func failedAs(step string, attempt int, code string) core.Reply {
	return coded(failed(step, attempt), code)
}

// P45. If a task does not go forward any more, a do that is handed back is not asked again. In Error, an undo
// waits for the operator without a count. Broken by: hold for a do of a task that is undone.
func TestNoCallIsMadeWhileTheTaskStops(t *testing.T) {
	notNow := coded(later("a", 1), core.CodeBreakerOpen)
	d := begun(t, step("a", grade(core.Idempotent)))
	d.decideAll(cancel("c1"), notNow)
	d.expect(nil, "Compensating: a UndoWait/1", "")
	if s := d.task.Step("a"); s.Error.Since != 0 {
		t.Errorf("%+v", s.Error)
	}

	d = begun(t, step("a"), step("b", stopping))
	d.decideAll(failed("b", 1), notNow)
	d.expect(nil, "Error forward: a Failed/1, b Failed/1", "")

	d = begun(t, step("a"))
	d.decide(cancel("c1"))
	// beside it another undo has stopped
	d.task.ProcessState = core.Error
	d.task.Phase = core.Undoing
	d.task.End.At = d.now
	d.decide(coded(reply("a", 0, 2, core.UndoOp, core.OutcomeRetryLater), core.CodeUnauthorized))
	if s := d.task.Step("a"); s.State != core.UndoWait || s.Failures.Undo != 0 || s.CompleteBy != 0 {
		t.Errorf("%s, %d failures, complete by %s", states(d.task), s.Failures.Undo, s.CompleteBy)
	}
}

// P45. A permanent failure of an undo counts, whatever its code.
func TestARefusedUndoCounts(t *testing.T) {
	d := begun(t, step("a"))
	d.decideAll(cancel("c1"), coded(undoFailed("a", 2), core.CodeUnauthorized))
	if s := d.task.Step("a"); s.Failures.Undo != 1 || s.Error.Since != 0 {
		t.Errorf("%d failures of the undo, %+v", s.Failures.Undo, s.Error)
	}
}

// P45. A command gives a step that waits for its agent its whole maxQueueTime again, in both directions.
func TestACommandGivesNewTime(t *testing.T) {
	for name, command := range map[string]core.Event{
		"resubmit": core.Command{Name: core.Resubmit, ID: "c1"}, "undo": core.Command{Name: core.UndoCommand, ID: "c1"},
	} {
		d := begun(t, step("a"), step("b", stopping))
		d.decideAll(coded(later("a", 1), core.CodeUnauthorized), failed("b", 1))
		d.expect(nil, "Error forward: a Pending/1, b Failed/1", "")
		d.wait(core.Day)
		d.decide(command)
		if name == "undo" {
			d.decide(undone("b", 2))
		}
		s := d.task.Step("a")
		answer := coded(later("a", s.Attempt), core.CodeUnauthorized)
		answer.Operation = map[bool]core.Operation{true: core.UndoOp, false: core.Do}[s.Claim.Undo]
		d.decide(answer)
		if s := d.task.Step("a"); d.task.ProcessState == core.Error || s.Error.Since != d.now {
			t.Errorf("%s: %s, %+v; it is %s", name, states(d.task), s.Error, d.now)
		}
	}
}

// P45. A step that polls is asked again at the time that its service names, costs neither a failure nor a
// hop, and ends by its policy when pollFor is over. Where it has none it stops for the operator when maxQueueTime
// is over. Broken by: not-yet is a failure; its bound is maxQueueTime; it has none.
func TestAPollEndsAfterPollFor(t *testing.T) {
	for pollFor, text := range map[core.Duration]string{
		30 * core.Minute: "the service has answered not-yet for longer than pollFor: ",
		0: "the service has answered not-yet for longer than maxQueueTime, the limit of a " +
			"step without pollFor: ",
	} {
		most := max(pollFor, 10*core.Minute)
		d := begun(t, step("a", failures(1),
			func(s *core.StepDefinition) {
				s.MaxQueueTime = 10 * core.Minute
				s.PollFor = pollFor
				s.OnFailure = map[bool]core.Policy{true: core.OnFailureStop, false: core.OnFailureUndo}[pollFor > 0]
			}))
		hops := d.task.Hops
		from := d.now
		for attempt := 1; ; attempt++ {
			e := coded(later("a", attempt), core.CodeNotYet)
			e.RetryAfter = 7 * core.Minute
			d.decide(e)
			if d.task.ProcessState == core.Error {
				break
			}
			s := d.task.Step("a")
			wait := s.Wait.At.Sub(d.now)
			for _, field := range []struct {
				name      string
				got, want any
			}{
				{"s.State", s.State, core.Pending},
				{"s.FailureCount", s.Failures.Do, 0},
				{"d.task.Hops", d.task.Hops, hops - 1},
				{"s.Error.Since", s.Error.Since, from},
				{
					"wait >= min(7*core.Minute, most-d.now.Sub(from))",
					wait >= min(7*core.Minute, most-d.now.Sub(from)), true,
				},
			} {
				if field.got != field.want {
					t.Fatalf(
						"%s is %v, want %v: attempt %d: %s, %d failures, %d hops after %d, %+v, again "+
							"after %s",
						field.name, field.got, field.want, attempt, states(d.task), s.Failures.Do,
						d.task.Hops, hops, s.Error, wait)
				}
			}
			d.now = s.Wait.At
			d.decide(wake("a", attempt))
		}
		if s := d.task.Step("a"); d.now.Sub(from) != most || s.Failures.Do != 0 ||
			!strings.HasPrefix(s.Error.Message, text) || s.Error.Since != 0 || s.Error.Polling != 0 {
			t.Errorf("after %s: %d failures, %+v", d.now.Sub(from), s.Failures.Do, s.Error)
		}
	}
}

// P45, P19. What happens after pollFor is the step's to say. Broken by: the operator is called under every policy.
func TestAPollThatIsOverFollowsThePolicy(t *testing.T) {
	for policy, want := range map[core.Policy]core.State{
		core.OnFailureUndo: core.Compensating, core.OnFailureStop: core.Error, core.OnFailureContinue: core.Processing,
	} {
		t.Run(string(policy), func(t *testing.T) {
			d := begun(t, step("a", func(s *core.StepDefinition) {
				s.PollFor = core.Hour
				s.OnFailure = policy
			}))
			d.decide(coded(later("a", 1), core.CodeNotYet))
			d.now = d.now.Add(core.Hour)
			d.decideAll(wake("a", 1), coded(later("a", 2), core.CodeNotYet))
			require.Equal(t, want, d.task.ProcessState, states(d.task))
			require.Contains(t, d.task.Step("a").Error.Message, "for longer than pollFor")
		})
	}
}

// P45. A time without calls does not end a poll, and is counted separately. After it, the poll has the rest
// of its time. A reply not-yet ends the time without calls. A failure that counts ends both. Broken by: one
// time for both; a poll that begins anew.
func TestAPollGoesOnWhenTheServiceWorksAgain(t *testing.T) {
	d := begun(t, step("a", failures(3),
		func(s *core.StepDefinition) {
			s.MaxQueueTime = core.Minute
			s.PollFor = 30 * core.Minute
			s.OnFailure = core.OnFailureStop
		}))
	from := d.now
	attempt := 0
	answer := func(code string, after core.Duration) *protocol.StepError {
		attempt++
		d.decide(coded(later("a", attempt), code))
		if d.task.ProcessState == core.Error {
			return d.task.Step("a").Error
		}
		d.now = max(d.task.Step("a").Wait.At, d.now.Add(after))
		d.decide(wake("a", attempt))
		return d.task.Step("a").Error
	}
	answer(core.CodeNotYet, 20*core.Minute)
	sick := d.now
	if e := answer(core.CodeBreakerOpen, 30*core.Second); e.Since != sick || e.Polling != from {
		t.Errorf("%+v; the agent calls no more since %s, the poll began %s", e, sick, from)
	}
	if e := answer(core.CodeUnauthorized, 20*core.Second); e.Since != sick || e.Polling != from {
		t.Errorf("%+v; the agent calls no more since %s", e, sick)
	}
	if e := answer(core.CodeNotYet, core.Minute); e.Since != from || e.Polling != from {
		t.Errorf("%+v; the poll began %s", e, from)
	}
	again := d.now
	if e := answer(core.CodeUnauthorized, 50*core.Second); e.Since != again {
		t.Errorf("%+v; the service worked before %s", e, again)
	}
	d.now = from.Add(30 * core.Minute)
	if answer(core.CodeNotYet, 0); d.task.ProcessState != core.Error {
		t.Fatalf("%s; pollFor is over", states(d.task))
	}

	d = begun(t, step("a", failures(3), func(s *core.StepDefinition) { s.PollFor = 30 * core.Minute }))
	attempt = 0
	answer(core.CodeNotYet, 29*core.Minute)
	if e := answer("http-503", core.Minute); e.Since != 0 || e.Polling != 0 {
		t.Errorf("%+v; that was a failure", e)
	}
	if answer(core.CodeNotYet, 29*core.Minute); d.task.ProcessState != core.Processing ||
		d.task.Step("a").Failures.Do != 1 {
		t.Errorf("%s, %d failures", states(d.task), d.task.Step("a").Failures.Do)
	}
	d.decide(done("a", attempt+1))
	if e := d.task.Step("a").Error; d.task.ProcessState != core.Processed || e.Since != 0 || e.Polling != 0 {
		t.Errorf("%s, %+v; it polls no more", states(d.task), e)
	}
}

// P45. An undo polls as well.
func TestAnUndoPolls(t *testing.T) {
	d := begun(t, step("a", func(s *core.StepDefinition) { s.PollFor = core.Hour }))
	d.decideAll(cancel("c1"), coded(reply("a", 0, 2, core.UndoOp, core.OutcomeRetryLater), core.CodeNotYet))
	if s := d.task.Step("a"); s.State != core.UndoWait || s.Failures.Undo != 0 || s.Error.Since != d.now ||
		s.Error.Polling != d.now {
		t.Errorf("%s, %d failures, %+v", states(d.task), s.Failures.Undo, s.Error)
	}
	d.now = d.now.Add(core.Hour)
	d.decideAll(wake("a", 2), coded(reply("a", 0, 3, core.UndoOp, core.OutcomeRetryLater), core.CodeNotYet))
	d.expect(nil, "Error undo: a UndoWait/3", "")
}
