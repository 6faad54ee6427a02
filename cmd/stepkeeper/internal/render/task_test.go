package render_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var (
	begin = core.TimeOf(time.Date(2026, 3, 1, 23, 58, 13, 120e6, time.UTC))
	now   = begin.Add(15 * core.Minute).Std()
)

func at(s float64) core.Time { return begin.Add(core.Duration(s * 1000)) }

func done(name, agent, operation string, from, to float64) view.Step {
	return view.Step{
		Name: name, State: core.Processed, Agent: agent, Operation: operation, Attempts: 1,
		FirstAt: at(from), ClaimedAt: at(from), FinishedAt: at(to), StopBy: at(from + 30),
		Undo: &view.Undo{Operation: "un" + operation},
	}
}

// stories returns tasks in the situations that an operator sees.
func stories() map[string]view.Task {
	base := view.Task{
		OrderID: "order-1001", Workflow: "order", State: core.Processing, Created: at(0),
		Command: 0,
	}
	reserve := done("reserve-inventory", "inventory", "reserve", 0, 0.2)
	charge := done("charge-payment", "payment", "charge", 0, 1.5)

	accept := func(t *view.Task, commands ...string) {
		t.Accepts = nil
		for _, c := range commands {
			words := append(strings.Fields(c), "", "")
			t.Accepts = append(t.Accepts,
				view.Command{Command: words[0], Step: words[1], Fact: core.Fact(words[2])})
		}
	}
	running := base
	accept(&running, "cancel")
	running.Steps = []view.Step{reserve, charge, {
		Name: "book-shipment", State: core.Processing, Agent: "shipping", Operation: "book", Attempts: 2,
		Failures: 1, LockedBy: "dev-1",
		FirstAt: at(2), ClaimedAt: at(890), CompleteBy: at(930),
		Error: &protocol.StepError{Code: "http-503", Message: "service unavailable", At: at(12), Attempt: 1},
	}, {
		Name: "send-confirmation", State: core.Pending, Agent: "notification", Operation: "send",
		NoReturn: true,
	}}

	atWork := base // P43
	accept(&atWork, "cancel")
	atWork.Steps = []view.Step{reserve, {
		Name: "film", State: core.Processing, Agent: "studio",
		Operation: "render", Attempts: 1, LockedBy: "dev-1",
		FirstAt: at(2), ClaimedAt: at(2), CompleteBy: at(930), StopBy: at(7200),
		Progress: &protocol.StepProgress{Percent: 40, Note: "frames\x1b[2J\n1", At: at(880)},
	}}

	waiting := base // P45
	accept(&waiting, "cancel")
	waiting.Steps = []view.Step{reserve, {
		Name: "charge-payment", State: core.Pending, Agent: "payment", Operation: "charge", Attempts: 6,
		FirstAt: at(2), ClaimedAt: at(870), WakeAt: at(1100), CompleteBy: at(1110),
		Error: &protocol.StepError{
			Code: core.CodeUnauthorized, Message: "POST /charges answered 401",
			At: at(871), Attempt: 6, Since: at(3),
		},
	}, {
		Name: "collected", State: core.Pending, Agent: "carrier", Operation: "collected", Attempts: 9,
		FirstAt: at(2), ClaimedAt: at(880), WakeAt: at(1120), CompleteBy: at(1130),
		Error: &protocol.StepError{
			Code: core.CodeNotYet, Message: "the service says: not yet", At: at(881),
			Attempt: 9, Since: at(4), Polling: at(4),
		},
	}}

	processed := base
	processed.Output = json.RawMessage(`{"chargeId": "c-1"}`)
	processed.State = core.Processed
	processed.Ended = true
	processed.EndedAt = at(3)
	processed.Steps = []view.Step{
		reserve, charge,
		{Name: "book-shipment", State: core.Skipped, Agent: "shipping", Operation: "book"},
	}

	refused := base // P50
	refused.State = core.Compensated
	refused.Error = &view.TaskError{Code: "too-large", Message: "Large orders need an offer.", Step: "too-large"}
	accept(&refused, "resubmit")
	refused.Steps = []view.Step{
		{
			Name: "quote", State: core.Compensated, Agent: "pricing", Operation: "quote",
			Attempts: 1, FirstAt: at(0),
		},
		{
			Name: "too-large", State: core.Failed, Kind: view.KindFail,
			Error: &protocol.StepError{Code: "too-large", Message: "Large orders need an offer.", At: at(1)},
		},
	}

	goesOn := base // P42
	accept(&goesOn, "cancel")
	alone := func(name string, state core.State) view.Step {
		return view.Step{
			Name: name, State: state, Agent: name, Operation: "ship", Attempts: 2, Failures: 1,
			FirstAt: at(0), ClaimedAt: at(3), FailedAs: "http-503",
			Error: &protocol.StepError{Code: "http-503", Message: "service unavailable", At: at(3), Attempt: 1},
			Undo:  &view.Undo{Operation: "cancel"},
		}
	}
	goesOn.Steps = []view.Step{
		alone("fedex", core.Compensated), alone("dhl", core.UndoWait),
		{Name: "ups", State: core.Pending, Agent: "ups", Operation: "ship"},
	}
	goesOn.Steps[1].WakeAt = at(930)
	goesOnStopped := goesOn
	goesOnStopped.State = core.Error
	goesOnStopped.Phase = core.Forward
	goesOnStopped.Ended = true
	goesOnStopped.EndedAt = at(60)
	goesOnStopped.Error = &view.TaskError{
		Code:    "timeout",
		Message: "no reply to the undo by the complete-by time", Step: "dhl",
	}
	goesOnStopped.Steps = append([]view.Step(nil), goesOn.Steps...)
	goesOnStopped.Steps[1].WakeAt = 0
	goesOnStopped.Steps[1].Undo = &view.Undo{Operation: "cancel", Failures: 3}
	accept(&goesOnStopped, "cancel", "undo", "resubmit", "resolve dhl happened", "resolve dhl not-happened",
		"resolve dhl undone")

	elsewhere := goesOnStopped // than at the step that was undone alone
	elsewhere.Steps = append([]view.Step(nil), goesOn.Steps...)
	elsewhere.Steps[1] = view.Step{
		Name: "dhl", State: core.Failed, Agent: "dhl", Operation: "ship",
		Attempts: 1, Failures: 1, FirstAt: at(0), ClaimedAt: at(3),
		Error: &protocol.StepError{Code: "timeout", Message: "no answer", At: at(60)},
	}
	accept(&elsewhere, "resubmit")

	stopped := base
	stopped.State = core.Error
	stopped.Phase = core.Forward
	stopped.Ended = true
	stopped.EndedAt = at(187)
	stopped.Command = 1
	stopped.Error = &view.TaskError{Code: "http-422", Message: "no such\x1b[2J zone", Step: "create-zone"}
	stopped.Steps = []view.Step{done("create-network", "cloud", "network", 0, 5), {
		Name: "create-zone", State: core.Failed, Agent: "cloud", Operation: "zone", Attempts: 3, Failures: 1,
		FirstAt: at(5), ClaimedAt: at(180), StopBy: at(240), Error: &protocol.StepError{
			Code:    "http-422",
			Message: "no such\x1b[2J zone", At: at(187), Attempt: 3,
		},
	}}
	stopped.Verdicts = []protocol.Verdict{
		{ID: "c1", Command: "resubmit", Accepted: true, At: at(170)},
		{
			ID: "c2", Command: "cancel", Reason: "command number 0 is old, it is 1 now; look again",
			At: at(200),
		},
	}

	accept(&stopped, "cancel", "undo", "resubmit", "resolve create-zone happened",
		"resolve create-zone not-happened", "resolve create-zone undone")
	pastReturn := stopped
	accept(&pastReturn, "resubmit")
	pastReturn.Verdicts = nil
	pastReturn.Steps = append([]view.Step(nil), stopped.Steps...)
	pastReturn.Steps[1].NoReturn = true
	pastReturn.Steps[1].StopBy = at(3000)

	undoStopped := base
	undoStopped.State = core.Error
	undoStopped.Phase = core.Undoing
	undoStopped.Why = protocol.WhyFailure
	undoStopped.Ended = true
	undoStopped.EndedAt = at(60)
	undoStopped.Attempts = []view.Attempt{
		{
			Step: "reserve-inventory", Number: 1, Operation: core.Do, Agent: "inventory", Began: at(0),
			Ended: at(0.1), Outcome: protocol.OutcomeSuperseded,
		},
		{
			Step: "charge-payment", Number: 4, Operation: core.UndoOp, Agent: "payment", Began: at(50),
			Ended: at(60), Outcome: protocol.OutcomeOverdue, Code: "timeout",
		},
	}
	undoStopped.Earlier = &view.Earlier{Failed: 2, Overdue: 3}
	undoStopped.UndoneFor = &view.TaskError{
		Code: "no-carrier", Message: "no carrier goes there",
		Step: "book-shipment",
	}
	undoStopped.Error = &view.TaskError{
		Code: "timeout", Message: "the undo was not answered",
		Step: "charge-payment",
	}
	wait := charge
	wait.State = core.UndoWait
	wait.FinishedAt = 0
	wait.Attempts = 4
	wait.ClaimedAt = at(50)
	wait.Undo = &view.Undo{Operation: "refund", Running: true, Failures: 3}
	undoStopped.Steps = []view.Step{reserve, wait}

	accept(&undoStopped, "undo", "resubmit", "resolve charge-payment happened",
		"resolve charge-payment not-happened", "resolve charge-payment undone")
	inDoubt := undoStopped
	inDoubt.Steps = []view.Step{reserve, wait}
	inDoubt.Steps[1].Grade = core.Plain

	undone := base
	undone.State = core.Compensated
	undone.Why = protocol.WhyFailure
	undone.Ended = true
	undone.EndedAt = at(9)
	undone.Error = &view.TaskError{
		Code: "card-declined", Message: "the card was declined",
		Step: "charge-payment",
	}
	undone.Steps = []view.Step{reserve}
	undone.Steps[0].Input = json.RawMessage(`{"items": [1, 2]}`)
	undone.Steps[0].Output = json.RawMessage(`{"reservationId":"\u001b[2J"}`)
	accept(&undone, "cancel", "resubmit")

	undoing := base
	undoing.State = core.Compensating
	undoing.Why = protocol.WhyFailure
	undoing.Error = undone.Error
	quiet := charge
	quiet.State = core.UndoWait
	quiet.FinishedAt = 0
	quiet.WakeAt = at(921)
	quiet.CompleteBy = at(951)
	undoing.Steps = []view.Step{reserve, quiet}
	undoing.UndoWait = &view.UndoWait{
		Step: "charge-payment", For: "quiet", LastEffect: at(920),
		Until: at(921),
	}
	accept(&undoing, "cancel")

	cancelled := view.Task{
		OrderID: "early", State: core.Cancelled, Why: protocol.WhyCancel, Ended: true,
		Created: at(0), EndedAt: at(0), Command: 1,
		Verdicts: []protocol.Verdict{{
			Command: "cancel", Accepted: true,
			Reason: "the order had not arrived; it will not run when it does", At: at(0),
		}},
	}

	early := stopped // a call may take effect
	accept(&early, "undo", "resubmit")
	early.AcceptsLater = []view.LaterCommand{
		{Command: view.Command{
			Command: "resolve", Step: "create-zone",
			Fact: core.Happened,
		}, From: at(931)},
		{
			Command: view.Command{Command: "resolve", Step: "create-zone", Fact: core.NotHappened},
			From:    at(931),
		},
	}

	return map[string]view.Task{
		"stopped-just-now": early, "running": running, "waiting": waiting,
		"at-work": atWork, "processed": processed, "stopped": stopped, "past-return": pastReturn,
		"undo-stopped": undoStopped, "in-doubt": inDoubt, "undone": undone, "undoing": undoing,
		"tombstone": cancelled, "refused-by-rule": refused, "goes-on": goesOn,
		"goes-on-stopped": goesOnStopped, "goes-on-elsewhere": elsewhere,
	}
}

