package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Entry is an event in the history of a task: a message that the task has received or sent, a change of the
// task or of a step, or a plan.
type Entry struct {
	At      core.Time `json:"at,omitzero" doc:"absent if the stored document does not keep it; of a plan, when it comes"`
	Way     string    `json:"way,omitempty" enum:"received,sent" doc:"absent if the entry is no message"`
	Kind    string    `json:"kind" enum:"order,command,answer,reply,progress,request,wake,children,status,alert,end,claim,step,state,plan" doc:"claim: a step without an agent begins; step: a step changes; state: the order ends, or stops in Error; plan: an event to come; all others are messages"`
	Peer    string    `json:"peer,omitempty" doc:"sender or receiver: an agent, a reply-to, a person or an order"`
	Step    string    `json:"step,omitempty"`
	Attempt int       `json:"attempt,omitempty"`
	Undo    bool      `json:"undo,omitempty" doc:"true if the attempt is an undo"`
	What    string    `json:"what" doc:"operation of an agent, outcome, kind of status, command, state, or a short phrase"`
	Seq     int       `json:"seq,omitempty" doc:"number of a numbered status"`
	Report  string    `json:"report,omitempty" enum:"sent,unknown" doc:"present in a message about the present end of the order; unknown: it may not have been sent, and a plan says when it is sent again"`
	Code    string    `json:"code,omitempty" doc:"code of a failure; accepted or refused for a command"`
	Text    string    `json:"text,omitempty" doc:"details, such as the message of an error or a reason"`

	order core.Time // sort key
}

// Values of Entry.Way.
const (
	Received = "received"
	Sent     = "sent"
)

// Values of Entry.Report.
const (
	ReportSent    = "sent"
	ReportUnknown = "unknown"
)

// Kinds of entries.
const (
	EntryOrder    = "order"
	EntryCommand  = "command"
	EntryAnswer   = "answer"
	EntryReply    = "reply"
	EntryProgress = "progress"
	EntryRequest  = "request"
	EntryWake     = "wake"
	EntryChildren = "children"
	EntryStatus   = "status"
	EntryAlert    = "alert"
	EntryEnd      = "end" // message of a child to its parent
	EntryClaim    = "claim"
	EntryStep     = "step"
	EntryState    = "state"
	EntryPlan     = "plan"
)

// Message reports whether the entry is a message, or a plan, which says when the next message is expected.
func (e Entry) Message() bool { return e.Way != "" || e.Kind == EntryPlan }

type history struct {
	task   *protocol.Task
	def    *core.Definition
	all    []Entry
	claims map[moment]Entry // claims of steps that are told
	ends   map[moment]bool  // ends of attempts that are told
}

type moment struct {
	step string
	at   core.Time
}

// History returns the past of a task and its plans, earliest first. An entry precedes its effects at the same
// time. History derives the entries from the stored document (P12, effects are emitted again), and leaves out
// what the document does not keep. For example, the document keeps only the last 16 unsuccessful attempts.
// Without the definition, entries that depend on it are missing.
func History(t *protocol.Task, def *core.Definition) []Entry {
	h := &history{task: t, def: def, claims: map[moment]Entry{}, ends: map[moment]bool{}}
	h.received()
	for _, v := range t.Commands.Verdicts {
		if t.Erased == nil || v.Command != "erase" || v.At != t.Erased.At {
			h.command(v)
		}
	}
	if e := t.Erased; e != nil { // the erasure keeps its reason, unlike its verdict
		h.command(protocol.Verdict{Command: "erase", Accepted: true, By: e.By, Note: e.Reason, At: e.At})
	}
	if t.Start.Seq > 0 {
		h.status(Entry{At: t.StartedAt()}, t.ReplyTo, core.StatusStarted, t.Start.Seq)
	}
	attempts, _ := attemptsOf(t, def)
	for _, a := range attempts {
		h.attempt(a)
	}
	for i := range t.Steps {
		h.step(&t.Steps[i], definitionOf(def, t.Steps[i].Name))
	}
	if t.End.At != 0 {
		h.end()
	}
	if !Ended(t) {
		h.add(Entry{At: t.Deadline.At, Kind: EntryPlan, What: "deadline"})
	}
	slices.SortStableFunc(h.all, func(a, b Entry) int {
		return cmp.Or(cmp.Compare(a.order, b.order), h.rank(a)-h.rank(b))
	})
	return h.all
}

