package state

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// step is a step and its place in the definition.
type step struct {
	*core.Step
	n int
}

// taskFields are the members of a document. A member is added here, and nowhere else.
var taskFields = tableOf(
	schemaField(),
	text("OrderID", "the order", func(t *core.Task) *string { return &t.OrderID }),
	moment("Created", "when the order was taken", func(t *core.Task) *core.Time { return &t.Created }),
	state("ProcessState", "of the order as a whole",
		func(t *core.Task) *core.State { return &t.ProcessState }),
	derived("LockedBy", "who claimed the step that was claimed last, of those in flight", lockedBy),
	derived("CompleteBy", "the earliest of the steps in flight", completeBy),
	derived("FailureCount", "of all steps together", failureCount),
	integer("Version", "grows by one with each write; the condition of each write",
		func(t *core.Task) *int64 { return &t.Version }),
	text("Workflow", "its name", func(t *core.Task) *string { return &t.Workflow }),
	text("Definition", "hash of the definition that the task runs",
		func(t *core.Task) *string { return &t.Definition }),
	text("tokenKey", "ID of the key with which tokens of answers are made",
		func(t *core.Task) *string { return &t.TokenKey }),
	text("content",
		"hash of what was submitted, if the order is kept apart under it, or erased; absent if it stands "+
			"in `Order`", func(t *core.Task) *string { return &t.ContentHash }),
	raw("Order", "the order as submitted; absent if it is kept apart",
		func(t *core.Task) *json.RawMessage { return &t.Order }),
	text("priority", "as submitted", func(t *core.Task) *string { return &t.Priority }),
	text("replyTo", "logical name of the queue that gets the status messages",
		func(t *core.Task) *string { return &t.ReplyTo }),
	text("phase", "in Error: the direction in which it was going",
		func(t *core.Task) *core.Phase { return &t.Phase }),
	text("why", "why it is undone", func(t *core.Task) *core.Why { return &t.Undo.Why }),
	integer("run", "how often it was started from the beginning", func(t *core.Task) *int { return &t.Run }),
	integer("command", "number of accepted commands, and of full lists of refused ones",
		func(t *core.Task) *int { return &t.Commands.Number }),
	part("verdicts", "answers to the last commands",
		func(t *core.Task) *[]core.Verdict { return &t.Commands.Verdicts },
		func(v []core.Verdict) bool { return len(v) == 0 }, checkVerdicts),
	part("refused",
		"short hashes of the IDs of commands that this run has refused, by command; under `command` those "+
			"of all runs whose number was ahead of the task",
		func(t *core.Task) *map[string][]string { return &t.Commands.Refused },
		func(m map[string][]string) bool { return len(m) == 0 }, nil),
	list("attempts", "the last 16 attempts that did not end done, of all runs, oldest first; see below",
		func(t *core.Task) *[]core.Attempt { return &t.Attempts.Last }, attemptFields),
	part("earlier",
		"how many attempts before those did not end done: `failed`, `later` (retry-later), `overdue`, "+
			"`superseded`",
		func(t *core.Task) *core.Earlier { return &t.Attempts.Earlier },
		func(e core.Earlier) bool { return e == core.Earlier{} }, nil),
	boolean("cancelAsked", "the caller asked to cancel it",
		func(t *core.Task) *bool { return &t.Undo.CancelAsked }),
	stepsField(),
	integer("hops", "forward claims since the last command", func(t *core.Task) *int { return &t.Hops }),
	integer("seq", "number of the last status message", func(t *core.Task) *int { return &t.StatusSeq }),
	integer("startSeq", `that of the last "started"`, func(t *core.Task) *int { return &t.Start.Seq }),
	text("startCause", "what the run began with", func(t *core.Task) *string { return &t.Start.Cause }),
	after("startAt", "when the run began, or was taken up again, if that was after Created",
		func(t *core.Task) *core.Time { return &t.Start.At }),
	after("ended", "when it entered its end, or Error", func(t *core.Task) *core.Time { return &t.End.At }),
	integer("endSeq", "number of the final status", func(t *core.Task) *int { return &t.End.Seq }),
	text("endCause", "what led to its end", func(t *core.Task) *string { return &t.End.Cause }),
	text("endStep", "the step that failed", func(t *core.Task) *string { return &t.Reason.Step }),
	text("endCode", "why it stopped or was undone, a short stable word",
		func(t *core.Task) *string { return &t.Reason.Code }),
	text("endText", "the same for people", func(t *core.Task) *string { return &t.Reason.Text }),
	text("whyStep", "where its undo has stopped: the step because of which it is undone",
		func(t *core.Task) *string { return &t.Undo.Reason.Step }),
	text("whyCode", "where its undo has stopped: why it is undone, a short stable word",
		func(t *core.Task) *string { return &t.Undo.Reason.Code }),
	text("whyText", "the same for people", func(t *core.Task) *string { return &t.Undo.Reason.Text }),
	integer("endCommand", "command when it entered Error", func(t *core.Task) *int { return &t.End.Command }),
	pointer("closed", "who closed it, and why", func(t *core.Task) **core.Closing { return &t.Closing }, nil),
	pointer("erased", "who erased the order's content, its outputs and notes, why and when",
		func(t *core.Task) **core.Erasure { return &t.Erased }, checkErasure),
	part("removed",
		"attempts of steps that were taken out when the task was moved to another definition, by name",
		func(t *core.Task) *map[string]int { return &t.Attempts.Removed },
		func(m map[string]int) bool { return len(m) == 0 }, nil),
	pointer("parent", "the step that it is a child of",
		func(t *core.Task) **core.Parent { return &t.Parent }, nil),
	raw("output", "the workflow's output", func(t *core.Task) *json.RawMessage { return &t.Output }),
	after("deadline", "by when it has to be done", func(t *core.Task) *core.Time { return &t.Deadline.At }),
	integer("deadlineSeq", "how many deadlines were set in this run",
		func(t *core.Task) *int { return &t.Deadline.Seq }),
	after("resend", "when an end that is unreported is reported again",
		func(t *core.Task) *core.Time { return &t.End.ResendAt }),
	after("due", "when the Supervisor looks at it", func(t *core.Task) *core.Time { return &t.Due }),
	boolean("attention", "it stands in the operator's list",
		func(t *core.Task) *bool { return &t.Attention }),
)

