package protocol_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// TestStories plays testdata/stories/*.story: each block has lines, then "----", then the outcome. `go test
// -run TestStories -update` writes the outcomes again; read the difference.
func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/stories/*.story")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".story"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			golden.Assert(t, report(t, string(text)), "stories/"+filepath.Base(file))
		})
	}
}

// report plays a story and returns it with its outcomes.
func report(t *testing.T, text string) string {
	s := newStory(t)
	var out []string
	for _, block := range strings.Split(strings.TrimSpace(text), "\n\n") {
		lines, _, has := strings.Cut(block+"\n", "----\n")
		if !has {
			lines = block + "\n"
		}
		s.out.Reset()
		for _, line := range strings.Split(strings.TrimSuffix(lines, "\n"), "\n") {
			if line != "" && !strings.HasPrefix(line, "#") {
				s.line(line)
			}
		}
		if s.out.Len() > 0 {
			lines += "----\n" + s.out.String()
		}
		out = append(out, lines)
	}
	return strings.Join(out, "\n")
}

func newStory(t testing.TB) *story {
	s := &story{
		desk: &desk{TB: t, now: noon, by: "scheduler-1", order: json.RawMessage(`{"n":1}`)},
		def:  workflow(),
		sent: map[string]string{},
	}
	s.expr = &expressions{
		reads: map[int][]string{},
		when:  map[int]func(core.Environment) (bool, error){},
		input: map[int]func(core.Environment) (json.RawMessage, error){},
		undo:  map[int]func(core.Environment) (json.RawMessage, error){},

		deadline: map[int]func(core.Environment) (json.RawMessage, error){},
	}
	return s
}

// story is a desk that executes lines of text.
type story struct {
	*desk
	def  *core.Definition
	expr *expressions
	kept core.Duration // time that the services remember keys; 0 means for ever
	next *story        // definition that a command moves the order to, or nil
	out  strings.Builder

	answers int               // number of answers given so far
	sent    map[string]string // requests and numbered statuses by what identifies them
}

func (s *story) printf(format string, args ...any) { fmt.Fprintf(&s.out, format+"\n", args...) }

func (s *story) line(line string) {
	words := strings.Fields(line)
	opts := map[string]string{}
	for _, w := range words[1:] {
		k, v, _ := strings.Cut(w, "=")
		opts[k] = v
	}
	switch words[0] {
	case "workflow":
		s.workflow(opts)
	case "step":
		s.step(words[1], opts)
	case "to": // a line about the definition that the next command moves the order to
		if s.next == nil {
			s.next = newStory(s.TB)
			s.next.def.Hash = s.def.Hash + "'"
		}
		s.next.line(strings.Join(words[1:], " "))
	case "wait":
		s.wait(s.span(words[1]))
		s.printf("%s", clock(s.now))
	case "as":
		s.by = words[1]
	case "seen": // how long requests of an agent were seen to wait (P32)
		s.waits = map[string]core.Duration{}
		for i := 1; i+1 < len(words); i += 2 {
			s.waits[words[i]] = s.span(words[i+1])
		}
	case "event":
		s.event(words[1], words[2:], opts)
	case "restart":
		s.restart()
	case "sweep":
		s.sweepAll(opts["backlog"])
	default:
		s.Fatalf("a story cannot do %q", line)
	}
}

func (s *story) span(text string) core.Duration {
	d, err := time.ParseDuration(text)
	require.NoError(s, err)
	return core.DurationOf(d)
}

func (s *story) number(text string) int {
	n, err := strconv.Atoi(text)
	require.NoError(s, err)
	return n
}

func (s *story) workflow(opts map[string]string) {
	for k, v := range opts {
		switch k {
		case "hops":
			s.def.HopBudget = s.number(v)
		case "deadline":
			s.def.Deadline = s.span(v)
		case "on-deadline":
			s.def.OnDeadline = core.Policy(v)
		case "name":
			s.def.Name = v
		case "tokens":
			s.def.Tokens = true
		case "events":
			s.def.Events = true
		case "alert-undone":
			s.def.AlertUndone = true
		case "tell-after":
			s.def.ResendAfter = s.span(v)
		case "output":
			s.def.Output = json.RawMessage(`"template"`)
			if v == "fails" {
				s.expr.output = func(core.Environment) (json.RawMessage, error) {
					return nil, errors.New("no such field")
				}
			}
		case "reports":
			s.def.Notify = append(s.def.Notify, core.StatusStarted, core.StatusStepFinished,
				core.StatusUndoing, core.StatusProgress)
		default:
			s.Fatalf("workflow has no %q", k)
		}
	}
}

func (s *story) step(name string, opts map[string]string) {
	d := step(name)
	i := len(s.def.Steps)
	if opts["wait"]+opts["until"] != "" {
		d = waitStep(name, 0)
	}
	if opts["answers"]+opts["event"] != "" {
		s.answerStep(&d, i, opts)
	}
	if opts["fail"] != "" {
		d = core.StepDefinition{
			Name: name, OnFailure: core.OnFailureUndo,
			Fail: &core.Fail{Code: opts["fail"], Message: "it is refused by rule"},
		}
	}
	if opts["any"] != "" {
		d = core.StepDefinition{
			Name: name, OnFailure: core.OnFailureUndo,
			Any: &core.Any{Members: strings.Split(opts["any"], ","), Enough: 1},
		}
	}
	if _, one := opts["child"]; one || opts["each"] != "" || opts["repeat"] != "" {
		s.eachStep(&d, i, opts)
	}
	for k, v := range opts {
		switch k {
		case name, "fail", "each", "child", "at-once", "tolerate", "collect", "any", "repeat", "every", "exhausted", "until-index", "passes", "of",
			"order":
		case "enough":
			if d.Any != nil {
				d.Any.Enough = s.number(v)
			}
		case "answers", "ask", "event", "attempts", "need", "who", "not", "on-timeout", "timeout-value",
			"refuse", "schema", "question", "reads":
			// value of a step that is answered
		case "wait":
			d.Wait.For = s.span(v)
		case "spread":
			d.Wait.Spread = s.span(v)
		case "until":
			d.Input = json.RawMessage(`"template"`)
			s.expr.input[i] = func(core.Environment) (json.RawMessage, error) { return s.until(v) }
		case "after":
			d.After = strings.Split(v, ",")
		case "others":
			d.Others = strings.Split(v, ",")
		case "agent":
			d.Agent = v
		case "operation":
			d.Operation = v
		case "template":
			d.Input = json.RawMessage(`"` + v + `"`)
		case "grade":
			d.Grade = core.Grade(v)
		case "failures":
			d.Retry.MaxFailures = s.number(v)
		case "undo-failures":
			d.Undo.Retry.MaxFailures = s.number(v)
		case "rounds":
			d.Retry.ExtendedRounds = s.number(v)
			d.Retry.ExtendedInterval = 5 * core.Minute
		case "kept":
			s.kept = s.span(v)
		case "queue":
			d.MaxQueueTime = s.span(v)
		case "timeout": // An answer has its own timeout.
			if d.Answer == nil {
				d.Timeout = s.span(v)
			}
		case "deadline":
			d.Deadline = s.span(v)
			d.OnDeadline = cmp.Or(d.OnDeadline, core.OnFailureContinue)
		case "deadline-until":
			d.DeadlineAt = json.RawMessage(`"template"`)
			d.OnDeadline = cmp.Or(d.OnDeadline, core.OnFailureContinue)
			s.expr.deadline[i] = func(core.Environment) (json.RawMessage, error) { return s.until(v) }
		case "on-deadline":
			d.OnDeadline = core.Policy(v)
		case "remind": // AFTER, AFTER/EVERY or AFTER/EVERY/AT-MOST
			d.Remind = s.remind(v, opts["by"])
		case "by": // agent of the reminders
		case "unsent":
			s.expr.unsent = s.number(v)
		case "long":
			d.MaxDuration = s.span(v)
		case "poll":
			d.PollFor = s.span(v)
		case "stop":
			d.OnFailure = core.OnFailureStop
		case "continue":
			d.OnFailure = core.OnFailureContinue
		case "when-failed": // v names an earlier step
			d.When = "steps." + v + ".failed"
			s.expr.when[i] = func(env core.Environment) (bool, error) { return env.Failures[v] != "", nil }
		case "no-undo":
			d.Undo = nil
		case "no-return":
			noReturn(&d)
			if v == "undo" {
				d.OnFailure = core.OnFailureUndo
			}
		case "when":
			d.When = v
			s.expr.when[i] = func(core.Environment) (bool, error) { return v == "true", failing(v) }
		case "input":
			s.expr.input[i] = func(core.Environment) (json.RawMessage, error) { return nil, failing(v) }
		case "undo-input":
			d.Undo.Input = map[string]json.RawMessage{"other": json.RawMessage(`"other"`), "fails": d.Undo.Input}[v]
			s.expr.undo[i] = func(core.Environment) (json.RawMessage, error) { return nil, failing(v) }
		default:
			s.Fatalf("step has no %q", k)
		}
	}
	s.def.Steps = append(s.def.Steps, d)
}

// remind makes reminders: those of an agent, or of a question's ask, which are unbounded.
func (s *story) remind(times, by string) *core.Remind {
	t := strings.Split(times, "/")
	m := &core.Remind{After: s.span(t[0]), Agent: by}
	switch {
	case by == "":
		m.Every = m.After
	default:
		m.AtMost = 1
		m.Operation = "tell"
		m.Timeout = 10 * core.Second
		m.Input = json.RawMessage(`"template"`)
	}
	if len(t) > 1 {
		m.Every = s.span(t[1])
		m.AtMost = 100
	}
	if len(t) > 2 {
		m.AtMost = s.number(t[2])
	}
	return m
}

// answerStep waits for an answer: one of its values, or an event.
func (s *story) answerStep(d *core.StepDefinition, i int, opts map[string]string) {
	d.Agent = ""
	d.Operation = ""
	d.Grade = ""
	d.Undo = nil
	d.Retry = core.Retry{}
	d.Timeout = core.Hour
	d.Answer = &core.Answer{Event: opts["event"], OnTimeout: core.OnFailureUndo}
	question := map[string]any{"question": "may it be?"}
	for k, v := range opts {
		switch k {
		case "answers":
			d.Answer.Values = strings.Split(v, ",")
		case "ask":
			d.Answer.Ask = v
		case "need":
			question["need"] = s.number(v)
		case "who":
			question["who"] = strings.Split(v, ",")
		case "not":
			question["notSelf"] = v
		case "timeout":
			question["timeout"] = v
		case "on-timeout":
			d.Answer.OnTimeout = core.Policy(v)
		case "timeout-value":
			d.Answer.TimeoutValue = json.RawMessage(`"` + v + `"`)
		case "refuse":
			d.Answer.Refuse = "value == 'no'"
		case "attempts":
			d.Answer.Attempts = s.number(v)
		case "reads": // results of steps: only by its claim it is known who may answer
			s.expr.reads[i] = strings.Split(v, ",")
		case "schema":
			d.Answer.Schema = json.RawMessage(`{"type":"string"}`)
		}
	}
	d.Input = json.RawMessage(`"template"`)
	s.expr.input[i] = func(core.Environment) (json.RawMessage, error) {
		if opts["question"] == "fails" {
			return nil, errors.New("no such field")
		}
		return json.Marshal(question)
	}
}

// eachStep has a child for each of its items, or one.
func (s *story) eachStep(d *core.StepDefinition, i int, opts map[string]string) {
	d.Agent = ""
	d.Operation = ""
	d.Grade = ""
	d.Undo = nil
	d.Retry = core.Retry{}
	d.Timeout = 0
	d.Input = nil
	d.Each = &core.Each{Workflow: "parcel", Definition: "feed", Concurrency: 10}
	for k, v := range opts {
		switch k {
		case "of":
			d.Each.Workflow, d.Each.Definition, _ = strings.Cut(v, "@")
		case "at-once":
			d.Each.Concurrency = s.number(v)
		case "collect":
			d.Each.Collect = true
		case "tolerate":
			d.Each.Tolerate = s.number(v)
		case "passes":
			for _, name := range strings.Split(v, ",") {
				d.Each.Events = append(d.Each.Events, core.PassedEvent{Name: name, Schema: json.RawMessage(`{}`)})
			}
		case "enough":
			d.Each.Enough = json.RawMessage(v)
			s.expr.enough = s.number(v)
		case "repeat":
			d.Each.Order = json.RawMessage(`"template"`)
			d.Each.Concurrency = 1
			d.Each.Repeat = &core.Repeat{
				AtMost: s.number(v), Every: s.span(cmp.Or(opts["every"], "0s")),
				OnExhausted: core.Policy(opts["exhausted"]),
			}
			s.expr.until = s.number(opts["until-index"])
		case "each":
			d.Input = json.RawMessage(`"template"`)
			d.Each.Order = json.RawMessage(`"` + cmp.Or(opts["order"], "template") + `"`)
			s.expr.input[i] = func(core.Environment) (json.RawMessage, error) {
				if v == "none" {
					return json.RawMessage(`"none"`), nil
				}
				return json.Marshal(strings.FieldsFunc(v, func(c rune) bool { return c == ',' }))
			}
		}
	}
}

// until is a time after the beginning, or a text that is none.
func (s *story) until(v string) (json.RawMessage, error) {
	if d, err := time.ParseDuration(v); err == nil {
		return json.Marshal(noon.Add(core.DurationOf(d)))
	}
	return json.Marshal(v)
}

func failing(v string) error {
	if v == "fails" {
		return errors.New("no such field")
	}
	return nil
}

// ready makes the desk's definition once all lines about it were read.
func (s *story) ready() {
	if s.desk.def != nil {
		return
	}
	s.desk.def = s.definition()
	s.submit = core.Submitted{
		OrderID: orderID, Workflow: "test", ContentHash: "c0ffee", KnownHash: "c0ffee",
		ReplyTo: "shop",
	}
}

// definition completes the definition.
func (s *story) definition() *core.Definition {
	s.def.Agents = workflow(s.def.Steps...).Agents
	s.def.Expr = s.expr
	for name, a := range s.def.Agents {
		a.KeyRetention = s.kept
		s.def.Agents[name] = a
	}
	s.def.Link()
	return s.def
}

// target returns the definition of the lines "to", or nil if there are none.
func (s *story) target() *core.Target {
	if s.next == nil {
		return nil
	}
	return &core.Target{Definition: s.next.definition()}
}

// event decides one event and prints the changes. Unless a crash is set, it also sends and settles.
func (s *story) event(kind string, words []string, opts map[string]string) {
	s.ready()
	ev := s.parse(kind, words, opts)
	before := s.task
	dec, err := s.try(ev)
	if next := s.next; next != nil && err == nil && dec.Verdict.Accepted {
		s.desk.def = next.def
		s.def = next.def
		s.expr = next.expr
	}
	s.next = nil
	var refusal *core.Refusal
	switch {
	case errors.As(err, &refusal):
		s.printf("refused (%s): %s", refusal.Code, refusal.Text)
		return
	case err != nil:
		s.printf("error: %v", err)
		return
	}
	s.print(before, dec)
	_, crash := opts["crash"]
	switch {
	case crash:
		s.printf("  the process dies before it has sent anything")
	case settles(s.def, dec):
		s.commit(protocol.Settled(s.task))
		s.printf("  reported")
	}
	if got := protocol.Delivered(s.task, dec.Effects); got != s.task && !crash {
		s.commit(got)
		s.printf("  delivered")
	}
	s.printIndex()
	s.checkOffers()
}

// checkOffers compares the offers of the task with the decisions about all commands, now and from the offered
// time on.
func (s *story) checkOffers() {
	t := s.task
	type command struct {
		name, step string
		fact       core.Fact
	}
	n := t.Commands.Number
	commands := map[command]core.Event{
		{name: "undo"}:     core.Command{Name: core.UndoCommand, ID: "try", Number: n},
		{name: "resubmit"}: core.Command{Name: core.Resubmit, ID: "try", Number: n},
		{name: "close"}:    core.Command{Name: core.Close, ID: "try", Number: n, Sender: core.Sender{By: "b", Reason: "r"}},
	}
	if !t.Undo.CancelAsked && t.ProcessState != core.Cancelled {
		commands[command{name: "cancel"}] = core.Command{Name: core.Cancel, OrderID: t.OrderID, ID: "try", Run: t.Run}
	}
	for i := range t.Steps {
		name := t.Steps[i].Name
		commands[command{name: "resubmit", step: name}] = core.Command{
			Name: core.Resubmit,
			ID:   "try", Number: n, Step: name, Input: json.RawMessage("{}"),
		}
		for _, fact := range []core.Fact{core.Happened, core.NotHappened, core.Undone} {
			if t.Steps[i].Attempted() {
				commands[command{"resolve", name, fact}] = core.Command{Name: core.Resolve, ID: "try", Number: n, Step: name, Fact: fact}
			}
		}
	}
	offered := map[command]core.Time{}
	for _, o := range t.Offers(s.def, s.now) {
		offered[command{o.Command, o.Step, o.Fact}] = max(o.From, s.now)
	}
	accepted := func(ev core.Event, at core.Time) bool {
		d, err := protocol.Decide(s.def, nil, t, ev, protocol.At{Now: at, Tokens: core.HiddenTokens{}})
		return errors.Is(err, core.ErrOrderNeeded) || err == nil && d.Verdict != nil && d.Verdict.Accepted
	}
	for c, ev := range commands {
		from, is := offered[c]
		require.Equal(s, is && from == s.now, accepted(ev, s.now), "%v now: %s", c, describe(t))
		if is {
			require.True(s, accepted(ev, from), "%v from %s: %s", c, from, describe(t))
		}
	}
}

func (s *story) parse(kind string, words []string, opts map[string]string) core.Event {
	number := 0
	run := 0
	if s.task != nil {
		number = s.task.Commands.Number
		run = s.task.Run
	}
	if v := opts["command"]; v != "" {
		number = s.number(v)
	}
	if v := opts["run"]; v != "" {
		run = s.number(v)
	}
	deadline := core.Time(0)
	if v := opts["deadline"]; v != "" {
		deadline = s.now.Add(s.span(v))
	}
	id := append(words, "")[0]
	switch kind {
	case "submit":
		ev := s.submit
		ev.Deadline = deadline
		if to, given := opts["reply-to"]; given {
			ev.ReplyTo = to
		}
		if slices.Contains(words, "other-content") {
			ev.ContentHash = "decaf"
		}
		return ev
	case "cancel":
		return core.Command{Name: core.Cancel, OrderID: cmp.Or(opts["order"], orderID), ID: id, Run: run}
	case "undo":
		return core.Command{Name: core.UndoCommand, ID: id, Number: number}
	case "resubmit":
		return core.Command{
			Name: core.Resubmit, ID: id, Number: number, Deadline: deadline,
			Step: opts["step"], Input: raw(opts["input"]),
			Sender: core.Sender{By: opts["by"], Reason: opts["reason"]}, To: s.target(),
		}
	case "move":
		to := cmp.Or(s.target(), &core.Target{Absent: "no such definition"})
		return core.Command{Name: core.Move, ID: id, Number: number, To: to}
	case "resolve":
		return core.Command{
			Name: core.Resolve, ID: id, Number: number, Step: words[1], Fact: core.Fact(words[2]),
			Output: raw(opts["output"]),
		}
	case "close":
		return core.Command{
			Name: core.Close, ID: id, Number: number, Absent: strings.Split(opts["absent"], ","),
			Sender: core.Sender{By: "ann", Reason: "settled by hand"},
		}
	case "erase":
		return core.Command{
			Name: core.Erase,
			ID:   id, Number: number, ActiveAncestor: opts["unrested"],
			KnownHash: s.submit.KnownHash, Sender: core.Sender{By: "ann", Reason: "asked to by its customer"},
		}
	case "settle":
		return core.Settle{}
	case "resend":
		return core.ResendDue{}
	case "deadline":
		return core.DeadlinePassed{Run: run}
	case "unsent": // the receiver, the lowest number, and the reason
		return core.Unsent{ReplyTo: words[0], First: s.number(words[1]), Reason: strings.Join(words[2:], " ")}
	case "answer":
		return s.answer(words, run, opts)
	case "child": // index/attempt and what it came to
		index, attempt, _ := strings.Cut(words[1], "/")
		ev := core.ChildEnded{Parent: core.Parent{
			OrderID: orderID, Run: run, Step: words[0],
			Index: s.number(index), Attempt: s.number(attempt),
		}, State: core.ChildState(words[2])}
		if v := opts["took"]; v != "" {
			for _, id := range strings.Split(v, ",") {
				ev.Took = append(ev.Took, protocol.ShortHash(id))
			}
		}
		switch ev.State {
		case core.ChildProcessed:
			if opts["output"] != "none" {
				ev.Output = json.RawMessage(`{"n":` + index + `}`)
			}
		case core.ChildCompensated:
			ev.Code = opts["code"]
			ev.Message = "it was undone"
		case core.ChildRefused:
			ev.Code = opts["code"]
			ev.Message = "it is too large"
		}
		return ev
	case "parent": // its words are the ask and the attempt, and answers, like a1:bought:yes
		return core.AskChild{
			Answers: passed(words[2:]),
			OrderID: orderID, Parent: core.Parent{
				OrderID: "p",
				Step:    cmp.Or(opts["step"], "each"), Index: 3, Attempt: s.number(words[1]),
			},
			Ask: core.ChildAsk(words[0]), Workflow: "test", Definition: s.def.Hash, ContentHash: "c0ffee",
		}
	}
	name, attempt, _ := strings.Cut(id, "/")
	if kind == "progress" {
		ev := core.Progress{
			Step: name, Run: run, Attempt: s.number(attempt), Operation: core.Do,
			Percent: s.number(words[1]), Note: opts["note"],
		}
		if v := opts["until"]; v != "" {
			ev.Until = s.now.Add(s.span(v))
		}
		return ev
	}
	if kind == "wake" {
		return core.Wake{Step: name, Run: run, Attempt: s.number(attempt), Early: slices.Contains(words, "early")}
	}
	if kind == "overdue" {
		queues := map[string]core.QueueState{"held": core.QueueHeld, "passed": core.QueuePassed}
		return core.Overdue{Step: name, Attempt: s.number(attempt), Queue: queues[opts["queue"]]}
	}
	r := map[string]core.Reply{
		"done": done(name, 0), "failed": failed(name, 0), "later": later(name, 0), "undone": undone(name, 0),
		"undo-failed":   undoFailed(name, 0),
		"undo-later":    reply(name, 0, 0, core.UndoOp, core.OutcomeRetryLater),
		"not-yet":       coded(later(name, 0), core.CodeNotYet),
		"undo-not-yet":  coded(reply(name, 0, 0, core.UndoOp, core.OutcomeRetryLater), core.CodeNotYet),
		"not-now":       coded(later(name, 0), core.CodeUnauthorized),
		"breaker-open":  coded(later(name, 0), core.CodeBreakerOpen),
		"too-late":      coded(later(name, 0), core.CodeQueue),
		"no-agent":      coded(later(name, 0), core.CodeNoAgent),
		"undo-too-late": coded(reply(name, 0, 0, core.UndoOp, core.OutcomeRetryLater), core.CodeQueue),
		"undo-no-agent": coded(reply(name, 0, 0, core.UndoOp, core.OutcomeRetryLater), core.CodeNoAgent),
		"undo-not-now":  coded(reply(name, 0, 0, core.UndoOp, core.OutcomeRetryLater), core.CodeUnauthorized),
	}[kind]
	require.NotEmpty(s, r.Step, kind)
	r.Run = run
	r.Attempt = s.number(attempt)
	r.NoEffect = slices.Contains(words, "no-effect")
	r.Code = cmp.Or(opts["code"], r.Code)
	if v := opts["retry-after"]; v != "" {
		r.RetryAfter = s.span(v)
	}
	return r
}

// raw returns a JSON text, or nil for none.
func raw(text string) json.RawMessage {
	if text == "" {
		return nil
	}
	return json.RawMessage(text)
}

func passed(words []string) (all []core.Passed) {
	for _, w := range words {
		if part := strings.Split(w, ":"); len(part) == 3 {
			value, _ := json.Marshal(part[2])
			if json.Valid([]byte(part[2])) {
				value = json.RawMessage(part[2])
			}
			all = append(all, core.Passed{ID: part[0], Name: part[1], Value: value, By: "ann"})
		}
	}
	return all
}

// answer is for a step and its round, like "approve/1", or for an event, like "bought".
func (s *story) answer(words []string, run int, opts map[string]string) core.Event {
	step, round, named := strings.Cut(words[0], "/")
	s.answers++
	ev := core.Answered{
		ID: fmt.Sprintf("a%d", s.answers), Run: run, By: "ann",
		Value: json.RawMessage(words[1]),
	}
	if named {
		ev.Step = step
		ev.Round = s.number(round)
	} else {
		ev.Name = step
	}
	if v := opts["by"]; v != "" {
		ev.By = v
	}
	if v := opts["id"]; v != "" {
		ev.ID = v
	}
	if _, by := opts["token"]; by {
		ev.Token = "a token"
	}
	if !json.Valid(ev.Value) {
		ev.Value, _ = json.Marshal(words[1])
	}
	return ev
}

func (s *story) sweepAll(backlog string) {
	events := protocol.SweepEvents(s.def, s.task, s.now)
	if len(events) == 0 {
		pushed, moved := protocol.Push(s.task)
		if moved {
			s.commit(pushed)
		}
		s.printf("nothing is overdue; due pushed: %v", moved)
		s.printIndex()
	}
	for _, ev := range events {
		if o, ok := ev.(core.Overdue); ok {
			if backlog != "" && o.Step == backlog {
				o.Queue = core.QueueHeld
			}
			ev = o
		}
		before := s.task
		dec, err := s.try(ev)
		require.NoError(s, err)
		s.printf("supervisor: %s", name(ev))
		s.print(before, dec)
		if settles(s.def, dec) {
			s.commit(protocol.Settled(s.task))
			s.printf("  reported")
		}
	}
	if len(events) > 0 {
		s.printIndex()
	}
}

func (s *story) restart() {
	dec, err := protocol.Decide(s.def, s.order, s.task, nil, protocol.At{Now: s.now})
	require.NoError(s, err)
	s.printEffects(dec.Effects)
	if settles(s.def, dec) {
		s.commit(protocol.Settled(s.task))
		s.printf("  reported")
	}
	s.printIndex()
}

// print shows what a decision changed, and commits it.
func (s *story) print(before *protocol.Task, dec protocol.Decision) {
	if dec.Ignored != "" {
		s.printf("  ignored: %s", dec.Ignored)
	}
	if v := dec.Verdict; v != nil {
		answer := map[bool]string{true: "accepted", false: "refused"}[v.Accepted]
		s.printf("  %s %s %s: %s", v.Command, v.ID, answer, v.Reason)
	}
	if dec.Changed {
		s.commit(dec.Task)
		s.printChanges(before, s.task)
	}
	s.printEffects(dec.Effects)
}

func (s *story) printChanges(before, after *protocol.Task) {
	if was := describe(before); was != describe(after) {
		s.printf("  %s", describe(after))
	}
	for i := range after.Steps {
		was := ""
		failed := ""
		if before != nil && len(before.Steps) > i {
			was = describeStep(&before.Steps[i])
			failed = describeError(before.Steps[i].Error)
		}
		if is := describeStep(&after.Steps[i]); is != was {
			s.printf("    %s", is)
		}
		if is := describeError(after.Steps[i].Error); is != "" && is != failed {
			s.printf("      %s", is)
		}
	}
	kept := 0
	if before != nil {
		kept = len(before.Attempts.Last)
	}
	for _, a := range after.Attempts.Last[min(kept, len(after.Attempts.Last)):] {
		s.printf("    attempt %s/%d ended: %s", a.Step, a.Number,
			strings.TrimSpace(string(a.Outcome)+" "+a.Code))
	}
}

func (s *story) printIndex() {
	if s.task == nil {
		return
	}
	for _, u := range s.task.Undelivered {
		again := "given up"
		if u.ResendAt != 0 {
			again = "again at " + u.ResendAt.String()[11:19]
		}
		s.printf("  %s has no status from number %d on: %s; %s", u.ReplyTo, u.First, u.Reason, again)
	}
	switch bucket, at := protocol.Index(s.task); bucket {
	case "":
		s.printf("  at rest")
	default:
		s.printf("  %s %s", bucket, clock(at))
	}
}

func describe(t *protocol.Task) string {
	if t == nil {
		return ""
	}
	text := string(t.ProcessState)
	if t.Phase != "" {
		text += " (" + string(t.Phase) + ")"
	}
	if t.Undo.Why != "" {
		text += ", because of " + string(t.Undo.Why)
	}
	if t.Run > 0 {
		text += fmt.Sprintf(", run %d", t.Run)
	}
	return text
}

func describeStep(s *protocol.Step) string {
	text := fmt.Sprintf("%s %s", s.Name, s.State)
	if s.Attempt > 0 {
		text += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	if s.Failures.Do > 0 {
		text += fmt.Sprintf(", %d failed", s.Failures.Do)
	}
	if s.Failures.Undo > 0 {
		text += fmt.Sprintf(", %d undos failed", s.Failures.Undo)
	}
	if s.NoEffect != 0 {
		text += ", without effect"
	}
	switch {
	case s.Withdrawn != 0:
		text += ", withdrawn: " + s.FailureCode
	case s.FailureCode != "":
		text += ", failed for good: " + s.FailureCode
	}
	if len(s.Won) > 0 {
		text += ", won: " + strings.Join(s.Won, ", ")
	}
	text += describeAnswers(s) + describeChildren(s.Children) + describeTimes(s)
	if s.Passing != nil {
		text += fmt.Sprintf(", %d answers known", len(s.Passing.Known))
		for _, a := range s.Passing.Answers {
			text += ", passes " + a.ID
		}
	}
	if c := s.Corrected; c != nil {
		text += strings.TrimRight(fmt.Sprintf(", input of command %d %s %s", c.Command, c.By, c.Reason), " ")
	}
	if p := s.Claim.Progress; p != nil {
		text += fmt.Sprintf(", at %d %% %s", p.Percent, p.Note)
	}
	if s.Claim.By != "" {
		text += ", locked by " + s.Claim.By
	}
	if s.Wait.At != 0 {
		text += ", waits until " + clock(s.Wait.At)
	}
	if s.CompleteBy != 0 {
		text += ", complete by " + clock(s.CompleteBy)
	}
	return text
}

func describeTimes(s *protocol.Step) (text string) {
	if s.Reminded.N > 0 {
		text = fmt.Sprintf(", reminded %d", s.Reminded.N)
	}
	if s.Reminded.Unsent != "" {
		text += " (unsent: " + s.Reminded.Unsent + ")"
	}
	if at := s.LateAt(); at != 0 {
		text += ", late at " + clock(at)
	}
	if at := s.RemindAt(); at != 0 {
		text += ", reminds by " + clock(at)
	}
	return text
}

func describeError(e *protocol.StepError) string {
	if e == nil {
		return ""
	}
	text := fmt.Sprintf("error of attempt %d at %s, %s: %s", e.Attempt, clock(e.At), e.Code, e.Message)
	if e.Since != 0 {
		text += ", since " + clock(e.Since)
	}
	if e.Polling != 0 {
		text += ", polling since " + clock(e.Polling)
	}
	return text
}

func describeChildren(c *protocol.Children) (text string) {
	if c == nil {
		return ""
	}
	text = fmt.Sprintf(", next %d of %d", c.Next, c.Count)
	if c.Enough > 0 {
		text += fmt.Sprintf(", %d are enough", c.Enough)
	}
	for _, o := range c.Open {
		text += strings.TrimRight(fmt.Sprintf(", open %d %s", o.Index, o.State), " ")
	}
	for _, e := range c.Ends {
		text += fmt.Sprintf(", %d %s at %s", e.Index, e.State, clock(e.At))
	}
	if c.Cursor > 0 {
		text += fmt.Sprintf(", undone down to %d", c.Cursor)
	}
	if c.Failed > 0 {
		text += fmt.Sprintf(", %d failed: %v", c.Failed, c.FailedAt)
	}
	if c.Reason != "" {
		text += ", " + c.Reason
	}
	return text
}

func describeAnswers(s *protocol.Step) (text string) {
	if s.Answers == nil {
		return ""
	}
	text = fmt.Sprintf(", round %d", s.Answers.Round)
	if s.Answers.Need > 1 {
		text += fmt.Sprintf(", needs %d", s.Answers.Need)
	}
	for _, v := range s.Answers.Votes {
		text += fmt.Sprintf(", %s: %s", v.By, v.Value)
	}
	var d protocol.Decided
	if s.Output != nil && json.Unmarshal(s.Output, &d) == nil {
		text += fmt.Sprintf(", decided %s by %s", d.Value, d.By)
	}
	return text
}

// again checks that what is sent again is the same byte for byte (P12).
func (s *story) again(id string, e core.Effect) {
	text := snapshot(e)
	if first, known := s.sent[id]; known {
		require.Equal(s, first, text, "%s is sent again otherwise", id)
	}
	s.sent[id] = text
}

func (s *story) printEffects(effects []core.Effect) {
	for _, e := range effects {
		switch e := e.(type) {
		case core.SendRequest:
			s.again(fmt.Sprint(e.Key, " ", e.Operation, "/", e.Attempt), e)
			fact := ""
			if e.Resolved != nil {
				fact = ", resolved: " + string(e.Resolved.Fact)
			}
			if e.PointOfNoReturn {
				fact += ", point of no return"
			}
			if e.Grade == core.Plain {
				fact += ", plain"
			}
			s.printf("  -> %s: %s (%s/%d), key %s, stop by %s%s %s", e.Agent, e.Name, e.Operation, e.Attempt,
				e.Key, clock(e.StopBy), fact, e.Input)
		case core.SendWake:
			at := "now"
			if e.WakeAt != 0 {
				at = "at " + clock(e.WakeAt)
			}
			s.printf("  -> scheduler: %s, %s", brief([]core.Effect{e}), at)
		case core.SendSettle:
			s.printf("  -> scheduler: settle")
		case core.SendStatus:
			st := e.Status
			if st.Seq > 0 {
				s.again(fmt.Sprint(e.ReplyTo, " ", st.Seq), e)
			}
			text := strings.Trim(fmt.Sprintf("%s %s %s %s", st.Step, st.Code, st.Message, st.Output), " ")
			if st.Kind == core.StatusProgress {
				text += fmt.Sprintf(", %d %% %s", st.Percent, st.Note)
			}
			if st.Until != 0 {
				text += ", until " + clock(st.Until)
			}
			if st.By != "" {
				text += ", by " + st.By + ": " + st.Reason
			}
			s.printf("  -> %s: %s, number %d, %s", e.ReplyTo, st.Kind, st.Seq, text)
			for _, sum := range st.Steps {
				s.printf("       %s %s, attempt %d", sum.Step, sum.State, sum.Attempts)
			}
		case core.AskChild:
			text := fmt.Sprintf("%s %s", e.Ask, e.Order)
			for _, a := range e.Answers {
				text += fmt.Sprintf(", %s: %s %s", a.ID, a.Name, a.Value)
			}
			s.printf("  -> %s/%d: %s", e.OrderID, e.Parent.Attempt, text)
		case core.ChildEnded:
			took := ""
			if len(e.Took) > 0 {
				took = fmt.Sprintf(", took %d", len(e.Took))
			}
			s.printf("  -> parent/%d: %s %s%s", e.Parent.Attempt, e.State,
				strings.Trim(fmt.Sprintf("%s %s %s", e.Output, e.Code, e.Message), " "), took)
		case core.EraseContent:
			s.printf("  -> store: erase the content %s of %s", e.Hash, e.OrderID)
		case core.RaiseAlert:
			s.again(fmt.Sprint("alert ", e.Command, " ", e.At), e)
			s.printf("  -> operator: %s of step %q, %s: %s (answer to command %d%s)", describePhase(e), e.Step, e.Code,
				e.Message, e.Command, describeAccepted(e.Accepts))
		}
	}
}

func describePhase(a core.RaiseAlert) string {
	if a.Undone {
		return "end of the undo"
	}
	return string(a.Phase)
}

func describeAccepted(a core.Accepted) (text string) {
	if a.Resubmit {
		text += "; resubmit"
	}
	if a.Undo {
		text += "; undo"
	}
	if a.Resolve {
		text += "; resolve"
	}
	if a.ResolveFrom != 0 {
		text += " from " + clock(a.ResolveFrom)
	}
	return text
}

func clock(t core.Time) string {
	text := strings.TrimSuffix(t.Std().Format("15:04:05.000"), ".000")
	if days := t.Sub(noon) / core.Day; days > 0 {
		text = fmt.Sprintf("day %d ", days) + text
	}
	return text
}
