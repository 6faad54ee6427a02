package workflowtest_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// pair is a, then b; each undone. a is fenced, b idempotent.
const pair = `workflow: pair
agents:
  left: {queueAllowance: 1s, clockSkew: 100ms}
  right: {queueAllowance: 1s, clockSkew: 100ms}
steps:
  a:
    agent: left
    operation: do-a
    input: ${ order }
    timeout: 1s
    retry: {maxFailures: 2, backoff: {initial: 1s, max: 2s, jitter: 0}}
    onFailure: undo
    undo: undo-a
    grade: fenced
  b:
    agent: right
    operation: do-b
    after: [a]
    timeout: 1s
    retry: {maxFailures: 2, backoff: {initial: 1s, max: 2s, jitter: 0}}
    onFailure: undo
    undo: undo-b
    grade: idempotent
`

func both(t testing.TB) *workflowtest.Workflow {
	return workflowtest.NewFromYAML(t, pair).AllowUnscripted()
}

var transient = workflowtest.Transient("busy", "later")

// What each answer of a script leads to.
func TestScripts(t *testing.T) {
	for _, c := range []struct {
		name   string
		script func(*workflowtest.Operation)
		state  workflowtest.State
		calls  int // of do-b
		took   time.Duration
	}{
		{"none", func(*workflowtest.Operation) {}, workflowtest.Processed, 1, 0},
		{"done", func(o *workflowtest.Operation) { o.Return(1) }, workflowtest.Processed, 1, 0},
		{"slow", func(o *workflowtest.Operation) {
			o.Return(1).After(900 * time.Millisecond)
		}, workflowtest.Processed, 1, 900 * time.Millisecond},
		{"too slow once", func(o *workflowtest.Operation) {
			o.Return(1).After(5 * time.Second).Return(2)
		}, workflowtest.Processed, 2, 2 * time.Second},
		{"late on its way", func(o *workflowtest.Operation) {
			o.Return(1).ArrivesAfter(2500 * time.Millisecond)
		}, workflowtest.Processed, 1, 2500 * time.Millisecond},
		{"fails once", func(o *workflowtest.Operation) {
			o.FailTimes(1, transient)
		}, workflowtest.Processed, 2, time.Second},
		{
			"fails too often", func(o *workflowtest.Operation) { o.Fail(transient) }, workflowtest.Compensated,
			2, 0,
		},
		{"asks to wait", func(o *workflowtest.Operation) {
			o.Fail(workflowtest.RetryAfter(7*time.Second, "busy", "later")).Return(1)
		}, workflowtest.Processed, 2, 7 * time.Second},
		{"asks again when it can be done", func(o *workflowtest.Operation) {
			o.Fail(workflowtest.NotYet(7 * time.Second)).Return(1)
		}, workflowtest.Processed, 2, 7 * time.Second},
		{"fails for good", func(o *workflowtest.Operation) {
			o.Fail(workflowtest.Permanent("no", "never"))
		}, workflowtest.Compensated, 1, 0},
		{"in doubt once", func(o *workflowtest.Operation) {
			o.Fail(workflowtest.InDoubt("reset", "connection lost")).Return(1)
		}, workflowtest.Processed, 2, time.Second},
		{
			"any error", func(o *workflowtest.Operation) { o.Fail(errors.New("ouch")) },
			workflowtest.Compensated, 2, 0,
		},
		{
			"silent once", func(o *workflowtest.Operation) { o.Silent().Return(1) }, workflowtest.Processed, 2,
			0,
		},
		{"silent", func(o *workflowtest.Operation) { o.Silent() }, workflowtest.Compensated, 2, 0},
		{"computed", func(o *workflowtest.Operation) {
			o.Func(func(c workflowtest.Call) (any, error) {
				if c.Attempt == 1 {
					return nil, transient
				}
				return c.Key, nil
			})
		}, workflowtest.Processed, 2, time.Second},
		{
			"an output that is no JSON", func(o *workflowtest.Operation) { o.Return(make(chan int)) },
			workflowtest.Compensated, 1, 0,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := both(t)
			c.script(w.Agent("right").On("do-b"))
			run := w.Submit(map[string]int{"x": 1}).UntilEnd(time.Hour)
			require.Equal(t, c.state, run.State())
			require.Len(t, run.Calls("right.do-b"), c.calls, "%+v", c.state)
			if took := w.Now().Sub(workflowtest.Start); c.took != 0 &&
				(took < c.took || took > c.took+200*time.Millisecond) {
				t.Errorf("it took %s, want %s\n%s", took, c.took, run.Timeline())
			}
			if c.state == workflowtest.Compensated {
				run.ExpectUndone("b", "a")
				run.ExpectCalls("left.undo-a", 1)
			} else {
				run.ExpectPath("a", "b")
				run.ExpectUndone()
			}
			require.Equal(t, `{"x":1}`, string(run.Calls("left.do-a")[0].Input))
		})
	}
}