// stepFields are the members of a step.
var stepFields = tableOf(
	integer("N", "its place in the definition", func(s *step) *int { return &s.n }),
	state("ProcessState", "of the step", func(s *step) *core.State { return &s.State }),
	text("LockedBy", "who claimed it", func(s *step) *string { return &s.Claim.By }),
	text("agent",
		"the agent of its last attempt, where the definition names several and it is not the first of them",
		func(s *step) *string { return &s.Claim.Agent }),
	instant("CompleteBy", "when the Supervisor looks at it",
		func(s *step) *core.Time { return &s.CompleteBy }),
	integer("FailureCount", "how often it has failed or timed out",
		func(s *step) *int { return &s.Failures.Do }),
	integer("nth", "its place in the order of first claims in this run",
		func(s *step) *int { return &s.First.Nth }),
	boolean("undo", "the attempt is an undo", func(s *step) *bool { return &s.Claim.Undo }),
	integer("try", "number of the present or last claim", func(s *step) *int { return &s.Attempt }),
	after("at", "when it was claimed", func(s *step) *core.Time { return &s.Claim.At }),
	after("firstAt", "when it was claimed first in this run, if another claim came after that",
		func(s *step) *core.Time { return &s.First.At }),
	after("stop", "no side effect of the attempt begins later",
		func(s *step) *core.Time { return &s.Claim.StopBy }),
	after("quiet", "the latest stop of its earlier attempts to do it in this run",
		func(s *step) *core.Time { return &s.Stops.Do }),
	after("undoStop", "the latest stop of its earlier undo attempts in this run",
		func(s *step) *core.Time { return &s.Stops.Undo }),
	after("wake", "it waits until then", func(s *step) *core.Time { return &s.Wait.At }),
	after("until",
		"the end of its wait, or of the time for an answer, as its last claim has fixed it; kept when "+
			"that is over",
		func(s *step) *core.Time { return &s.Wait.Until }),
	integer("allow", "milliseconds that its last request had in the queue; absent once it is Processed",
		func(s *step) *core.Duration { return &s.Claim.Allowance }),
	integer("queued", "milliseconds that its requests have waited in queues, uncounted",
		func(s *step) *core.Duration { return &s.Failures.Queued }),
	integer("undoFailures", "how often its undo has failed or timed out",
		func(s *step) *int { return &s.Failures.Undo }),
	after("end", "when it became Processed", func(s *step) *core.Time { return &s.Finish.At }),
	integer("endSeq", `number of its status "step finished"`, func(s *step) *int { return &s.Finish.Seq }),
	text("endCause", "what finished it", func(s *step) *string { return &s.Finish.Cause }),
	text("cause", "what led to the claim", func(s *step) *string { return &s.Claim.Cause }),
	state("endState", "what the task's Error found it in, once it is in another state",
		func(s *step) *core.State { return &s.EndState }),
	raw("output", "what its agent answered", func(s *step) *json.RawMessage { return &s.Output }),
	after("noEffect", "since then it is proven that no attempt of this run has had an effect",
		func(s *step) *core.Time { return &s.NoEffect }),
	object("error", "the last failure", func(s *step) **core.StepError { return &s.Error }, errorFields),
	text("failed", "code of the failure after which the order goes on without it",
		func(s *step) *string { return &s.FailureCode }),
	pointer("resolved", "what an operator stated",
		func(s *step) **core.Resolved { return &s.Resolved }, nil),
	object("corrected", "the input that an operator has given it in this run, in place of the definition's",
		func(s *step) **core.Corrected { return &s.Corrected }, correctedFields),
	pointer("progress", "what the attempt in flight reported last",
		func(s *step) **core.StepProgress { return &s.Claim.Progress }, checkProgress),
	pointer("answers", "who has answered what in which round, of a step that is answered from outside",
		func(s *step) **core.Answers { return &s.Answers }, checkAnswers),
	pointer("children", "how far it is with its child tasks",
		func(s *step) **core.Children { return &s.Children }, checkChildren),
)

