package state

import (
	"encoding/json"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// step is a step and where it stands: what is assumed of it may depend on both.
type step struct {
	*core.Step
	n    int // its place in the definition
	task *core.Task

	schema int // of the document
}

// taskFields are the members of a document. A member is added here, and nowhere else.
var taskFields = tableOf(
	schemaField(),
	text("OrderID", "the order", func(t *core.Task) *string { return &t.OrderID }),
	state("ProcessState", "of the order as a whole", func(t *core.Task) *core.State { return &t.ProcessState }),
	derived("LockedBy", "who claimed the step that was claimed last, of those in flight", "none is in flight", lockedBy),
	derived("CompleteBy", "the earliest of the steps in flight", "none is in flight", completeBy),
	derived("FailureCount", "of all steps together", "0", failureCount),
	integer("Version", "grows by one with each write; the condition of each write", func(t *core.Task) *int64 { return &t.Version }),
	text("Workflow", "its name", func(t *core.Task) *string { return &t.Workflow }),
	text("Definition", "hash of the definition that the task runs", func(t *core.Task) *string { return &t.Definition }),
	key(moment("Created", "when the order was taken", func(t *core.Task) *core.Time { return &t.Created })),
	text("tokenKey", "ID of the key with which tokens of answers are made", func(t *core.Task) *string { return &t.TokenKey }),
	text("content", "hash of what was submitted", func(t *core.Task) *string { return &t.ContentHash }),
	text("priority", "as submitted", func(t *core.Task) *string { return &t.Priority }),
	text("replyTo", "logical name of the queue that gets the status messages", func(t *core.Task) *string { return &t.ReplyTo }),
	text("phase", "in Error: the direction in which it was going", func(t *core.Task) *core.Phase { return &t.Phase }),
	text("why", "why it is undone", func(t *core.Task) *core.Why { return &t.Why }),
	integer("run", "how often it was started from the beginning", func(t *core.Task) *int { return &t.Run }),
	integer("command", "number of accepted commands", func(t *core.Task) *int { return &t.Command }),
	part("verdicts", "answers to the last commands", func(t *core.Task) *[]core.Verdict { return &t.Verdicts },
		func(v []core.Verdict) bool { return len(v) == 0 }, checkVerdicts),
	triedField(),
	integer("triedFailed", "attempts before those that failed", func(t *core.Task) *int { return &t.Earlier.Failed }),
	integer("triedLater", "attempts before those that were to be made again later", func(t *core.Task) *int { return &t.Earlier.Later }),
	integer("triedOverdue", "attempts before those that had no reply in time", func(t *core.Task) *int { return &t.Earlier.Overdue }),
	integer("triedSuperseded", "attempts before those that were undone before a reply came", func(t *core.Task) *int { return &t.Earlier.Superseded }),
	boolean("cancelAsked", "the caller asked to cancel it", func(t *core.Task) *bool { return &t.CancelAsked }),
	stepsField(),
	integer("hops", "forward claims since the last command", func(t *core.Task) *int { return &t.Hops },
		assumed[core.Task, int]{of: doClaims, says: "all claims of steps to do them"}),
	integer("claims", "places in the order of first claims that were given out in this run", func(t *core.Task) *int { return &t.Claims },
		assumed[core.Task, int]{of: attempted, says: "one for each step that was attempted"}),
	integer("seq", "number of the last status message", func(t *core.Task) *int { return &t.StatusSeq }),
	integer("startSeq", `that of the last "started"`, func(t *core.Task) *int { return &t.StartSeq }),
	text("startCause", "what the run began with", func(t *core.Task) *string { return &t.StartCause },
		assumed[core.Task, string]{of: submitted, says: "`submit` in the first run"}),
	after("startAt", "when the run began, or was taken up again", func(t *core.Task) *core.Time { return &t.StartAt },
		assumed[core.Task, core.Time]{of: startedAt, says: "Created"}),
	after("ended", "when it entered its end, or Error", func(t *core.Task) *core.Time { return &t.Ended },
		assumed[core.Task, core.Time]{of: endedAt, says: "when the last step finished, of a Processed one"}),
	integer("endSeq", "number of the final status", func(t *core.Task) *int { return &t.EndSeq },
		assumed[core.Task, int]{of: endSeq, says: "the last one, of what has ended"}),
	text("endCause", "what led to its end", func(t *core.Task) *string { return &t.EndCause },
		assumed[core.Task, string]{of: endCause, says: "the reply to the step that finished last, of a Processed one; that endStep failed, in Error"}),
	text("endStep", "the step that failed", func(t *core.Task) *string { return &t.EndStep },
		assumed[core.Task, string]{of: undoneFor, says: "of one that is or was undone because a step failed: the step that failed at its first attempt and was not done after it"}),
	text("endCode", "why it stopped or was undone, a short stable word", func(t *core.Task) *string { return &t.EndCode },
		assumed[core.Task, string]{of: func(t *core.Task) string { return failureOf(t, t.EndStep).Code }, says: "that of endStep's error"}),
	text("endText", "the same for people", func(t *core.Task) *string { return &t.EndText },
		assumed[core.Task, string]{of: func(t *core.Task) string { return failureOf(t, t.EndStep).Message }, says: "that of endStep's error"}),
	text("whyStep", "where its undo has stopped: the step because of which it is undone", func(t *core.Task) *string { return &t.UndoneFor.Step }),
	text("whyCode", "where its undo has stopped: why it is undone, a short stable word", func(t *core.Task) *string { return &t.UndoneFor.Code },
		assumed[core.Task, string]{of: func(t *core.Task) string { return failureOf(t, t.UndoneFor.Step).Code }, says: "that of whyStep's error"}),
	text("whyText", "the same for people", func(t *core.Task) *string { return &t.UndoneFor.Text },
		assumed[core.Task, string]{of: func(t *core.Task) string { return failureOf(t, t.UndoneFor.Step).Message }, says: "that of whyStep's error"}),
	integer("endCommand", "command when it entered Error", func(t *core.Task) *int { return &t.EndCommand },
		assumed[core.Task, int]{of: endCommand, says: "command, in Error"}),
	part("closed", "who closed it, and why", func(t *core.Task) **core.Closing { return &t.Closing },
		func(c *core.Closing) bool { return c == nil }, func(*core.Closing) error { return nil }),
	part("removed", "attempts of steps that were taken out when the task was moved to another definition, by name",
		func(t *core.Task) *map[string]int { return &t.Removed },
		func(m map[string]int) bool { return len(m) == 0 }, func(map[string]int) error { return nil }),
	part("parent", "the step that it is a child of", func(t *core.Task) **core.Parent { return &t.Parent },
		func(p *core.Parent) bool { return p == nil }, func(*core.Parent) error { return nil }),
	outputField(),
	derivedOutputField(),
	after("deadline", "by when it has to be done", func(t *core.Task) *core.Time { return &t.Deadline }),
	integer("deadlineSeq", "how many deadlines were set in this run", func(t *core.Task) *int { return &t.DeadlineSeq }),
	after("tell", "when an end that is unreported is reported again", func(t *core.Task) *core.Time { return &t.ResendAt }), //nolint:misspell // the stored name
	after("due", "when the Supervisor looks at it", func(t *core.Task) *core.Time { return &t.Due },
		assumed[core.Task, core.Time]{of: func(t *core.Task) core.Time { return t.ResendAt }, says: "tell"}), //nolint:misspell // the stored name
	boolean("attention", "it stands in the operator's list", func(t *core.Task) *bool { return &t.Attention }),
)

// stepFields are the members of a step.
var stepFields = tableOf(
	integer("N", "its place in the definition", func(s *step) *int { return &s.n }),
	state("ProcessState", "of the step", func(s *step) *core.State { return &s.State }),
	text("LockedBy", "who claimed it", func(s *step) *string { return &s.LockedBy }),
	text("agent", "the agent of its last attempt, where the definition names several and it is not the first of them", func(s *step) *string { return &s.Agent }),
	moment("CompleteBy", "when the Supervisor looks at it", func(s *step) *core.Time { return &s.CompleteBy }),
	integer("FailureCount", "how often it has failed or timed out", func(s *step) *int { return &s.FailureCount },
		assumed[step, int]{says: "0, of one that is not in flight", shown: inFlight}),
	integer("first", "its place in the order of first claims in this run", func(s *step) *int { return &s.First },
		assumed[step, int]{of: firstClaim, says: "N + 1; of a Pending or Skipped one: not attempted in it"}),
	boolean("undo", "the attempt is an undo", func(s *step) *bool { return &s.Undo },
		assumed[step, bool]{of: undoing, says: "true of a Compensating or Compensated one, and of one whose undo has failed and waits"}),
	integer("Attempt", "number of the present or last claim", func(s *step) *int { return &s.Attempt },
		assumed[step, int]{of: attempt, shown: inFlight, says: "of one that is not in flight: one more than it has failed, while it is done and while it is undone; 0 of one that was not attempted"}),
	after("at", "when it was claimed", func(s *step) *core.Time { return &s.ClaimedAt }),
	after("firstAt", "when it was claimed first in this run", func(s *step) *core.Time { return &s.FirstAt },
		assumed[step, core.Time]{of: func(s *step) core.Time { return s.ClaimedAt }, says: "at", first: true}),
	after("stop", "no side effect of the attempt begins later", func(s *step) *core.Time { return &s.StopBy },
		assumed[step, core.Time]{of: func(s *step) core.Time { return s.CompleteBy }, says: "CompleteBy", first: true}),
	after("quiet", "the latest stop of all its attempts to do it in this run", func(s *step) *core.Time { return &s.QuietBy },
		assumed[step, core.Time]{of: quietBy, says: "stop; of one that is not in flight, as long after at as that of the step before it", first: true}),
	after("last", "the latest stop of all its attempts in this run", func(s *step) *core.Time { return &s.LastStopBy },
		assumed[step, core.Time]{of: func(s *step) core.Time { return s.QuietBy }, says: "quiet", first: true}),
	after("wake", "it waits until then", func(s *step) *core.Time { return &s.WakeAt }),
	integer("allow", "milliseconds that its last request had in the queue", func(s *step) *core.Duration { return &s.Allowance },
		assumed[step, core.Duration]{of: allowance, says: "that of the step before it, of an attempted one"}),
	integer("queued", "milliseconds that its requests have waited in queues, uncounted", func(s *step) *core.Duration { return &s.Queued }),
	integer("undoFailures", "how often its undo has failed or timed out", func(s *step) *int { return &s.UndoFailures }),
	after("end", "when it became Processed", func(s *step) *core.Time { return &s.FinishedAt }),
	integer("endSeq", `number of its status "step finished"`, func(s *step) *int { return &s.FinishSeq },
		assumed[step, int]{of: finishSeq, says: "startSeq, and one for each step that finished up to then, where startSeq is there"}),
	text("endCause", "what finished it", func(s *step) *string { return &s.FinishCause },
		assumed[step, string]{of: finishCause, says: "the reply to its last attempt to do it, where endSeq is there", first: true}),
	text("cause", "what led to the claim", func(s *step) *string { return &s.Cause },
		assumed[step, string]{of: claimCause, says: "its own wake-up, after a first attempt that failed; otherwise the reply to the step that finished then, or `submit`"}),
	state("endState", "what the task's Error found it in, once it is in another state", func(s *step) *core.State { return &s.EndState }),
	raw("output", "what its agent answered", func(s *step) *json.RawMessage { return &s.Output }),
	after("noEffect", "since then it is proven that no attempt of this run has had an effect", func(s *step) *core.Time { return &s.NoEffect }),
	object("error", "the last failure", func(s *step) **core.StepError { return &s.Error }, errorFields),
	text("failed", "code of the failure after which the order goes on without it", func(s *step) *string { return &s.FailureCode }),
	part("resolved", "what an operator stated", func(s *step) **core.Resolved { return &s.Resolved },
		func(r *core.Resolved) bool { return r == nil }, func(*core.Resolved) error { return nil }),
	object("corrected", "the input that an operator has given it in this run, in place of the definition's", func(s *step) **core.Corrected { return &s.Corrected }, correctedFields),
	part("progress", "what the attempt in flight reported last", func(s *step) **core.StepProgress { return &s.Progress },
		func(p *core.StepProgress) bool { return p == nil }, checkProgress),
	part("answers", "who has answered what in which round, of a step that is answered from outside", func(s *step) **core.Answers { return &s.Answers },
		func(a *core.Answers) bool { return a == nil }, checkAnswers),
	part("children", "how far it is with its child tasks", func(s *step) **core.Children { return &s.Children },
		func(c *core.Children) bool { return c == nil }, checkChildren),
)

// errorFields are the members of a step's last failure.
var errorFields = tableOf(
	text("code", "a short stable word", func(e *core.StepError) *string { return &e.Code }),
	text("message", "for people", func(e *core.StepError) *string { return &e.Message },
		assumed[core.StepError, string]{of: usualMessage, says: "the usual one of the code `timeout`"}),
	after("at", "when it failed", func(e *core.StepError) *core.Time { return &e.At }),
	integer("attempt", "the attempt that failed", func(e *core.StepError) *int { return &e.Attempt },
		assumed[core.StepError, int]{of: func(*core.StepError) int { return 1 }, says: "1"}),
	after("since", "when the step was first handed back uncounted because its agent made no call that could have had an effect, if it has been so ever since",
		func(e *core.StepError) *core.Time { return &e.Since }),
	after("polling", "the first of these times at which its service answered not-yet, if it did", func(e *core.StepError) *core.Time { return &e.Polling }),
)

// correctedFields are the members of an input that an operator has given.
var correctedFields = tableOf(
	raw("input", "what its agent is given", func(c *core.Corrected) *json.RawMessage { return &c.Input }),
	integer("command", "number of the command that gave it", func(c *core.Corrected) *int { return &c.Command }),
	text("by", "who gave it", func(c *core.Corrected) *string { return &c.By }),
	text("reason", "why", func(c *core.Corrected) *string { return &c.Reason }),
	after("at", "when", func(c *core.Corrected) *core.Time { return &c.At }),
)

func usualMessage(e *core.StepError) string {
	if e.Code == core.CodeTimeout {
		return core.TimeoutText
	}
	return ""
}

func lockedBy(w *writer, name *label, t *core.Task) {
	var locked string
	var claimed core.Time
	for i := range t.Steps {
		if s := &t.Steps[i]; s.InFlight() && (locked == "" || s.ClaimedAt >= claimed) {
			locked, claimed = s.LockedBy, s.ClaimedAt
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
		w.moment(name, by)
	}
}

func failureCount(w *writer, name *label, t *core.Task) {
	failures := 0
	for i := range t.Steps {
		failures += t.Steps[i].FailureCount
	}
	if failures != 0 {
		w.integer(name, int64(failures))
	}
}

func attempted(t *core.Task) (n int) {
	for i := range t.Steps {
		if t.Steps[i].Attempted() {
			n++
		}
	}
	return n
}

func submitted(t *core.Task) string {
	if t.Run == 0 && t.Workflow != "" {
		return "submit"
	}
	return ""
}

func startedAt(t *core.Task) core.Time {
	if t.Workflow == "" { // a tombstone
		return 0
	}
	return t.Created
}

// lastFinished is the step that a Processed task ended with, nil for any other task.
func lastFinished(t *core.Task) (last *core.Step) {
	if t.ProcessState != core.Processed {
		return nil
	}
	for i := range t.Steps {
		if s := &t.Steps[i]; s.FinishedAt != 0 && (last == nil || s.FinishedAt >= last.FinishedAt) {
			last = s
		}
	}
	return last
}

func endedAt(t *core.Task) core.Time {
	if s := lastFinished(t); s != nil {
		return s.FinishedAt
	}
	return 0
}

func endCause(t *core.Task) string {
	if s := lastFinished(t); s != nil {
		return replyDone(s.Name, s.Attempt)
	}
	if s := t.Step(t.EndStep); t.ProcessState == core.Error && s != nil {
		return "reply/" + s.Name + "/" + strconv.Itoa(s.Attempt) + "/failed"
	}
	return ""
}

// undoneFor is the step that most often leads to an undo.
func undoneFor(t *core.Task) string {
	if t.Why != core.WhyFailure || t.ProcessState != core.Compensating && t.ProcessState != core.Compensated {
		return ""
	}
	for _, a := range usualAttempts(t) {
		if a.Outcome == core.OutcomeFailed {
			return a.Step
		}
	}
	return ""
}

func endSeq(t *core.Task) int {
	if t.Ended != 0 {
		return t.StatusSeq
	}
	return 0
}

func endCommand(t *core.Task) int {
	if t.ProcessState == core.Error {
		return t.Command
	}
	return 0
}

// failureOf is the last failure of the named step.
func failureOf(t *core.Task, step string) core.StepError {
	if s := t.Step(step); s != nil && s.Error != nil {
		return *s.Error
	}
	return core.StepError{}
}

func firstClaim(s *step) int {
	if s.State == core.Pending || s.State == core.Skipped {
		return 0
	}
	return s.n + 1
}

func undoing(s *step) bool {
	return s.State == core.Compensating || s.State == core.Compensated || s.State == core.UndoWait && s.UndoFailures > 0
}

// inFlight: of what is under way a document shows all that the pattern names.
func inFlight(s *step) bool { return s.InFlight() }

// attempt is the number of the claim where each failure led to one more and nothing else did.
func attempt(s *step) int {
	if s.First == 0 {
		return 0
	}
	n := s.FailureCount
	if n == 0 || s.FinishedAt != 0 || s.State == core.Processing {
		n++ // the last one did not fail
	}
	if s.Undo {
		n += undoClaims(s.Step)
	}
	return n
}

// undoClaims is how often its undo was asked for: the last time has failed where it waits.
func undoClaims(s *core.Step) int {
	if s.State == core.UndoWait {
		return s.UndoFailures
	}
	return s.UndoFailures + 1
}

// before is the step before it in the definition, nil for the first.
func before(s *step) *core.Step {
	if s.n == 0 || s.n > len(s.task.Steps) {
		return nil
	}
	return &s.task.Steps[s.n-1]
}

func quietBy(s *step) core.Time {
	if p := before(s); s.schema > 1 && s.StopBy == 0 && s.ClaimedAt != 0 && p != nil && p.QuietBy != 0 {
		return s.ClaimedAt + p.QuietBy - p.ClaimedAt
	}
	return s.StopBy
}

func allowance(s *step) core.Duration {
	if p := before(s); p != nil && s.First > 0 {
		return p.Allowance
	}
	return 0
}

func finishSeq(s *step) int {
	if s.task.StartSeq == 0 || s.FinishedAt == 0 {
		return 0
	}
	n := s.task.StartSeq
	for i := range s.task.Steps {
		p := &s.task.Steps[i]
		if p.FinishedAt != 0 && (p.FinishedAt < s.FinishedAt || p.FinishedAt == s.FinishedAt && i <= s.n) {
			n++
		}
	}
	return n
}

func doClaims(t *core.Task) (n int) {
	for i := range t.Steps {
		if s := &t.Steps[i]; s.Attempted() {
			n += doneBy(s)
		}
	}
	return n
}

// finishCause is the cause of a finish that was notified.
func finishCause(s *step) string {
	switch {
	case s.FinishSeq == 0:
		return ""
	case s.schema == 1:
		return replyDone(s.Name, s.Attempt)
	}
	return replyDone(s.Name, doneBy(s.Step))
}

// doneBy is the attempt that did it, of a step that is being undone the one before the undo's own.
func doneBy(s *core.Step) int {
	if s.Undo {
		return s.Attempt - undoClaims(s)
	}
	return s.Attempt
}

// claimCause is what most often leads to a claim: of a further attempt its wake-up, of a first one the
// reply to the step that finished at that moment.
func claimCause(s *step) string {
	switch {
	case !s.InFlight():
		return ""
	case s.Attempt > 1 && (!s.Undo || s.UndoFailures > 0):
		return "wake/" + s.Name + "/" + strconv.Itoa(s.Attempt-1)
	}
	for i := len(s.task.Steps) - 1; i >= 0; i-- {
		if p := &s.task.Steps[i]; p.FinishedAt == s.ClaimedAt && p.State == core.Processed {
			return replyDone(p.Name, doneBy(p))
		}
	}
	return "submit"
}

func replyDone(step string, attempt int) string {
	return "reply/" + step + "/" + strconv.Itoa(attempt) + "/done"
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

func checkProgress(p *core.StepProgress) error {
	if !p.At.InRange() {
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