// story plays a test with everything that could differ from one time to the next.
func story(t testing.TB) string {
	w := both(t)
	w.Agent("right").On("do-b").FailTimes(1, transient).Silent().Fail(workflowtest.RetryAfter(90*time.Minute,
		"busy", "later")).Return(1)
	w.Agent("left").On("do-a").Return(1).After(300 * time.Millisecond)
	var runs []*workflowtest.Run
	for i := range 5 {
		runs = append(runs, w.Submit(i))
		w.Advance(70 * time.Millisecond)
	}
	runs[1].Cancel()
	again := refused(t, "undo")
	closed := refused(t, "stop")
	again.Resubmit()
	closed.Resolve("b", workflowtest.Happened)
	closed.ResubmitWith("b", 7)
	closed.Close("ann", "by hand")
	waits := workflowtest.NewFromYAML(t, "workflow: waits\nsteps:\n  day: {wait: {for: 1d}}\n").Submit(1)
	var b strings.Builder
	for _, r := range append(runs, again, closed, waits) {
		r.UntilEnd(25 * time.Hour)
		fmt.Fprintf(&b, "%s\n%s%v %v\n%+v\n%+v\n", r.ID(), r.Timeline(), r.Path(), r.Undone(), r.Calls(""),
			r.Statuses())
	}
	return b.String()
}

// A test has the whole story of its orders, and the same one each time.
func TestSameStoryEachTime(t *testing.T) {
	for range 3 {
		golden.Assert(t, story(t), "story.txt")
	}
}

func TestNoGoroutinesNoRealTime(t *testing.T) {
	before := runtime.NumGoroutine()
	began := time.Now()
	w := both(t)
	w.Agent("right").On("do-b").Silent()
	w.Submit(1).UntilEnd(time.Hour)
	w.Advance(365 * 24 * time.Hour)
	require.LessOrEqual(t, runtime.NumGoroutine(), before)
	require.LessOrEqual(t, time.Since(began), 5*time.Second)
}

// Commands, and what they answer.
func TestCommands(t *testing.T) {
	w := both(t)
	w.Agent("right").On("do-b").Fail(workflowtest.Permanent("no", "never"))
	run := w.Submit(1, workflowtest.WithID("x")).UntilEnd(time.Hour)
	run.ExpectCompensated()
	w.Agent("right").On("do-b").Return("now")
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Hour)
	run.ExpectProcessed()
	run.ExpectPath("a", "b")
	run.ExpectUndone() // of the second run
	keys := run.Calls("right.do-b")
	require.Equal(t, "x/0/b", keys[0].Key)
	require.Equal(t, "x/1/b", keys[1].Key)
	require.Equal(t, 1, run.Task().Run)
	v := run.Cancel()
	require.False(t, v.Accepted, "a cancel after the end: %+v", v)
	require.NotEmpty(t, v.Reason)

	run = w.Submit(2)
	if v := run.Cancel(); !v.Accepted { // before an agent was asked
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Hour).ExpectCancelled()
}

// refused is an order whose second step was refused, where its policy is undo or stop.
func refused(t testing.TB, policy string) *workflowtest.Run {
	w := workflowtest.NewFromYAML(t,
		strings.ReplaceAll(pair, "onFailure: undo", "onFailure: "+policy)).AllowUnscripted()
	w.Agent("right").On("do-b").Fail(workflowtest.Permanent("no", "never"))
	run := w.Submit(1).UntilEnd(time.Hour)
	w.Advance(time.Minute) // past the time in which the agent may still be at work
	return run
}