// errorFields are the members of a step's last failure.
var errorFields = tableOf(
	text("code", "a short stable word", func(e *core.StepError) *string { return &e.Code }),
	text("message", "for people", func(e *core.StepError) *string { return &e.Message }),
	after("at", "when it failed", func(e *core.StepError) *core.Time { return &e.At }),
	integer("attempt", "the attempt that failed", func(e *core.StepError) *int { return &e.Attempt }),
	after("since",
		"when the step was first handed back uncounted because its agent made no call that could have had "+
			"an effect, if it has been so ever since",
		func(e *core.StepError) *core.Time { return &e.Since }),
	after("polling", "the first of these times at which its service answered not-yet, if it did",
		func(e *core.StepError) *core.Time { return &e.Polling }),
)

// correctedFields are the members of an input that an operator has given.
var correctedFields = tableOf(
	raw("input", "what its agent is given", func(c *core.Corrected) *json.RawMessage { return &c.Input }),
	integer("command", "number of the command that gave it",
		func(c *core.Corrected) *int { return &c.Command }),
	text("by", "who gave it", func(c *core.Corrected) *string { return &c.By }),
	text("reason", "why", func(c *core.Corrected) *string { return &c.Reason }),
	after("at", "when", func(c *core.Corrected) *core.Time { return &c.At }),
)

// attemptFields are the members of an attempt that did not end done.
var attemptFields = tableOf(
	text("step", "its step", func(a *core.Attempt) *string { return &a.Step }),
	integer("attempt", "number of the claim", func(a *core.Attempt) *int { return &a.Number }),
	boolean("undo", "it was an undo", func(a *core.Attempt) *bool { return &a.Undo }),
	text("agent", "its agent, if the definition of the task names another one, or another one first",
		func(a *core.Attempt) *string { return &a.Agent }),
	after("began", "when it began", func(a *core.Attempt) *core.Time { return &a.Began }),
	after("ended", "when it ended", func(a *core.Attempt) *core.Time { return &a.Ended }),
	text("outcome", "`failed`, `retry-later`, `overdue`, or `superseded`: it was undone before a reply came",
		func(a *core.Attempt) *core.Outcome { return &a.Outcome }),
	text("code", "why, a short stable word", func(a *core.Attempt) *string { return &a.Code }),
)

func lockedBy(w *writer, name *label, t *core.Task) {
	var locked string
	var claimed core.Time
	for i := range t.Steps {
		if s := &t.Steps[i]; s.InFlight() && (locked == "" || s.Claim.At >= claimed) {
			locked, claimed = s.Claim.By, s.Claim.At
		}
	}
	if locked != "" {
		w.text(name, locked)
	}
}

func completeBy(w *writer, name *label, t *core.Task) {
	var by core.Time
	for i := range t.Steps {
		if s := &t.Steps[i]; s.InFlight() && s.CompleteBy != 0 && (by == 0 || s.CompleteBy < by) {
			by = s.CompleteBy
		}
	}
	if by != 0 {
		w.instant(name, by)
	}
}

func failureCount(w *writer, name *label, t *core.Task) {
	failures := 0
	for i := range t.Steps {
		failures += t.Steps[i].Failures.Do
	}
	if failures != 0 {
		w.integer(name, int64(failures))
	}
}

func checkAnswers(a *core.Answers) error {
	if !a.RemindedAt.InRange() {
		return errRange
	}
	for i := range a.Votes {
		if !a.Votes[i].At.InRange() {
			return errRange
		}
	}
	return checkVerdicts(a.Verdicts)
}

func checkErasure(e *core.Erasure) error { return checkTime(e.At) }

func checkProgress(p *core.StepProgress) error { return checkTime(p.At) }

func checkTime(t core.Time) error {
	if !t.InRange() {
		return errRange
	}
	return nil
}

func checkChildren(c *core.Children) error {
	for _, n := range []int{c.Count, c.Next, c.Started, c.Cursor, c.Failed, c.Rounds} {
		if n < 0 {
			return errNegative
		}
	}
	for _, o := range c.Open {
		if o.Index < 0 {
			return errNegative
		}
	}
	for _, r := range c.Results {
		if r.Index < 0 {
			return errNegative
		}
	}
	return nil
}

func checkVerdicts(all []core.Verdict) error {
	for i := range all {
		if !all[i].At.InRange() {
			return errRange
		}
	}
	return nil
}