func page(terminal bool) render.Page {
	s, _ := streams.Test(terminal)
	return render.Page{Style: s.Style(), Now: now, Program: "stepkeeper"}
}

// The commands of the last part are copied, and so stand on one line each, however long.
func TestTaskPageFitsTheScreen(t *testing.T) {
	for name, task := range stories() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			page(true).Task(&b, task)
			facts, _, _ := strings.Cut(b.String(), "What to do next")
			for line := range strings.Lines(facts) {
				require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), 100, line)
			}
		})
	}
}

func TestTaskPage(t *testing.T) {
	for name, task := range stories() {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			page(false).Task(&b, task)
			golden.Assert(t, b.String(), name+".txt")
			for line := range strings.Lines(b.String()) {
				require.Equal(t, line, strings.TrimRight(line, " \n")+"\n")
			}
			require.False(t, strings.ContainsRune(b.String(), 0x1b), "a message of a service steers the terminal")
		})
	}
}

// Each state of an order, and of its steps, is printed with the right explanation.
func TestNotesOfOrdersAndSteps(t *testing.T) {
	failed := func(s view.Step) view.Step {
		s.State = core.Failed
		s.FirstAt = at(0)
		s.ClaimedAt = at(10)
		return s
	}
	approval := view.Step{
		Name: "approve", Kind: view.KindApproval, State: core.Waiting, WakeAt: at(1000),
		Input: json.RawMessage(`{"question":"Pay\u001b[2J it?"}`),
		Answers: &view.Answers{
			Values: []string{"yes", "no"}, Round: 2, Need: 2, Who: []string{"ann", "bob"},
			NotSelf: "cid", Votes: []protocol.Vote{{}},
		},
		Reminders: &view.Reminders{Sent: 3},
	}
	answered := approval
	answered.State = core.Processed
	answered.Output = json.RawMessage(`{"value":"yes","by":"ann"}`)
	answered.Error = &protocol.StepError{Code: core.CodeAnswerRefused, Message: `bob answered "no", attempt 1 of 2`}
	late := approval
	late.State = core.Processed
	late.Output = json.RawMessage(`{"value":"no","by":"timeout"}`)
	parcels := view.Children{
		Workflow: "parcel", Count: 9, Ended: 5, Running: 2, Failed: 4, Tolerate: 4,
		FailedAs: []string{"o-1", "o-2", "o-3", "o-4"}, Reason: "no\x1b[2J carrier", Stopped: []string{"o-5"},
	}
	undone := view.Children{
		Workflow: "parcel", Count: 9, Ended: 5, Running: 2, Failed: 4, Undo: true,
		InDoubt: []string{"o-6", "o-7"},
	}
	var b bytes.Buffer
	for _, task := range []view.Task{
		{
			OrderID: "urgent", Workflow: "order", State: core.Processing, Priority: "high", ReplyTo: "shop",
			Parent: &view.Parent{OrderID: "big", Step: "parts", Index: 3}, Steps: []view.Step{
				{Name: "nap", Kind: view.KindWait, State: core.Waiting, WakeAt: at(1000)},
				approval,
				{
					Name: "paid", Kind: view.KindEvent, State: core.Waiting, WakeAt: at(1000),
					Answers: &view.Answers{Event: "paid", Round: 1},
				},
				answered, late,
				{
					Name: "code", Kind: view.KindEvent, State: core.Waiting, WakeAt: at(1000),
					Answers: &view.Answers{Event: "code", Round: 3, Attempts: 4, Refused: 2},
					Error:   &protocol.StepError{Code: core.CodeAnswerRefused, Message: "the event code came, attempt 2 of 4"},
				},
				{
					Name: "parts", Kind: view.KindEach, State: core.Waiting,
					Children: &parcels, Reminders: &view.Reminders{AtMost: 1, Next: at(1000)},
				},
				{
					Name: "process", Agent: "work", Operation: "process", State: core.Processing, LateAt: at(65700),
					OnDeadline: core.OnFailureContinue, Reminders: &view.Reminders{Sent: 3, AtMost: 5, Next: at(3300)},
				},
				{
					Name: "mute", Agent: "work", Operation: "process", State: core.Processing,
					Reminders: &view.Reminders{Sent: 9, AtMost: 5, Unsent: "no\x1b[2J field"},
				},
				{
					Name: "quorum", Kind: view.KindEach, State: core.Waiting,
					Children: &view.Children{Workflow: "parcel", Count: 5, Ended: 1, Running: 4, Enough: 3, Tolerate: 2},
				},
				{
					Name: "passes", Kind: view.KindBlock, State: core.Waiting,
					Children: &view.Children{
						Workflow: "order~passes", Count: 2, Ended: 1, Running: 1, Answers: 2,
						Repeat: &view.Repeat{AtMost: 9, Until: "result.done"},
					},
				},
				{
					Name: "decided", Kind: view.KindEach, State: core.Settling, FinishedAt: at(900),
					Children: &view.Children{
						Workflow: "parcel", Count: 5, Ended: 3, Running: 2, Enough: 3, Tolerate: 2, Open: []string{"o-1", "o-4"},
					},
				},
			},
		},
		{
			OrderID: "in-flight", Workflow: "order", State: core.Error, Priority: "normal",
			Error: &view.TaskError{Message: "it is full"}, Steps: []view.Step{
				failed(view.Step{Name: "charge", Agent: "payment", Operation: "charge"}),
				{Name: "early", Agent: "payment", Operation: "charge", State: core.Failed},
				{Name: "never", Kind: view.KindApproval, State: core.Failed},
				failed(view.Step{Name: "declined", Agent: "payment", Operation: "charge", NoEffect: at(11)}),
				failed(view.Step{
					Name: "stated", Agent: "payment", Operation: "charge", NoEffect: at(11),
					Resolved: &core.Resolved{Fact: core.NotHappened, At: at(12)},
				}),
				failed(view.Step{
					Name: "declined-again", Agent: "payment", Operation: "charge",
					NoEffect: at(11),
					Resolved: &core.Resolved{Fact: core.NotHappened, At: at(9)},
				}),
				{
					Name: "given", Agent: "payment", Operation: "charge", State: core.Pending,
					Corrected: &protocol.Corrected{By: "ann"},
				},
				{
					Name: "given-alone", Agent: "payment", Operation: "charge", State: core.Pending,
					Corrected: &protocol.Corrected{},
				},
				failed(view.Step{Name: "parts", Kind: view.KindEach, Children: &parcels}),
				failed(view.Step{
					Name: "paid-late", Kind: view.KindEvent, Answers: &view.Answers{Event: "paid", Round: 1},
					Output: json.RawMessage(`{"by":"timeout"}`),
				}),
				failed(view.Step{
					Name: "refused", Kind: view.KindApproval,
					Answers: &view.Answers{Values: []string{"no"}, Round: 1},
					Output:  json.RawMessage(`{"value":"no","by":"ann"}`),
				}),
				{
					Name: "refused-undone", Kind: view.KindApproval, State: core.Compensated,
					Answers: &view.Answers{Values: []string{"no"}, Round: 1},
					Output:  json.RawMessage(`{"value":"no","by":"ann"}`),
					Error:   &protocol.StepError{Code: core.CodeAnswerRefused, Message: `ann answered "no"`},
				},
			},
		},
		{
			OrderID: "by-hand", Workflow: "order", State: core.Closed, Ended: true,
			Closed: &protocol.Closing{By: "ann", Reason: "paid\x1b[2J in cash"},
			Error:  &view.TaskError{Code: "full", Message: "it is full", Step: "charge"},
		},
		{OrderID: "cancelled", Workflow: "order", State: core.Compensated, Ended: true, Why: protocol.WhyCancel},
		{
			OrderID: "erased", Workflow: "order", State: core.Processed, Ended: true,
			Erased: &protocol.Erasure{By: "ann", Reason: "asked\x1b[2J to", At: at(930)},
		},
		{
			OrderID: "erased-by-hand", Workflow: "order", State: core.Closed, Ended: true,
			Closed: &protocol.Closing{By: "ann"},
			Error:  &view.TaskError{Code: "full", Step: "charge"},
			Erased: &protocol.Erasure{By: "ann", Reason: "asked to", At: at(930)},
		},
		{
			OrderID: "by-operator", Workflow: "order", State: core.Compensating, Why: protocol.WhyOperator,
			UndoWait: &view.UndoWait{Step: "parts", For: "children", Until: at(930)},
			Steps: []view.Step{{
				Name: "parts", Kind: view.KindEach, State: core.Waiting,
				Children: &undone,
			}},
		},
		{
			OrderID: "repeated", Workflow: "pages", State: core.Processing,
			Steps: []view.Step{
				{
					Name: "count", Kind: view.KindBlock, State: core.Waiting,
					Children: &view.Children{
						Workflow: "pages~count", Count: 3, Ended: 2, Running: 1,
						Repeat: &view.Repeat{AtMost: 10, Until: "result.next == nil", Last: json.RawMessage(`{"next":"p3"}`)},
					},
				},
				{
					Name: "poll", Kind: view.KindBlock, State: core.Waiting,
					Children: &view.Children{
						Workflow: "pages~poll", Count: 1, Ended: 1,
						Repeat: &view.Repeat{AtMost: 5, Until: "result.done", Next: at(930)},
					},
				},
			},
		},
		{
			OrderID: "too-late", Workflow: "order", State: core.Compensating, Why: protocol.WhyDeadline,
			UndoWait: &view.UndoWait{Step: "charge", For: "retry", Until: at(930)},
		},
		{
			OrderID: "still-done", Workflow: "order", State: core.Compensating, Why: protocol.WhyParent,
			UndoWait: &view.UndoWait{Step: "charge", For: "reply", Until: at(930)},
		},
		{
			OrderID: "being-undone", Workflow: "order", State: core.Compensating, Why: protocol.WhyFailure,
			UndoWait: &view.UndoWait{Step: "charge", For: "undo", Until: at(930)},
		},
		{
			OrderID: "no-output", Workflow: "order", State: core.Processed, Ended: true,
			Error: &view.TaskError{Code: "expression", Message: "output: there is no total"},
		},
	} {
		task.Created = at(0)
		page(false).Task(&b, task)
		b.WriteString("\n")
	}
	golden.Assert(t, b.String(), "notes.txt")
	require.False(t, bytes.ContainsRune(b.Bytes(), 0x1b), "a text of an order steers the terminal")
}