// A plain service is called once: at another attempt its agent's ledger forbids the call, or answers at once
// what the first one came to.
func TestPlainServicesAreCalledOnce(t *testing.T) {
	plain := strings.Replace(pair, "undo: undo-b\n    grade: idempotent", "undo: none\n    grade: plain", 1)
	for want, script := range map[string]func(*workflowtest.Operation){
		"+3.000s  b: right.do-b, attempt 2: not called: the ledger of the plain service forbids it": func(
			o *workflowtest.Operation,
		) {
			o.Silent()
		},
		"+3.000s  b: right answers done": func(o *workflowtest.Operation) {
			o.Return(1).ArrivesAfter(9 * time.Second)
		},
	} {
		story := judged(t, func(t testing.TB) {
			w := workflowtest.NewFromYAML(t, plain).AllowUnscripted()
			script(w.Agent("right").On("do-b"))
			w.Submit(1).UntilEnd(time.Hour).ExpectCalls("right.do-b", 2)
		})
		require.Contains(t, story, "called right.do-b 1 times", want)
		require.Contains(t, story, want)
	}
}

// An order in Error has alerted the operator, who states what happened and goes on; the story says which
// commands were refused, and why.
func TestOperatorGoesOn(t *testing.T) {
	run := refused(t, "stop")
	run.ExpectError("b")
	if a := run.Alerts(); len(a) != 1 || a[0].Step != "b" || a[0].Code != "no" ||
		run.State() != workflowtest.Error || !run.Ended() {
		t.Errorf("alerts %+v of an order that is %s", a, run.State())
	}
	v := run.Resolve("a", workflowtest.Happened)
	require.False(t, v.Accepted, "a fact about a step that is done: %+v\n%s", v, run.Timeline())
	require.Contains(t, run.Timeline(), "command resolve refused: "+v.Reason)
	require.True(t, run.Resolve("b", workflowtest.Happened).Accepted)
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Hour).ExpectProcessed()
	run.ExpectCalls("right.do-b", 1)
	story := run.Timeline()
	require.Equal(t, 1, strings.Count(story, "refused:"))
	require.Contains(t, story, "ALERT to the operator: b")
	stated := refused(t, "stop")
	require.True(t, stated.ResolveWith("b", map[string]int{"charged": 12}).Accepted)
	stated.Resubmit()
	stated.UntilEnd(time.Hour).ExpectProcessed()
	require.Contains(t, stated.Timeline(), `command resolve b, happened, {"charged":12}`)
	again := refused(t, "stop")
	require.True(t, again.Undo().Accepted)
	again.UntilEnd(time.Hour).ExpectCompensated()
}

// Another input for a step (P51): refused while it is in doubt whether it happened, then under the same key.
func TestOperatorGivesAnotherInput(t *testing.T) {
	w := workflowtest.NewFromYAML(t,
		strings.ReplaceAll(pair, "onFailure: undo", "onFailure: stop")).AllowUnscripted()
	w.Agent("right").On("do-b").Fail(workflowtest.Permanent("no", "never"))
	run := w.Submit(1).UntilEnd(time.Hour)
	w.Advance(time.Minute)
	input := map[string]any{"amount": 12}
	v := run.ResubmitWith("b", input)
	require.False(t, v.Accepted, "in doubt: %+v", v)
	require.Contains(t, v.Reason, "resolve the step as not-happened first")
	require.True(t, run.Resolve("b", workflowtest.NotHappened).Accepted)
	w.Agent("right").On("do-b").Return("now")
	require.True(t, run.ResubmitWith("b", input).Accepted)
	run.UntilEnd(time.Hour).ExpectProcessed()
	calls := run.Calls("right.do-b")
	require.Len(t, calls, 2)
	require.Equal(t, calls[1].Key, calls[0].Key)
	require.Equal(t, `{"amount":12}`, string(calls[1].Input))
	require.NotEqual(t, string(calls[1].Input), string(calls[0].Input))
	require.Contains(t, run.Timeline(), `{"amount":12}`)
}

// Why an order was undone is the failure that led to it, also where its undo stopped for the operator, and
// where it was cancelled when all was undone.
func TestWhyItWasUndone(t *testing.T) {
	w := both(t)
	w.Agent("right").On("do-b").Fail(workflowtest.Permanent("sold-out", "there is none left"))
	w.Agent("left").On("undo-a").Fail(workflowtest.Permanent("locked", "the account is locked"))
	run := w.Submit(1).UntilEnd(time.Hour)
	run.ExpectError("a")
	want := view.TaskError{Code: "sold-out", Message: "there is none left", Step: "b"}
	task := run.Task()
	require.NotNil(t, task.UndoneFor)
	require.Equal(t, want, *task.UndoneFor)
	require.Equal(t, "locked", task.Error.Code)
	w.Agent("left").On("undo-a").Return(nil)
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Hour).ExpectCompensated()
	require.True(t, run.Cancel().Accepted)
	run.UntilEnd(time.Hour).ExpectCancelled()
	task = run.Task()
	require.NotNil(t, task.Error, "it was undone because of %s, %+v, %+v", task.Why, task.Error, task.UndoneFor)
	require.Equal(t, want, *task.Error)
	require.Nil(t, task.UndoneFor)
	require.EqualValues(t, "failure", task.Why)
}