// rank sorts the entries of one time. A decision has the time of its cause, such as a reply, and its effects.
// A cause that belongs to a claim of its step at the same time stays behind this claim.
func (h *history) rank(e Entry) int {
	ofAnother := e.What == "withdrawn" || e.What == string(protocol.OutcomeSuperseded)
	cause := (e.Way == Received || e.Kind == EntryStep) && !ofAnother
	claim, claimed := h.claims[moment{e.Step, e.order}]
	before := claim.Undo && !e.Undo || e.Attempt != 0 && e.Attempt < claim.Attempt
	if cause && (!claimed || before) {
		return 0
	}
	return 1
}

// add adds an entry. It ignores an event that has not happened.
func (h *history) add(e Entry) {
	e.order = cmp.Or(e.order, e.At)
	if e.order != 0 {
		h.all = append(h.all, e)
	}
}

// message returns the entry as a message.
func (e Entry) message(way, kind, peer, what string) Entry {
	e.Way = way
	e.Kind = kind
	e.Peer = peer
	e.What = what
	return e
}

func (h *history) received() {
	t := h.task
	if t.Workflow == "" {
		return // a cancel came before the order
	}
	from := ""
	if t.Parent != nil {
		from = t.Parent.OrderID
	}
	e := Entry{At: t.Created}
	h.add(e.message(Received, EntryOrder, from, EntryOrder))
	if t.ReplyTo != "" && h.def != nil && h.def.Notifies(core.StatusReceived) {
		h.status(e, t.ReplyTo, core.StatusReceived, 0)
	}
}

// status adds a status, which has a number if seq is not 0.
func (h *history) status(e Entry, to string, kind core.StatusKind, seq int) {
	e.Seq = seq
	h.add(e.message(Sent, EntryStatus, to, string(kind)))
}

func (h *history) command(v protocol.Verdict) {
	e := Entry{
		At: v.At, Code: "refused", Text: strings.TrimSuffix(strings.TrimPrefix(v.Reason+"; "+v.Note, "; "), "; "),
	}.message(Received, EntryCommand, v.By, v.Command)
	if v.Accepted {
		e.Code = "accepted"
	}
	for i := range h.task.Steps { // the step may have another fact by now
		r := h.task.Steps[i].Resolved
		if r != nil && r.At == v.At && v.Command == "resolve" && v.Accepted {
			e.Step = h.task.Steps[i].Name
			e.What += " " + string(r.Fact)
		}
	}
	h.add(e)
}

// attempt adds an unsuccessful attempt: its claim and its end.
func (h *history) attempt(a Attempt) {
	e := Entry{At: a.Began, Step: a.Step, Attempt: a.Number, Undo: a.Operation == core.UndoOp}
	h.claim(e, definitionOf(h.def, a.Step), a.Agent)
	h.ends[moment{a.Step, a.Ended}] = true
	e.At = a.Ended
	e.Kind = EntryStep
	e.What = string(a.Outcome)
	e.Code = a.Code
	if a.Agent != "" && (a.Outcome == core.OutcomeFailed || a.Outcome == core.OutcomeRetryLater) {
		e = e.message(Received, EntryReply, a.Agent, e.What)
	}
	if s := h.task.Step(a.Step); s != nil && s.Error != nil && s.Error.At == a.Ended {
		e.Code = s.Error.Code
		e.Text = s.Error.Message
	}
	if core.Uncalled(a.Code) {
		e.Text = strings.TrimSuffix("not called: "+e.Text, ": ")
	}
	h.add(e)
}

// claim adds the claim of a step, unless it is told. For a step with an agent, this is the request to the agent.
func (h *history) claim(e Entry, d *core.StepDefinition, agent string) {
	if _, told := h.claims[moment{e.Step, e.At}]; told {
		return
	}
	h.claims[moment{e.Step, e.At}] = e
	e.Kind = EntryClaim
	e.What = "claimed"
	if agent != "" {
		e = e.message(Sent, EntryRequest, agent, operation(d, e.Undo))
	}
	h.add(e)
}