func TestTaskPageInColour(t *testing.T) {
	var plain, coloured bytes.Buffer
	task := stories()["stopped"]
	page(false).Task(&plain, task)
	page(true).Task(&coloured, task)
	require.Contains(t, coloured.String(), "\x1b[31;1mError\x1b[", "Error is not red")
	require.NotContains(t, coloured.String(), "\x1b[2J", "a message of a service clears the screen")
	for line := range strings.Lines(coloured.String()) {
		if !strings.Contains(line, "# ") { // a command line is not wrapped, so that it can be copied
			require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), 100, line)
		}
	}
}

func TestNextNeverSuggestsWhatIsRefused(t *testing.T) {
	for name, want := range map[string][]string{
		"running":   {"watch order-1001", "cancel order-1001"},
		"processed": nil,
		"stopped": {
			"resubmit order-1001", "undo order-1001", "resolve order-1001 create-zone happened",
			"resolve order-1001 create-zone not-happened",
		},
		"past-return": {"resubmit order-1001"},
		"undo-stopped": {
			"resubmit order-1001", "resolve order-1001 charge-payment happened",
			"resolve order-1001 charge-payment undone",
		},
		"in-doubt": {
			"resolve order-1001 charge-payment happened",
			"resolve order-1001 charge-payment undone", "resubmit order-1001",
		},
		"undone":    {"resubmit order-1001"},
		"tombstone": nil,
	} {
		var got []string
		for _, a := range render.Next(stories()[name], "stepkeeper") {
			got = append(got, strings.TrimPrefix(a.Command, "stepkeeper "))
		}
		require.Equal(t, strings.Join(want, "|"), strings.Join(got, "|"), name)
	}
}

// Commands that will be accepted later are offered with that time, and only those that help the order to
// continue.
func TestLaterSaysFromWhen(t *testing.T) {
	var got []string
	for _, a := range render.Later(stories()["stopped-just-now"], "stepkeeper") {
		require.Equal(t, at(931), a.From)
		got = append(got, a.Command)
	}
	want := "stepkeeper resolve order-1001 create-zone happened|stepkeeper resolve order-1001 " +
		"create-zone not-happened"
	require.Equal(t, want, strings.Join(got, "|"))
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 61 * time.Second: "1m01s",
		90 * time.Minute: "1h30m", 50 * time.Hour: "2d", -5 * time.Second: "-5.0s",
	} {
		require.Equal(t, want, render.Span(d), "%v", d)
	}
}