// What was tried stays reported: the last 16 attempts that did not end done, and how many before them.
func TestReportedAttemptsStay(t *testing.T) {
	const runs = 19
	w := both(t)
	op := w.Agent("left").On("do-a")
	for range runs {
		op.Fail(workflowtest.Permanent("locked", "the account is locked"))
	}
	op.Silent().Return(1)
	run := w.Submit(1).UntilEnd(time.Hour)
	for range runs - 1 {
		run.ExpectCompensated()
		require.True(t, run.Resubmit().Accepted)
		run.UntilEnd(time.Hour)
	}
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(24 * time.Hour)
	task := run.Task()
	require.Len(t, task.Attempts, 16)
	require.NotNil(t, task.Earlier)
	require.Equal(t, view.Earlier{Failed: runs + 1 - 16}, *task.Earlier)
	for i, a := range task.Attempts {
		want := view.Attempt{
			Step: "a", Number: 2*(runs+1-16+i) + 1, Operation: "do", Agent: "left",
			Began: a.Began, Ended: a.Ended, Outcome: "failed", Code: "locked",
		}
		if i == 15 {
			want.Outcome = "overdue"
			want.Code = "timeout"
		}
		if a != want || a.Ended < a.Began || i > 0 && a.Began < task.Attempts[i-1].Ended {
			t.Errorf("attempt %d is %+v, want %+v", i, a, want)
		}
	}
}

func TestDeadline(t *testing.T) {
	text := strings.Replace(pair, "workflow: pair\n", "workflow: pair\ndeadline: 10m\nonDeadline: undo\n", 1)
	w := workflowtest.NewFromYAML(t, text).AllowUnscripted()
	w.Agent("left").On("do-a").Silent().Return(1)
	run := w.Submit(1, workflowtest.WithDeadline(workflowtest.Start.Add(time.Second))).UntilEnd(time.Hour)
	run.ExpectCompensated()
	run.ExpectCalls("right.do-b", 0)
}

// judge is a testing.TB that keeps its messages.
type judge struct {
	testing.TB
	errors []string
}

func (j *judge) Helper() {}
func (j *judge) Errorf(format string, args ...any) {
	j.errors = append(j.errors, fmt.Sprintf(format, args...))
}

func (j *judge) Fatalf(format string, args ...any) {
	j.Errorf(format, args...)
	runtime.Goexit()
}

// judged runs a test that fails, and answers what it says.
func judged(t *testing.T, test func(testing.TB)) string {
	j := &judge{TB: t}
	done := make(chan struct{})
	go func() {
		defer close(done)
		test(j)
	}()
	<-done
	return strings.Join(j.errors, "\n")
}

// Outputs are compared as numbers with all their digits, however they are written.
func TestOutputsWithLongNumbers(t *testing.T) {
	text := strings.Replace(pair, "workflow: pair\n", "workflow: pair\noutput: ${ order }\n", 1)
	for expected, same := range map[string]bool{
		`[10e399,9007199254740993,1.50]`: true, `[1e400,9007199254740992,1.5]`: false,
		`[1e401,9007199254740993,1.5]`: false,
	} {
		reported := judged(t, func(t testing.TB) {
			workflowtest.NewFromYAML(t,
				text).AllowUnscripted().Submit(json.RawMessage(`[1e400,9007199254740993,1.5]`)).
				UntilEnd(time.Hour).ExpectOutput(json.RawMessage(expected))
		})
		require.Equal(t, same, reported == "", expected)
	}
}

