package state_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

func tried(list ...core.Attempt) *core.Task {
	const t0 = core.Time(1_795_000_000_000)
	t := &core.Task{OrderID: "o-1", Workflow: "order", ProcessState: core.Processing, Version: 1, Created: t0, Steps: []core.Step{
		{Name: "hold", State: core.Processed, Attempt: 2, First: 1, FirstAt: t0 + 5, ClaimedAt: t0 + 2000, FailureCount: 1,
			Error: &core.StepError{Code: "http-503", Message: "busy", At: t0 + 1005, Attempt: 1}},
		{Name: "pay", State: core.Pending},
	}}
	for i := range list {
		list[i].Began += t0
		list[i].Ended += t0
	}
	t.Attempts = list
	return t
}

func attempt(step string, n int, began, ended core.Time, outcome core.Outcome, code string) core.Attempt {
	return core.Attempt{Step: step, Number: n, Began: began, Ended: ended, Outcome: outcome, Code: code}
}

// Attempts cost few bytes: what follows from the steps' errors is left out, and what is as in the attempt before.
func TestAttemptsAreStoredShortly(t *testing.T) {
	usual := attempt("hold", 1, 5, 1005, core.OutcomeRetryLater, "http-503")
	undone := attempt("pay", 2, 6000, 7000, core.OutcomeOverdue, "timeout")
	undone.Undo, undone.Agent = true, "courier"
	withdrawn := attempt("pay", 2, 20, 30, core.OutcomeFailed, "no")
	withdrawn.Undo = true
	for name, x := range map[string]struct {
		list []core.Attempt
		want string // "" where it is left out
	}{
		"as the errors say":       {[]core.Attempt{usual}, ""},
		"none, against them":      {nil, `"tried":""`},
		"one more":                {[]core.Attempt{usual, attempt("pay", 1, 1005, 2005, core.OutcomeSuperseded, "")}, `"tried":"=0;1.1 0 s:"`},
		"one after another":       {[]core.Attempt{attempt("pay", 1, 10, 20, core.OutcomeFailed, "no"), attempt("pay", 2, 30, 40, core.OutcomeFailed, "no"), attempt("pay", 3, 45, 56, core.OutcomeFailed, "no")}, `"tried":"1.1 10 10 f:no;;5 11"`},
		"another operation":       {[]core.Attempt{attempt("pay", 1, 10, 20, core.OutcomeFailed, "no"), withdrawn}, `"tried":"1.1 10 10 f:no;1.2u 0"`},
		"another code":            {[]core.Attempt{attempt("pay", 1, 10, 20, core.OutcomeFailed, "no"), attempt("pay", 2, 30, 40, core.OutcomeFailed, "never")}, `"tried":"1.1 10 10 f:no;f:never"`},
		"at the same time":        {[]core.Attempt{attempt("pay", 1, 10, 500, core.OutcomeFailed, "no"), attempt("hold", 4, 10, 500, core.OutcomeFailed, "no")}, `"tried":"1.1 10 490 f:no;0.4 -490"`},
		"an undo, another agent":  {[]core.Attempt{undone}, `"tried":"1.2u 6000 1000 o:timeout @courier"`},
		"a step that was removed": {[]core.Attempt{attempt("gone", 7, 1, 1, core.OutcomeRetryLater, "a/b")}, `"tried":"gone.7 1 r:a%2Fb"`},
	} {
		t.Run(name, func(t *testing.T) {
			task := tried(slices.Clone(x.list)...)
			document, err := state.EncodeTask(task)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(document), x.want) || x.want == "" && strings.Contains(string(document), "tried") {
				t.Errorf("it is stored as %s, want %s", document, x.want)
			}
			back, err := state.DecodeTask(document)
			if err != nil || !slices.Equal(back.Attempts, task.Attempts) {
				t.Errorf("it comes back as %+v (%v), want %+v", back.Attempts, err, task.Attempts)
			}
		})
	}
}

// What stands in a document must be readable, and says where it is not.
func TestAttemptsThatCannotBeRead(t *testing.T) {
	document, err := state.EncodeTask(tried())
	if err != nil {
		t.Fatal(err)
	}
	for text, want := range map[string]string{
		"=1": "no step with that N has failed once", "=9": "no step with that N has failed once", "=x": "no step with that N",
		"1.x 1 1": "invalid syntax", "1.1 5 5 5": `"5" is one time too many`, "1.1 5 f:%zz": "invalid URL escape",
		"1.1 99999999999999999 1": "outside of the years", "1.1 x": "not a whole number", "=0;1.1 -1795000009001": "outside of the years",
	} {
		_, err := state.DecodeTask([]byte(strings.Replace(string(document), `"tried":""`, `"tried":"`+text+`"`, 1)))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "tried: the entry") {
			t.Errorf("%q is read with the error %v, want %s", text, err, want)
		}
	}
}
