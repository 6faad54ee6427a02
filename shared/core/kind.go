package core

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Kind distinguishes steps by what they do.
type Kind string

// Kinds of steps.
const (
	KindCall   Kind = "call"
	KindWait   Kind = "wait"
	KindAnswer Kind = "answer"
	KindFail   Kind = "fail"
	KindEach   Kind = "each"
	KindAny    Kind = "any"
)

// Kind returns the kind of the step.
func (d *StepDefinition) Kind() Kind {
	switch {
	case d.Wait != nil:
		return KindWait
	case d.Answer != nil:
		return KindAnswer
	case d.Fail != nil:
		return KindFail
	case d.Each != nil:
		return KindEach
	case d.Any != nil:
		return KindAny
	}
	return KindCall
}

// MaxWait is the longest wait of a step (P34, a wait ends at a fixed time).
const MaxWait = 366 * Day

// Wait is a step that ends at a time (P34). The step's input evaluates to the time, in RFC 3339, or to the
// length of the wait, such as "48h". Without an input, the length is For. A length counts from the claim. A
// time in the past ends the step at once.
type Wait struct {
	For Duration `json:"for,omitempty"` // time to wait, at most MaxWait
	// Spread is the longest additional wait. The additional wait depends on the order's ID, so that many
	// waits do not end at once.
	Spread Duration `json:"spread,omitempty"`
}

// Fail is a step that fails for good when its turn comes and its When is true (P50, a rule can fail the
// order). Alerts, statuses and logs show Code and Message. The two texts contain no data of the order.
type Fail struct {
	Code    string `json:"code"`    // short, stable word for programs
	Message string `json:"message"` // text for people, at most MaxMessage bytes
}

// Any is a step that ends when the first Enough of its members have ended (P54, the first of several decides).
// The member m of the step s is the step s-m. It comes after the same steps as s.
type Any struct {
	Members []string `json:"members"` // names of the members within the step
	Enough  int      `json:"enough"`
}

// MemberName returns the name of the step that is a member of an Any.
func MemberName(group, member string) string { return group + "-" + member }

// Remind is a call that is made while a step has not ended (P59, a step can have reminders). Nothing waits for it, and
// its replies change nothing.
type Remind struct {
	After  Duration `json:"after"`            // time from the step's first claim, or that of a round, to the first call
	Every  Duration `json:"every,omitempty"`  // time between two calls; 0 means a single call
	AtMost int      `json:"atMost,omitempty"` // number of calls; 0 means any number
	// Agent is the agent of the call. "" means that the call Answer.Ask is repeated, and then the fields below are
	// empty.
	Agent     string          `json:"agent,omitempty"`
	Operation string          `json:"operation,omitempty"`
	Timeout   Duration        `json:"timeout,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"` // template of the input; see Expressions
}

// Due returns the time of the n-th call, which counts from the given time, or zero if there is no n-th call.
func (m *Remind) Due(since Time, n int) Time {
	if n < 1 || n > 1 && m.Every == 0 || m.AtMost > 0 && n > m.AtMost {
		return 0
	}
	return since.Add(m.After + Duration(n-1)*m.Every)
}

// DueBy returns the number of calls that are due by a time.
func (m *Remind) DueBy(since, at Time) int {
	past := at.Sub(since) - m.After
	switch {
	case past < 0:
		return 0
	case m.Every == 0:
		return 1
	}
	n := 1 + int(past/m.Every)
	if m.AtMost > 0 {
		n = min(n, m.AtMost)
	}
	return n
}