// A failing test prints what is wrong, and what happened.
func TestFailuresSayWhatWasExpected(t *testing.T) {
	ended := func(t testing.TB) *workflowtest.Run {
		text := strings.Replace(pair, "workflow: pair\n", "workflow: pair\noutput: {x: 2}\n", 1)
		return workflowtest.NewFromYAML(t, text).AllowUnscripted().Submit(1).UntilEnd(time.Hour)
	}
	var reported strings.Builder
	for _, c := range []struct {
		name string
		test func(testing.TB)
	}{
		{"broken file", func(t testing.TB) { workflowtest.NewFromYAML(t, "workflow: x\n") }},
		{"no file", func(t testing.TB) { workflowtest.New(t, "nowhere.yaml") }},
		{"no agent", func(t testing.TB) { both(t).Agent("middle") }},
		{"no operation", func(t testing.TB) { both(t).Agent("left").On("do-b") }},
		{"no script", func(t testing.TB) { workflowtest.NewFromYAML(t, pair).Submit(1).UntilEnd(time.Hour) }},
		{"no step", func(t testing.TB) { ended(t).Step("c") }},
		{"no end", func(t testing.TB) {
			w := both(t)
			w.Agent("left").On("do-a").Silent()
			w.Submit(1).UntilEnd(time.Second)
		}},
		{"no such state", func(t testing.TB) {
			both(t).Submit(1).UntilStep("b", workflowtest.Failed,
				time.Minute)
		}},
		{"modifier first", func(t testing.TB) { both(t).Agent("left").On("do-a").After(1) }},
		{"no order", func(t testing.TB) { both(t).Submit(nil) }},
		{"processed", func(t testing.TB) { ended(t).ExpectCompensated() }},
		{"not in error", func(t testing.TB) { ended(t).ExpectError("b") }},
		{"not skipped", func(t testing.TB) { ended(t).ExpectSkipped("a") }},
		{"not processed", func(t testing.TB) { refused(t, "undo").ExpectProcessed() }},
		{"not cancelled", func(t testing.TB) { refused(t, "undo").ExpectCancelled() }},
		{"another step in error", func(t testing.TB) { refused(t, "stop").ExpectError("a") }},
		{"no output", func(t testing.TB) { refused(t, "stop").Output(new(any)) }},
		{"output of another form", func(t testing.TB) { ended(t).Output(new(chan int)) }},
		{"no times", func(t testing.TB) { both(t).Agent("left").On("do-a").FailTimes(0, transient) }},
		{"late before an answer", func(t testing.TB) { both(t).Agent("left").On("do-a").ArrivesAfter(1) }},
		{"no such step", func(t testing.TB) {
			both(t).Submit(1).UntilStep("c", workflowtest.Failed,
				time.Minute)
		}},
		{"path", func(t testing.TB) { ended(t).ExpectPath("b", "a") }},
		{"undone", func(t testing.TB) { ended(t).ExpectUndone("a") }},
		{"calls", func(t testing.TB) { ended(t).ExpectCalls("left.do-a", 2) }},
		{"output", func(t testing.TB) { ended(t).ExpectOutput(map[string]any{"x": 1}) }},
		{"no child", func(t testing.TB) { ended(t).Child("a", 0) }},
		{"not closed", func(t testing.TB) { ended(t).ExpectClosed() }},
		{"an order that is no JSON", func(t testing.TB) { both(t).Submit(make(chan int)) }},
		{
			"an input that is no JSON",
			func(t testing.TB) { refused(t, "stop").ResubmitWith("b", make(chan int)) },
		},
		{"an answer that is no JSON", func(t testing.TB) { ended(t).Answer("a", "ann", make(chan int)) }},
		{"expects what is no JSON", func(t testing.TB) { ended(t).ExpectOutput(make(chan int)) }},
		{"no link", func(t testing.TB) { ended(t).OpenLink(":") }},
		{"another workflow", func(t testing.TB) {
			both(t).DeployYAML(strings.Replace(pair, "workflow: pair", "workflow: other", 1))
		}},
		{
			"an agent more",
			func(t testing.TB) { both(t).DeployYAML(strings.ReplaceAll(pair, "right", "middle")) },
		},
		{"an agent more in a block", func(t testing.TB) {
			both(t).DeployYAML(pair + "  c: {steps: {d: {agent: middle, operation: do-d, timeout: 1s, " +
				"onFailure: undo, undo: none, grade: fenced}}}\n")
		}},
	} {
		fmt.Fprintf(&reported, "== %s\n%s\n", c.name, judged(t, c.test))
	}
	golden.Assert(t, reported.String(), "failures.txt")
}