func operation(d *core.StepDefinition, undo bool) string {
	switch {
	case d == nil && undo:
		return string(core.UndoOp)
	case d == nil:
		return string(core.Do)
	case undo && d.Undo != nil:
		return d.Undo.Operation
	}
	return d.Operation
}

func (h *history) step(s *protocol.Step, d *core.StepDefinition) {
	agent := s.Claim.Agent
	if d != nil {
		agent = s.AskedAgent(d)
	}
	if g := s.Corrected; g != nil {
		h.add(Entry{
			At: g.At, Kind: EntryStep, Peer: g.By, Step: s.Name, What: "got another input", Text: g.Reason,
		})
	}
	h.add(Entry{At: s.Withdrawn, Kind: EntryStep, Step: s.Name, What: "withdrawn", Text: s.FailureCode})
	last := Entry{At: s.Claim.At, Step: s.Name, Attempt: s.Attempt, Undo: s.Claim.Undo}
	if s.Children != nil && s.Claim.At != 0 {
		h.children(s, last)
	}
	h.claim(last, d, agent)
	h.claim(Entry{At: s.FirstClaim(), Step: s.Name}, d, agent)
	h.answers(s, d)
	h.failure(s)
	h.finish(s, d, agent)
	h.undone(s, agent)
	if p := s.Claim.Progress; p != nil && s.InFlight() {
		last.At = p.At
		last.Text = p.Note
		h.add(last.message(Received, EntryProgress, agent, fmt.Sprintf("%d %%", p.Percent)))
	}
	h.plan(s, agent)
}

func (h *history) children(s *protocol.Step, e Entry) {
	c := s.Children
	h.claims[moment{e.Step, e.At}] = e
	what := "start"
	ended := c.Next - len(c.Open)
	if s.Claim.Undo {
		what = "undo"
		ended = max(0, c.Started-c.Cursor-len(c.Open))
	}
	e.Text = fmt.Sprintf("%s, %d ended", Count(ended+len(c.Open), "child order"), ended)
	h.add(e.message(Sent, EntryChildren, "", what))
	for _, end := range c.Ends {
		id := core.Parent{OrderID: h.task.OrderID, Run: h.task.Run, Step: s.Name, Index: end.Index}.ChildID()
		h.add(Entry{At: end.At, Step: s.Name}.message(Received, EntryEnd, id,
			fmt.Sprintf("iteration %d %s", end.Index+1, end.State)))
	}
}

// failure adds the last failure of a step, unless it is the end of an attempt that the method attempt has added.
func (h *history) failure(s *protocol.Step) {
	f := s.Error
	if f == nil || h.ends[moment{s.Name, f.At}] {
		return
	}
	e := Entry{
		At: f.At, Kind: EntryStep, Step: s.Name, Attempt: f.Attempt, What: "failed", Code: f.Code,
		Text: f.Message,
	}
	switch {
	case f.Code == core.CodeNotYet: // a Processed step keeps its last error, which may be not-yet
		e.What = "asked"
	case f.Since != 0:
		e.What = "not called"
	}
	h.add(e)
}

func (h *history) answers(s *protocol.Step, d *core.StepDefinition) {
	if s.Answers == nil {
		return
	}
	reasons := slices.Clone(s.Answers.Verdicts)
	for _, v := range s.Answers.Votes {
		what := EntryAnswer // the value of an event belongs to the application, so it is not shown
		if d != nil && d.Answer != nil && d.Answer.Event == "" {
			what = string(v.Value)
		}
		e := Entry{At: v.At, Step: s.Name, Attempt: s.Attempt}.message(Received, EntryAnswer, v.By, what)
		of := func(r protocol.Verdict) bool { return r.Accepted && r.By == v.By && r.At == v.At }
		if i := slices.IndexFunc(reasons, of); i >= 0 {
			e.Text = reasons[i].Note
			reasons = slices.Delete(reasons, i, i+1)
		}
		h.add(e)
	}
	for _, r := range reasons {
		e := Entry{At: r.At, Kind: EntryStep, Peer: r.By, Step: s.Name, What: "early answer refused", Text: r.Reason}
		if r.Accepted {
			e.Text = r.Note
			e = e.message(Received, EntryAnswer, r.By, EntryAnswer)
		}
		if r.Accepted && r.Note != "" || r.ID == "" {
			h.add(e)
		}
	}
}

