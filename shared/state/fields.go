package state

import (
	"encoding/json"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// step is a step with its index in the definition.
type step struct {
	*protocol.Step
	n int
}

var taskFields = tableOf(
	schemaField(),
	text("OrderID", "ID of the order", func(t *protocol.Task) *string { return &t.OrderID }),
	moment("Created", "time when the order was accepted",
		func(t *protocol.Task) *core.Time { return &t.Created }),
	state("ProcessState", "state of the order as a whole",
		func(t *protocol.Task) *core.State { return &t.ProcessState }),
	derived("LockedBy", "instance that made the last claim of the steps in flight", lockedBy),
	derived("CompleteBy", "earliest complete-by time of the steps in flight", completeBy),
	derived("FailureCount", "number of failures of all steps together", failureCount),
	integer("Version", "number that grows by one with each write; the condition of each write",
		func(t *protocol.Task) *int64 { return &t.Version }),
	text("Workflow", "name of the workflow", func(t *protocol.Task) *string { return &t.Workflow }),
	text("Definition", "hash of the definition that the task runs",
		func(t *protocol.Task) *string { return &t.Definition }),
	text("tokenKey", "ID of the key that makes the tokens of answers",
		func(t *protocol.Task) *string { return &t.TokenKey }),
	text("content",
		"hash of what was submitted, if the order is kept apart under it, or erased; absent if it stands "+
			"in `Order`", func(t *protocol.Task) *string { return &t.ContentHash }),
	raw("Order", "the order as submitted; absent if it is kept apart",
		func(t *protocol.Task) *json.RawMessage { return &t.Order }),
	text("priority", "priority as submitted", func(t *protocol.Task) *string { return &t.Priority }),
	text("replyTo", "logical name of the queue or bus that gets the status messages",
		func(t *protocol.Task) *string { return &t.ReplyTo }),
	text("phase", "direction in which the task was going; in Error only",
		func(t *protocol.Task) *core.Phase { return &t.Phase }),
	text("why", "why the task is undone", func(t *protocol.Task) *protocol.Why { return &t.Undo.Why }),
	integer("run", "number of times that the task was started again from the beginning",
		func(t *protocol.Task) *int { return &t.Run }),
	integer("command", "number of accepted commands, and of full lists of refused ones",
		func(t *protocol.Task) *int { return &t.Commands.Number }),
	part("verdicts", "verdicts on the last commands",
		func(t *protocol.Task) *[]protocol.Verdict { return &t.Commands.Verdicts },
		func(v []protocol.Verdict) bool { return len(v) == 0 }, checkVerdicts),
	part("refused",
		"short hashes of the IDs of commands that this run has refused, by command; under `command` those "+
			"of all runs whose number was ahead of the task",
		func(t *protocol.Task) *map[string][]string { return &t.Commands.Refused },
		func(m map[string][]string) bool { return len(m) == 0 }, nil),
	list("attempts", "the last 16 attempts that did not end done, of all runs, oldest first; see below",
		func(t *protocol.Task) *[]protocol.Attempt { return &t.Attempts.Last }, attemptFields),
	part("earlier",
		"number of attempts before these that did not end done: `failed`, `later` (retry-later), `overdue`, "+
			"`superseded`",
		func(t *protocol.Task) *protocol.Earlier { return &t.Attempts.Earlier },
		func(e protocol.Earlier) bool { return e == protocol.Earlier{} }, nil),
	boolean("cancelAsked", "true if the caller asked to cancel the order",
		func(t *protocol.Task) *bool { return &t.Undo.CancelAsked }),
	stepsField(),
	integer("hops", "forward claims since the last command", func(t *protocol.Task) *int { return &t.Hops }),
	integer("seq", "number of the last status message", func(t *protocol.Task) *int { return &t.StatusSeq }),
	integer("told",
		"number up to which the statuses were sent, or are in `undelivered`, before the last write",
		func(t *protocol.Task) *int { return &t.Told }),
	list("undelivered", "receivers that could not get a status; see below",
		func(t *protocol.Task) *[]core.Undelivered { return &t.Undelivered }, undeliveredFields),
	integer("startSeq", `number of the last status "started"`,
		func(t *protocol.Task) *int { return &t.Start.Seq }),
	text("startCause", "cause of the run", func(t *protocol.Task) *string { return &t.Start.Cause }),
	after("startAt", "time when the run began, or was taken up again, if that was after Created",
		func(t *protocol.Task) *core.Time { return &t.Start.At }),
	after("ended", "time when the task entered its end, or Error",
		func(t *protocol.Task) *core.Time { return &t.End.At }),
	integer("endSeq", "number of the final status", func(t *protocol.Task) *int { return &t.End.Seq }),
	text("endCause", "cause of the end", func(t *protocol.Task) *string { return &t.End.Cause }),
	text("endStep", "step that failed", func(t *protocol.Task) *string { return &t.Reason.Step }),
	text("endCode", "why the task stopped or was undone, a short stable word",
		func(t *protocol.Task) *string { return &t.Reason.Code }),
	text("endText", "the same for people", func(t *protocol.Task) *string { return &t.Reason.Text }),
	text("whyStep", "step because of which the task is undone, if its undo has stopped",
		func(t *protocol.Task) *string { return &t.Undo.Reason.Step }),
	text("whyCode", "why the task is undone, if its undo has stopped, a short stable word",
		func(t *protocol.Task) *string { return &t.Undo.Reason.Code }),
	text("whyText", "the same for people", func(t *protocol.Task) *string { return &t.Undo.Reason.Text }),
	integer("endCommand", "number of the command when the task entered Error",
		func(t *protocol.Task) *int { return &t.End.Command }),
	pointer("closed", "who closed the task, and why",
		func(t *protocol.Task) **protocol.Closing { return &t.Closing }, nil),
	pointer("erased", "who erased the order's content, its outputs and notes, why and when",
		func(t *protocol.Task) **protocol.Erasure { return &t.Erased }, checkErasure),
	part("removed",
		"attempts of the steps that a move to another definition removed, by name",
		func(t *protocol.Task) *map[string]int { return &t.Attempts.Removed },
		func(m map[string]int) bool { return len(m) == 0 }, nil),
	pointer("parent", "step that the task is a child of",
		func(t *protocol.Task) **core.Parent { return &t.Parent }, nil),
	raw("output", "output of the workflow", func(t *protocol.Task) *json.RawMessage { return &t.Output }),
	after("deadline", "time by which the order has to be done",
		func(t *protocol.Task) *core.Time { return &t.Deadline.At }),
	integer("deadlineSeq", "number of deadlines that were set in this run",
		func(t *protocol.Task) *int { return &t.Deadline.Seq }),
	after("resend", "time at which an unreported end is reported again",
		func(t *protocol.Task) *core.Time { return &t.End.ResendAt }),
	after("due", "time at which the Supervisor looks at the task",
		func(t *protocol.Task) *core.Time { return &t.Due }),
	boolean("attention", "true if the task stands in the operator's list",
		func(t *protocol.Task) *bool { return &t.Attention }),
)

var stepFields = tableOf(
	integer("N", "index in the definition", func(s *step) *int { return &s.n }),
	state("ProcessState", "state of the step", func(s *step) *core.State { return &s.State }),
	text("LockedBy", "instance that claimed the step", func(s *step) *string { return &s.Claim.By }),
	text("agent",
		"agent of the last attempt, if the definition names several and it is not the first of them",
		func(s *step) *string { return &s.Claim.Agent }),
	instant("CompleteBy", "time at which the Supervisor looks at the step",
		func(s *step) *core.Time { return &s.CompleteBy }),
	integer("FailureCount", "number of times that the do has failed or timed out",
		func(s *step) *int { return &s.Failures.Do }),
	integer("nth", "place in the order of first claims in this run",
		func(s *step) *int { return &s.First.Nth }),
	boolean("undo", "true if the attempt is an undo", func(s *step) *bool { return &s.Claim.Undo }),
	integer("try", "number of the present or last claim", func(s *step) *int { return &s.Attempt }),
	after("at", "time of the claim", func(s *step) *core.Time { return &s.Claim.At }),
	after("firstAt", "time of the first claim in this run, if another claim came after it",
		func(s *step) *core.Time { return &s.First.At }),
	after("stop", "latest time at which a side effect of the attempt begins",
		func(s *step) *core.Time { return &s.Claim.StopBy }),
	after("quiet", "latest stop of the earlier do attempts in this run",
		func(s *step) *core.Time { return &s.Stops.Do }),
	after("undoStop", "latest stop of the earlier undo attempts in this run",
		func(s *step) *core.Time { return &s.Stops.Undo }),
	after("wake", "time until which the step waits", func(s *step) *core.Time { return &s.Wait.At }),
	after("until",
		"end of the wait, or of the time for an answer, as the last claim has fixed it; kept when that is "+
			"over",
		func(s *step) *core.Time { return &s.Wait.Until }),
	integer("allow", "milliseconds that the last request had in the queue; absent once the step is Processed",
		func(s *step) *core.Duration { return &s.Claim.Allowance }),
	integer("queued", "milliseconds that the requests have waited in queues, uncounted",
		func(s *step) *core.Duration { return &s.Failures.Queued }),
	integer("undoFailures", "number of times that the undo has failed or timed out",
		func(s *step) *int { return &s.Failures.Undo }),
	after("end", "time when the step became Processed", func(s *step) *core.Time { return &s.Finish.At }),
	integer("endSeq", `number of the status "step finished"`, func(s *step) *int { return &s.Finish.Seq }),
	text("endCause", "cause that finished the step", func(s *step) *string { return &s.Finish.Cause }),
	text("cause", "cause of the claim", func(s *step) *string { return &s.Claim.Cause }),
	state("endState", "state of the step when the task entered Error, once it is in another state",
		func(s *step) *core.State { return &s.EndState }),
	raw("output", "output that the agent returned", func(s *step) *json.RawMessage { return &s.Output }),
	after("noEffect", "time since which it is proven that no attempt of this run has had an effect",
		func(s *step) *core.Time { return &s.NoEffect }),
	object("error", "last failure", func(s *step) **protocol.StepError { return &s.Error }, errorFields),
	text("failed", "code of the failure after which the order goes on without it",
		func(s *step) *string { return &s.FailureCode }),
	pointer("resolved", "fact that an operator stated",
		func(s *step) **core.Resolved { return &s.Resolved }, nil),
	object("corrected", "input that an operator gave the step in this run, instead of the definition's",
		func(s *step) **protocol.Corrected { return &s.Corrected }, correctedFields),
	pointer("progress", "last progress that the attempt in flight reported",
		func(s *step) **protocol.StepProgress { return &s.Claim.Progress }, checkProgress),
	pointer("answers", "answers by round; only for a step that is answered from outside",
		func(s *step) **protocol.Answers { return &s.Answers }, checkAnswers),
	pointer("children", "state of the step's child tasks",
		func(s *step) **protocol.Children { return &s.Children }, checkChildren),
)

var errorFields = tableOf(
	text("code", "a short stable word", func(e *protocol.StepError) *string { return &e.Code }),
	text("message", "for people", func(e *protocol.StepError) *string { return &e.Message }),
	after("at", "time of the failure", func(e *protocol.StepError) *core.Time { return &e.At }),
	integer("attempt", "number of the attempt that failed",
		func(e *protocol.StepError) *int { return &e.Attempt }),
	after("since",
		"time when the step was first returned uncounted because its agent made no call that could have "+
			"had an effect, if every attempt since then was returned like this",
		func(e *protocol.StepError) *core.Time { return &e.Since }),
	after("polling", "first of these times at which the service answered not-yet",
		func(e *protocol.StepError) *core.Time { return &e.Polling }),
)

var correctedFields = tableOf(
	raw("input", "input that the agent gets", func(c *protocol.Corrected) *json.RawMessage { return &c.Input }),
	integer("command", "number of the command that gave it",
		func(c *protocol.Corrected) *int { return &c.Command }),
	text("by", "person who gave it", func(c *protocol.Corrected) *string { return &c.By }),
	text("reason", "reason for it", func(c *protocol.Corrected) *string { return &c.Reason }),
	after("at", "time of the command", func(c *protocol.Corrected) *core.Time { return &c.At }),
)

var attemptFields = tableOf(
	text("step", "step of the attempt", func(a *protocol.Attempt) *string { return &a.Step }),
	integer("attempt", "number of the claim", func(a *protocol.Attempt) *int { return &a.Number }),
	boolean("undo", "true if the attempt was an undo", func(a *protocol.Attempt) *bool { return &a.Undo }),
	text("agent", "agent, if the definition of the task names another one, or another one first",
		func(a *protocol.Attempt) *string { return &a.Agent }),
	after("began", "time when the attempt began", func(a *protocol.Attempt) *core.Time { return &a.Began }),
	after("ended", "time when the attempt ended", func(a *protocol.Attempt) *core.Time { return &a.Ended }),
	text("outcome", "`failed`, `retry-later`, `overdue`, or `superseded`: undone before a reply came",
		func(a *protocol.Attempt) *core.Outcome { return &a.Outcome }),
	text("code", "reason, a short stable word", func(a *protocol.Attempt) *string { return &a.Code }),
)

var undeliveredFields = tableOf(
	text("replyTo", "logical name of the queue or bus", func(u *core.Undelivered) *string { return &u.ReplyTo }),
	integer("first", "number of the first status that it may not have got",
		func(u *core.Undelivered) *int { return &u.First }),
	text("reason", "why the status could not be sent", func(u *core.Undelivered) *string { return &u.Reason }),
	after("since", "time when it could not be sent for the first time",
		func(u *core.Undelivered) *core.Time { return &u.Since }),
	after("resend", "time at which the statuses are sent again; absent once they are given up",
		func(u *core.Undelivered) *core.Time { return &u.ResendAt }),
)

func lockedBy(w *writer, name *label, t *protocol.Task) {
	var locked string
	var claimed core.Time
	for i := range t.Steps {
		if s := &t.Steps[i]; s.InFlight() && (locked == "" || s.Claim.At >= claimed) {
			locked = s.Claim.By
			claimed = s.Claim.At
		}
	}
	if locked != "" {
		w.text(name, locked)
	}
}

func completeBy(w *writer, name *label, t *protocol.Task) {
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

func failureCount(w *writer, name *label, t *protocol.Task) {
	failures := 0
	for i := range t.Steps {
		failures += t.Steps[i].Failures.Do
	}
	if failures != 0 {
		w.integer(name, int64(failures))
	}
}

func checkAnswers(a *protocol.Answers) error {
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

func checkErasure(e *protocol.Erasure) error { return checkTime(e.At) }

func checkProgress(p *protocol.StepProgress) error { return checkTime(p.At) }

func checkTime(t core.Time) error {
	if !t.InRange() {
		return errRange
	}
	return nil
}

func checkChildren(c *protocol.Children) error {
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

func checkVerdicts(all []protocol.Verdict) error {
	for i := range all {
		if !all[i].At.InRange() {
			return errRange
		}
	}
	return nil
}