// The calls of an order are those of its children too, in the order in which they were made, and a failure
// says whose they are.
func TestCallsOfChildOrders(t *testing.T) {
	const text = `{"items":[{"sku":"cup"},{"sku":"pot"}],"card":"c"}`
	submitted := func(t testing.TB) *workflowtest.Run {
		w := workflowtest.New(t, "../examples/shipments/shipments.yaml").AllowUnscripted()
		w.Submit(json.RawMessage(text)).UntilEnd(time.Hour) // the calls of this order do not count
		return w.Submit(json.RawMessage(text)).UntilEnd(time.Hour)
	}
	run := submitted(t)
	run.ExpectCalls("carrier.send", 2)
	run.ExpectCalls("payment.charge", 1)
	run.Child("ship", 1).ExpectCalls("carrier.send", 1)
	run.Child("ship", 1).ExpectCalls("payment.charge", 0)
	var made []string
	for _, c := range run.Calls("") {
		made = append(made, strings.TrimPrefix(c.OrderID, run.ID())+" "+c.Operation)
	}
	want := []string{
		" payment.charge", "~ship~0 stock.pick", "~ship~0 carrier.send", "~ship~1 stock.pick",
		"~ship~1 carrier.send",
	}
	require.Equal(t, want, made)
	got := judged(t, func(t testing.TB) { submitted(t).ExpectCalls("carrier.send", 1) })
	if want := "called carrier.send 2 times, 1 by " + run.ID() + "~ship~0, 1 by " + run.ID() +
		"~ship~1, expected 1; "; !strings.Contains(got, want) {
		t.Errorf("it says %q, want %q", got, want)
	}
}

func TestShippedWorkflowsLoad(t *testing.T) {
	files, err := os.ReadDir("../examples/order")
	require.NoError(t, err)
	names := []string{}
	for _, f := range files {
		if strings.HasSuffix(f.Name(), ".yaml") {
			workflowtest.New(t, "../examples/order/"+f.Name())
			names = append(names, f.Name())
		}
	}
	require.Contains(t, names, "order.yaml")
}

// An order that a bug of its workflow has stopped goes on with the fixed one, once it is moved there.
func TestMoveToAFixedWorkflow(t *testing.T) {
	stops := strings.ReplaceAll(pair, "onFailure: undo", "onFailure: stop")
	fixed := strings.Replace(stops, "after: [a]\n", "after: [a]\n    input: {n: \"${ order.n }\"}\n", 1)
	w := workflowtest.NewFromYAML(t, strings.Replace(fixed, "order.n }", "order.missing.n }",
		1)).AllowUnscripted()
	run := w.Submit(map[string]int{"n": 7}).UntilEnd(time.Hour)
	run.ExpectError("b")
	w.DeployYAML(strings.Replace(fixed, "operation: do-a", "operation: do-other", 1))
	v := run.Move()
	require.False(t, v.Accepted, "what was done is another thing there: %+v", v)
	require.Contains(t, v.Reason, "step a: its operation changed from \"do-a\" to \"do-other\"")
	file := filepath.Join(t.TempDir(), "pair.yaml")
	require.NoError(t, os.WriteFile(file, []byte(fixed), 0o600))
	w.Deploy(file)
	before := run.Task().Definition
	require.True(t, run.Move().Accepted)
	require.NotEqual(t, before, run.Task().Definition)
	require.Equal(t, workflowtest.Error, run.State())
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Hour).ExpectProcessed()
	var input struct{ N int }
	c := run.Calls("right.do-b")
	require.Len(t, c, 1)
	require.NoError(t, c[0].Into(&input))
	require.Equal(t, 7, input.N)
	require.ErrorContains(t, c[0].Into(new(string)), "input of right.do-b", "an input of another form")
	require.Len(t, run.Calls("left.do-a"), 1)
}

// Why a person answers as they do stands in the history, beside the answer.
func TestAnswerWithAReason(t *testing.T) {
	w := workflowtest.NewFromYAML(t,
		"workflow: ask\nsteps:\n  agree: {approval: {question: Go?, answers: ['yes', 'no'], timeout: 1h, "+
			"onTimeout: undo}}\n")
	run := w.Submit(1)
	w.Advance(time.Minute)
	require.True(t, run.AnswerWith("agree", "ann", "yes", "the customer called").Accepted)
	run.UntilEnd(time.Hour).ExpectProcessed()
	require.Contains(t, run.Timeline(), `command answer agree, "yes", ann, the customer called`)
}

// The call in progress has its effect, and nobody replies. The restarted engine asks again under the same key.
func TestRestart(t *testing.T) {
	w := both(t)
	w.Agent("left").On("do-a").Return(nil).After(500 * time.Millisecond)
	run := w.Submit(map[string]any{})
	w.Advance(100 * time.Millisecond)
	w.Restart()
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("left.do-a", 2)
	require.Equal(t, run.Calls("left.do-a")[0].Key, run.Calls("left.do-a")[1].Key)
	require.Equal(t, 1, run.Step("a").Failures)
	require.Contains(t, run.Timeline(), "restart")
}