func (h *history) finish(s *protocol.Step, d *core.StepDefinition, agent string) {
	e := Entry{At: s.Finish.At, Kind: EntryStep, Step: s.Name, What: string(core.Processed)}
	stated := s.Resolved != nil && s.Resolved.At == s.Finish.At // by an operator, so no reply came
	switch {
	case agent != "" && !stated:
		e = e.message(Received, EntryReply, agent, string(core.OutcomeDone))
		if !s.Claim.Undo {
			e.Attempt = s.Attempt
		}
	case d != nil && d.Any != nil:
		e.What = "decided"
		e.Text = strings.Join(s.Won, ", ")
	case d != nil && d.Wait != nil:
		e.Attempt = s.Attempt
		e = e.message(Received, EntryWake, "", "the wait is over")
	}
	h.add(e)
	if s.Finish.Seq > 0 {
		at := Entry{At: s.Finish.At, Step: s.Name}
		if s.Finish.Seq > h.task.Start.Seq && h.task.Start.Seq > 0 { // one that ended in Error is told by the Resubmit
			at.At = max(at.At, h.task.StartedAt())
		}
		h.status(at, h.task.ReplyTo, core.StatusStepFinished, s.Finish.Seq)
	}
}

// undone adds the reply to an undo. The document does not keep its time, so it stands behind the request.
func (h *history) undone(s *protocol.Step, agent string) {
	stated := s.Resolved != nil && s.Resolved.At >= s.Claim.At // by an operator, so no reply came
	if agent != "" && s.State == core.Compensated && s.Claim.Undo && !stated {
		e := Entry{Step: s.Name, Attempt: s.Attempt, Undo: true, order: s.Claim.At}
		h.add(e.message(Received, EntryReply, agent, string(core.OutcomeDone)))
	}
}

func (h *history) plan(s *protocol.Step, agent string) {
	e := Entry{At: s.Wait.At, Kind: EntryPlan, Step: s.Name}
	switch s.State {
	case core.Processing, core.Compensating:
		e.At = s.CompleteBy
		e.What = "to be completed"
		if agent != "" {
			e.What = "reply due"
		}
	case core.Waiting:
		e.What = "end of the wait"
		switch {
		case h.task.ProcessState == core.Error: // the time runs on, but nothing happens then
			return
		case s.Children.Pauses(s):
			e.What = "next iteration"
		case s.Children != nil:
			e.What = "open child orders are asked again"
		}
	case core.Pending, core.Failed:
		e.What = "next attempt"
	case core.UndoWait:
		e.What = "undo"
	default:
		return
	}
	h.add(e)
}

// end adds the present end, and the messages about it (P11, an end is reported until settled).
func (h *history) end() {
	t := h.task
	e := Entry{
		At: t.End.At, Kind: EntryState, What: string(t.ProcessState), Code: t.Reason.Code, Text: t.Reason.Text,
	}
	if cause := undoneFor(t); cause != nil && (t.ProcessState == core.Compensated || t.ProcessState == core.Cancelled) {
		e.Code = ""
		e.Text = cause.Message
	}
	h.add(e)
	kind := protocol.EndKind(t)
	report := Entry{At: t.End.At, Report: ReportSent}
	if t.End.ResendAt != 0 {
		report.Report = ReportUnknown
	}
	if t.Parent != nil {
		h.add(report.message(Sent, EntryEnd, t.Parent.OrderID, string(kind)))
	}
	report.Step = t.Reason.Step
	if t.End.Seq > 0 {
		for _, name := range t.EndReceivers(h.def) {
			h.status(report, name, kind, t.End.Seq)
		}
	}
	if protocol.RaisesAlert(h.def, t) && !movedAfterEnd(t) {
		h.add(report.message(Sent, EntryAlert, "", string(t.ProcessState)))
	}
	h.add(Entry{At: t.End.ResendAt, Kind: EntryPlan, What: "the messages about the end are sent again"})
}