// Each is a step of child tasks (P40, a step can have child orders). The step's input evaluates to a list,
// and the step starts one child for each element. Without an input, the step starts a single child.
type Each struct {
	Workflow   string `json:"workflow"`
	Definition string `json:"definition"` // hash of the child tasks' definition
	// Order is the template of a child's order. The template may use the list element, as item, and its
	// index. Without a template, a child's order is its element. Without a list, a child's order is the
	// parent's order.
	Order json.RawMessage `json:"order,omitempty"`
	// Concurrency is the number of children that run at once, at most MaxConcurrency.
	Concurrency int `json:"concurrency"`
	Tolerate    int `json:"tolerate,omitempty"` // number of children that may fail
	// Enough is the template of the number of children that must end well (P54, the first of several decides). The
	// others are then undone. If it is absent, all children must, except those that Tolerate lets fail.
	Enough json.RawMessage `json:"enough,omitempty"`
	// Child is the definition of the child tasks. It is nil if it was not loaded with the parent's
	// definition.
	Child   *Definition `json:"-"`
	Collect bool        `json:"collect,omitempty"` // the step's output holds the children's outputs
	// Events lists the events that only steps of the only child at a time wait for. The step passes their answers on
	// to it (P56, answers pass through).
	Events []PassedEvent `json:"events,omitempty"`
	// Repeat makes the step run one child after the other, each from the output of the one before (P57).
	Repeat *Repeat `json:"repeat,omitempty"`
}

// PassedEvent is an event that steps of a child wait for.
type PassedEvent struct {
	Name string `json:"name"`
	// Schema is the JSON Schema of the event's value. It is absent if any value is allowed, or if the child's steps
	// have different schemas.
	Schema json.RawMessage `json:"schema,omitempty"`
}

// Passes returns the index of an event in Events, or -1.
func (e *Each) Passes(event string) int {
	return slices.IndexFunc(e.Events, func(p PassedEvent) bool { return p.Name == event })
}

// Repeat repeats the only child of an Each (P57, a block can be repeated). An iteration is the child with its index.
// The template Each.Order may use the output of the iteration before, as previous, and the index.
type Repeat struct {
	// Until is a condition about the output of an iteration that has ended, as result, and its index. If it is true,
	// no other iteration starts.
	Until  string   `json:"until"`
	AtMost int      `json:"atMost"`          // number of iterations, at most 1000
	Every  Duration `json:"every,omitempty"` // time between the end of an iteration and the next one
	// OnExhausted is the reaction if Until is false after AtMost iterations. "" means the step's OnFailure.
	OnExhausted Policy `json:"onExhausted,omitempty"`
}

// BlockName returns the name of the definition that the block of a step is compiled to (P55, a block is a child order
// of the same file). It contains a ChildMark, so that no order can name it.
func BlockName(workflow, step string) string { return workflow + ChildMark + step }

// IsBlock reports whether this is the name of a block's definition.
func IsBlock(workflow string) bool { return strings.Contains(workflow, ChildMark) }

// FileOf returns the name of the workflow whose file contains the definition with this name.
func FileOf(workflow string) string {
	file, _, _ := strings.Cut(workflow, ChildMark)
	return file
}

// Block reports whether the children's definition is a block of the same file.
func (e *Each) Block() bool { return IsBlock(e.Workflow) }

// WithBlocks returns the definition and those of its blocks, the inner ones first.
func (d *Definition) WithBlocks() (all []*Definition) {
	for i := range d.Steps {
		if e := d.Steps[i].Each; e != nil && e.Child != nil && e.Block() {
			all = append(all, e.Child.WithBlocks()...)
		}
	}
	return append(all, d)
}

// WithChildren returns the definition and those of its child orders at all levels, the outer ones first.
func (d *Definition) WithChildren() []*Definition {
	all := []*Definition{d}
	for i := range d.Steps {
		if e := d.Steps[i].Each; e != nil && e.Child != nil {
			all = append(all, e.Child.WithChildren()...)
		}
	}
	return all
}

// Bounds of child tasks (P40).
const (
	MaxChildren    = 10_000   // children of a step
	MaxConcurrency = 100      // children of a step that run at once
	MaxChildDepth  = 3        // depth of nested workflows
	MaxChildOrder  = 48 << 10 // bytes of a child's order
	MaxCollected   = 16 << 10 // bytes of all outputs that a step collects
	MaxPassed      = 8        // answers that wait for the next child of a step
	MaxPassedSize  = 16 << 10 // bytes of these answers
)

