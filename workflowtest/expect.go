package workflowtest

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

func (r *Run) fatal(format string, args ...any) {
	r.w.t.Helper()
	r.w.t.Fatalf("order %s "+format+"; what happened:\n%s",
		append(append([]any{r.id}, args...), r.Timeline())...)
}

func (r *Run) wrong(format string, args ...any) {
	r.w.t.Helper()
	r.w.t.Errorf("order %s "+format+"; what happened:\n%s",
		append(append([]any{r.id}, args...), r.Timeline())...)
}

func (r *Run) expect(want State) {
	r.w.t.Helper()
	if got := r.State(); got != want {
		r.wrong("is %s, expected %s", got, want)
	}
}

// ExpectProcessed fails the test unless the order is Processed.
func (r *Run) ExpectProcessed() {
	r.w.t.Helper()
	r.expect(Processed)
}

// ExpectCompensated fails the test unless the order is Compensated, which means that it failed and its
// completed steps are undone.
func (r *Run) ExpectCompensated() {
	r.w.t.Helper()
	r.expect(Compensated)
}

// ExpectCancelled fails the test unless the order is Cancelled, which means that a cancel ended it and its
// completed steps are undone.
func (r *Run) ExpectCancelled() {
	r.w.t.Helper()
	r.expect(Cancelled)
}

// ExpectClosed fails the test unless the operator has closed the order.
func (r *Run) ExpectClosed() {
	r.w.t.Helper()
	r.expect(Closed)
}

// ExpectError fails the test unless the order is in Error because of the given step, and an alert about this
// Error was sent.
func (r *Run) ExpectError(step string) {
	r.w.t.Helper()
	switch {
	case r.State() != Error:
		r.wrong("is %s, expected Error at %s", r.State(), step)
	case r.task.Reason.Step != step:
		r.wrong("stopped at %q, expected at %q", r.task.Reason.Step, step)
	case !slices.ContainsFunc(r.alerts, func(a Alert) bool { return a.Command == r.task.End.Command }):
		r.wrong("stopped at %s without an alert", step)
	}
}

// ExpectSkipped fails the test unless every given step is Skipped.
func (r *Run) ExpectSkipped(steps ...string) {
	r.w.t.Helper()
	for _, name := range steps {
		if s := r.Step(name); s.State != Skipped {
			r.wrong("has the step %s %s, expected Skipped", name, s.State)
		}
	}
}

// ExpectPath fails the test unless exactly the given steps were completed, in the given order.
func (r *Run) ExpectPath(steps ...string) {
	r.w.t.Helper()
	if !slices.Equal(r.path, steps) {
		r.wrong("was done in the order %v, expected %v", r.path, steps)
	}
}

// ExpectUndone fails the test unless exactly the given steps were undone, in the given order. Without steps,
// it fails the test if any step was undone. A step also counts if its undo calls no agent. Examples are a
// step with undo: none, and an approval that was decided, refused or timed out.
func (r *Run) ExpectUndone(steps ...string) {
	r.w.t.Helper()
	if !slices.Equal(r.undone, steps) {
		r.wrong("was undone in the order %v, expected %v", r.undone, steps)
	}
}

// ExpectCalls fails the test unless the order and its child orders together called the operation n times. The
// operation has the form "payment.charge". To check one child order, call ExpectCalls on the result of Child.
func (r *Run) ExpectCalls(operation string, n int) {
	r.w.t.Helper()
	calls := r.Calls(operation)
	if len(calls) == n {
		return
	}
	times := map[string]int{}
	ids := []string{}
	whose := ""
	for _, c := range calls {
		times[c.OrderID]++
		if times[c.OrderID] == 1 {
			ids = append(ids, c.OrderID)
		}
	}
	for _, id := range ids[:min(len(ids), mostNamed)] {
		whose += fmt.Sprintf(", %d by %s", times[id], id)
	}
	switch {
	case len(ids) == 1 && ids[0] == r.id:
		whose = ""
	case len(ids) > mostNamed:
		whose += ", …"
	}
	r.wrong("called %s %d times%s, expected %d", operation, len(calls), whose, n)
}

const mostNamed = 10

// ExpectOutput fails the test unless the output of the order equals want as JSON.
func (r *Run) ExpectOutput(want any) {
	r.w.t.Helper()
	b, err := rawjson.Marshal(want)
	if err != nil {
		r.fatal("cannot be compared: the expected output cannot be written as JSON: %v", err)
	}
	if !sameJSON(r.task.Output, b) {
		r.wrong("has the output %s, expected %s", r.task.Output, b)
	}
}

func sameJSON(a, b []byte) bool {
	x, err := rawjson.AppendCanonical(nil, a)
	if err != nil {
		return false
	}
	y, err := rawjson.AppendCanonical(nil, b)
	return err == nil && bytes.Equal(x, y)
}