// Answer is a step that ends with an answer from outside: an approval by people, or an event (P35, an answer
// decides a round). The claim of the step evaluates the step's input to a Question. The step's Timeout
// applies if the question has none.
type Answer struct {
	// Ask is the name of an earlier step, whose call sends the question (P38, an ask sends the question).
	// Expressions cannot read the output of the earlier step.
	Ask    string   `json:"ask,omitempty"`
	Event  string   `json:"event,omitempty"`  // name of the event; "" means an approval
	Values []string `json:"values,omitempty"` // allowed answers to an approval
	// Schema is the JSON Schema of an event's value. If it is absent, any value is allowed.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Refuse is an expression about the value. If the expression is true, the step fails for good.
	Refuse string `json:"refuse,omitempty"`
	// Attempts is the number of rounds in which a value may be refused. After each but the last one the step asks
	// again. At most MaxAttempts; 0 means 1.
	Attempts int `json:"attempts,omitempty"`
	// OnTimeout is the reaction if no answer comes in time. It is required if TimeoutValue is not set.
	OnTimeout Policy `json:"onTimeout,omitempty"`
	// TimeoutValue is the value of the decision if no answer has come in time.
	TimeoutValue json.RawMessage `json:"timeoutValue,omitempty"`
}

// Question is the evaluated input of a step that waits for an answer. The claim stores Need, Who, NotSelf and
// Timeout. The other fields are not stored, but evaluated when needed.
type Question struct {
	Question string          `json:"question,omitempty"`
	Show     json.RawMessage `json:"show,omitempty"`
	Need     *Whole          `json:"need,omitempty"`    // number of people who must agree; if absent, 1
	Who      []string        `json:"who,omitempty"`     // people who may answer; if absent, everyone may
	NotSelf  *string         `json:"notSelf,omitempty"` // person who may not answer
	// Timeout is a duration such as "48h" or "7d", or a time in RFC 3339. If it is absent, the definition's Timeout
	// applies.
	Timeout string `json:"timeout,omitempty"`
}

// Whole is a whole number of JSON, also one that is written as 2.0 or 1e3.
type Whole int

// UnmarshalJSON reads a whole number of at most 32 bits.
func (w *Whole) UnmarshalJSON(text []byte) error {
	n, err := strconv.ParseFloat(string(text), 64)
	if err != nil || n != math.Trunc(n) || math.Abs(n) > math.MaxInt32 {
		return errors.New("it must be a whole number")
	}
	*w = Whole(n)
	return nil
}

// Bounds of answers; sizes are in bytes.
const (
	MaxVoters      = 32      // voters of a round, and people in Who
	MaxAnswerBy    = 128     // length of a person's name
	MaxAnswerValue = 8 << 10 // size of an event's value
	MaxApproval    = 64      // size of an approval's value
	MaxAttempts    = 8       // rounds of a question; a step keeps as many verdicts, a parent as many answers
)

// PersonName reports whether a text is a valid name of a person who answers. A valid name has 1 to
// MaxAnswerBy bytes, is printable UTF-8, and contains none of the characters < > & " \.
func PersonName(name string) bool {
	if name == "" || len(name) > MaxAnswerBy || !utf8.ValidString(name) {
		return false
	}
	return !strings.ContainsFunc(name,
		func(c rune) bool { return Unprintable(c) || strings.ContainsRune("<>&\"\\", c) })
}

// Printable returns a text from outside in valid UTF-8, with a space for each character that is unprintable.
func Printable(text string) string {
	return strings.Map(func(c rune) rune {
		if Unprintable(c) {
			return ' '
		}
		return c
	}, strings.ToValidUTF8(text, "\ufffd"))
}

// Unprintable reports whether a character could control a terminal, forge a line, or change the order of the
// text around it. Names, codes and reasons contain no such character.
func Unprintable(c rune) bool {
	return unicode.IsControl(c) || c == '\u2028' || c == '\u2029' || unicode.Is(unicode.Bidi_Control, c)
}
