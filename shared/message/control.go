package message

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Control is a message to the control queue: a command, an answer, a Wake or a Settle. Applications send
// Control messages to the intake queue instead, see ForApplications. The queue of tasks has its own kinds, see
// ForTasks.
type Control struct {
	OrderID string
	Event   core.Event // event of a type that the variable kinds lists
	ReplyTo string     // logical name of the queue or bus for a refusal; "" means the order's reply-to
	Tries   int        // number of times that an answer was sent again because the order did not exist
}

// ControlKind names the event of a control message.
type ControlKind string

// Kinds of messages in the control queue.
const (
	Wake     ControlKind = "wake"
	Settle   ControlKind = "settle"
	Cancel   ControlKind = core.Cancel
	Undo     ControlKind = core.UndoCommand
	Resubmit ControlKind = core.Resubmit
	Resolve  ControlKind = core.Resolve
	Close    ControlKind = core.Close
	Move     ControlKind = core.Move
	Erase    ControlKind = core.Erase
	Answer   ControlKind = "answer"
	// Messages between a parent task and its child (P41, parent and child talk by messages). Only the Scheduler
	// sends and receives them, in the queue "tasks".
	AskChild   ControlKind = "ask-child"
	ChildEnded ControlKind = "child-ended"
)

// kinds lists the event types that a control message can contain. The struct tags of an event type define the
// JSON members of its message.
var kinds = []kind{
	kindOf(Wake, checkWake),
	kindOf(Settle, func(core.Settle) error { return nil }),
	commandOf(Cancel, func(core.Command) error { return nil }),
	commandOf(Undo, func(core.Command) error { return nil }),
	commandOf(Resubmit, checkResubmit),
	commandOf(Resolve, checkResolve),
	commandOf(Close, checkSigned),
	commandOf(Move, func(c core.Command) error { return checkDefinition(c.Definition) }),
	commandOf(Erase, checkSigned),
	kindOf(Answer, checkAnswer),
	kindOf(AskChild, checkAsk),
	kindOf(ChildEnded, checkEnded),
}

type kind struct {
	name  ControlKind
	holds func(core.Event) bool
	read  func(data []byte) (core.Event, error)
	check func(core.Event) error
}

func kindOf[E core.Event](name ControlKind, check func(E) error) kind {
	return kind{
		name:  name,
		holds: func(ev core.Event) bool { _, ok := ev.(E); return ok },
		read: func(data []byte) (core.Event, error) {
			var ev E
			err := rawjson.Unmarshal(data, &ev)
			return ev, err
		},
		check: func(ev core.Event) error { return check(ev.(E)) },
	}
}

func commandOf(name ControlKind, check func(core.Command) error) kind {
	k := kindOf(name, func(c core.Command) error { return cmp.Or(checkCommand(c), check(c)) })
	k.holds = func(ev core.Event) bool { c, ok := ev.(core.Command); return ok && c.Name == string(name) }
	read := k.read
	k.read = func(data []byte) (core.Event, error) {
		ev, err := read(data)
		c := ev.(core.Command)
		c.Name = string(name)
		return c, err
	}
	return k
}

func (m Control) kind() kind {
	for _, k := range kinds {
		if k.holds(m.Event) {
			return k
		}
	}
	return kind{}
}

// Kind returns the name of the message's event.
func (m Control) Kind() ControlKind { return m.kind().name }

// ID returns the ID of a command or an answer (P5, commands have a number and an ID). It returns "" for a
// Wake and for a Settle.
func (m Control) ID() string {
	return core.CommandOf(m.Event).ID
}

// ForApplications reports whether an application may send the message to the intake queue. The intake queue
// accepts a Cancel, and an Answer with a token.
func (m Control) ForApplications() bool {
	answer, ok := m.Event.(core.Answered)
	return m.Kind() == Cancel || ok && answer.Token != ""
}

// ForTasks reports whether the message is between a parent task and its child.
func (m Control) ForTasks() bool { return m.Kind() == AskChild || m.Kind() == ChildEnded }

type head struct {
	Schema  int         `json:"schema" enum:"1"`
	Kind    ControlKind `json:"kind"`
	OrderID string      `json:"task" pattern:"^[A-Za-z0-9._:~-]{1,128}$" doc:"ID of the order"`
	ReplyTo string      `json:"replyTo,omitempty" pattern:"^[A-Za-z0-9][A-Za-z0-9._-]{0,79}$" doc:"logical name of the queue or bus for a refusal; without it, the order's own"`
	Tries   int         `json:"tries,omitempty" minimum:"0" doc:"how often an answer was sent again because the order did not exist yet"`
}

// Encode returns the control message as JSON.
func (m *Control) Encode() ([]byte, error) { return m.MarshalJSON() }

// MarshalJSON writes one object with the members of the head and of the event.
func (m Control) MarshalJSON() ([]byte, error) {
	h, err := writer.Marshal(head{
		Schema: Schema, Kind: m.Kind(), OrderID: m.OrderID, ReplyTo: m.ReplyTo,
		Tries: m.Tries,
	})
	if err != nil {
		return nil, err
	}
	event, err := writer.Marshal(m.Event)
	if err != nil || len(event) <= len("{}") {
		return h, err
	}
	return append(append(h[:len(h)-1], ','), event[1:]...), nil
}

// UnmarshalJSON decodes the message. The JSON member "kind" determines the type of the event.
func (m *Control) UnmarshalJSON(data []byte) error {
	var h head
	if err := rawjson.Unmarshal(data, &h); err != nil {
		return err
	}
	if err := checkSchema(h.Schema); err != nil {
		return err
	}
	*m = Control{OrderID: h.OrderID, ReplyTo: h.ReplyTo, Tries: h.Tries}
	for _, k := range kinds {
		if k.name == h.Kind {
			var err error
			m.Event, err = k.read(data)
			if ask, ok := m.Event.(core.AskChild); ok {
				ask.OrderID = h.OrderID
				m.Event = ask
			}
			return err
		}
	}
	return unreadable("kind %.40q is not known", h.Kind)
}

// Check returns an error if a field or the value of the message is missing or invalid. Decode makes the check
// itself.
func (m *Control) Check() error {
	if err := m.checkFields(); err != nil {
		return err
	}
	name, value := m.value()
	if len(value) == 0 {
		return nil
	}
	if err := rawjson.Check(value, rawjson.MaxLevels); err != nil {
		return unreadable("%v", rawjson.In(name, err))
	}
	return nil
}

// value returns the value of a person in the message, with its member's name.
func (m *Control) value() (name string, value json.RawMessage) {
	switch e := m.Event.(type) {
	case core.Command:
		if len(e.Output) > 0 {
			return "output", e.Output
		}
		return "input", e.Input
	case core.Answered:
		return "value", e.Value
	}
	return "", nil
}

func (m *Control) checkFields() error {
	k := m.kind()
	switch {
	case !taskPattern.MatchString(m.OrderID):
		return unreadable("task %.140q is no order's ID", m.OrderID)
	case m.ReplyTo != "" && !ReplyToName(m.ReplyTo):
		return unreadable("replyTo %.100q must be the logical name of a deployed queue or bus", m.ReplyTo)
	case m.Tries < 0:
		return unreadable("tries counts from 0")
	case k.name == "":
		return unreadable("there is no command %.50q (%T)", core.CommandOf(m.Event).Name, m.Event)
	}
	if ended, ok := m.Event.(core.ChildEnded); ok && ended.Parent.OrderID != m.OrderID {
		return unreadable("task %.140q is not the parent of the child that has ended", m.OrderID)
	}
	return k.check(m.Event)
}

func checkWake(w core.Wake) error {
	if err := cmp.Or(checkCounts(w.Run, w.Attempt), checkName(w.Step)); err != nil {
		return err
	}
	if w.Step == "" || w.Attempt < 1 {
		return unreadable("step or attempt is missing; a wake names both")
	}
	return nil
}

func checkCounts(a, b int) error {
	if a < 0 || b < 0 {
		return unreadable("run, attempt and command count from 0")
	}
	return nil
}

// checkName accepts the empty string, which means no step.
func checkName(step string) error {
	if step != "" && !stepPattern.MatchString(step) {
		return unreadable("step %.60q is no step's name", step)
	}
	return nil
}

// MaxBy is the maximum length of the name of a command's sender, in bytes.
const MaxBy = 128

var hashPattern = regexp.MustCompile(`^[0-9a-f]{32}$`)

// Latest stands for the definition that new orders get. A command may name Latest instead of a hash.
const Latest = "latest"

// IsDefinition reports whether the text is Latest or the hash of a definition.
func IsDefinition(text string) bool { return text == Latest || hashPattern.MatchString(text) }

func checkDefinition(text string) error {
	if !IsDefinition(text) {
		return unreadable("definition %.40q must be %q, or the hash of a definition: 32 hexadecimal digits",
			text, Latest)
	}
	return nil
}

// IsCommandID reports whether a command or an answer may have this ID. The ID must not be the token of an
// answer, because the task stores the ID with the verdict (P39, a token is an answer's permission).
func IsCommandID(id string) bool { return idPattern.MatchString(id) && core.RedactText(id) == id }

func checkID(id string) error {
	if !IsCommandID(id) {
		return unreadable(
			"id %.140q must be 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and no token of an answer", id)
	}
	return nil
}

func checkCommand(c core.Command) error {
	if err := cmp.Or(checkCounts(c.Number, c.Run), checkID(c.ID), checkName(c.Step)); err != nil {
		return err
	}
	switch {
	case c.Definition != "" && !IsDefinition(c.Definition):
		return checkDefinition(c.Definition)
	case c.Fact != "" && !slices.Contains(core.Facts, c.Fact):
		return unreadable("fact %.40q must be happened, not-happened or undone", c.Fact)
	case c.Deadline < 0 || c.Deadline > maxDeadline:
		return unreadable("deadline must be between the years 1970 and 9999")
	case len(c.By) > MaxBy:
		return badBy(c.By)
	case len(c.Reason) > core.MaxMessage:
		return badReason(c.Reason)
	}
	return CheckTexts(c.By, c.Reason)
}

func checkSigned(c core.Command) error { return CheckSigned(c.Sender) }

// CheckSigned returns an error unless the sender has a name and a reason.
func CheckSigned(s core.Sender) error {
	switch {
	case strings.TrimSpace(s.By) == "" || len(s.By) > MaxBy:
		return badBy(s.By)
	case strings.TrimSpace(s.Reason) == "" || len(s.Reason) > core.MaxMessage:
		return badReason(s.Reason)
	}
	return CheckTexts(s.By, s.Reason)
}

func badBy(by string) error {
	return unreadable("by has %d bytes; name in 1 to %d bytes who does it", len(by), MaxBy)
}

func badReason(reason string) error {
	return unreadable("reason has %d bytes; say why in 1 to %d bytes", len(reason), core.MaxMessage)
}

// CheckTexts returns an error if the sender's name or the reason of a command is not UTF-8, or contains a
// character for which core.Unprintable returns true.
func CheckTexts(by, reason string) error {
	switch {
	case !utf8.ValidString(by):
		return unreadable("by is not UTF-8; send UTF-8")
	case !utf8.ValidString(reason):
		return unreadable("reason is not UTF-8; send UTF-8")
	case strings.ContainsFunc(by, core.Unprintable):
		return unreadable("by holds a line end or another control character; write the name alone")
	case strings.ContainsFunc(reason, core.Unprintable):
		return unreadable(
			"reason holds a line end or another control character; write it in one line of plain text")
	}
	return nil
}

func checkResubmit(c core.Command) error {
	switch {
	case c.Step == "" && len(c.Input) == 0:
		return nil
	case c.Step == "" || len(c.Input) == 0:
		return unreadable("a resubmit has a step and its input, or neither")
	}
	return checkStated("input", c.Input, core.MaxInput) // P51, a call can get another input
}

func checkResolve(c core.Command) error {
	switch {
	case c.Step == "":
		return unreadable("step is missing; a resolve names the step in doubt")
	case c.Fact == "":
		return unreadable("fact is missing; it must be happened, not-happened or undone")
	case len(c.Output) == 0:
		return nil
	case c.Fact != core.Happened:
		return unreadable("output belongs to a step that happened, and the fact is %s; leave it out", c.Fact)
	}
	return checkStated("output", c.Output, core.MaxOutput)
}

func checkStated(name string, value json.RawMessage, limit int) error {
	switch {
	case len(value) > limit:
		return unreadable("%s has %d bytes, the limit is %d; store large data elsewhere and give a reference",
			name, len(value), limit)
	case string(value) == "null":
		return unreadable("%s is null; write the value that is meant, {} for an empty one", name)
	}
	return nil
}

func checkAnswer(a core.Answered) error {
	if err := cmp.Or(checkCounts(a.Run, 0), checkName(a.Step), checkID(a.ID)); err != nil {
		return err
	}
	switch {
	case (a.Step == "") == (a.Name == "") && a.Token == "":
		return unreadable("an answer names a step, or an event, and not both")
	case a.Name != "" && !stepPattern.MatchString(a.Name):
		return unreadable("event %.60q is no event's name", a.Name)
	case a.Round < 0 || a.Step != "" && a.Round < 1:
		return unreadable("round is %d; it counts from 1, and an answer to a step names it", a.Round)
	case (a.Token == "" || a.By != "") && !core.PersonName(a.By):
		return unreadable("by has %d bytes; an answer says who answers, in 1 to %d bytes without control "+
			"characters and < > & \" \\", len(a.By), core.MaxAnswerBy)
	case len(a.Value) == 0:
		return unreadable("value is missing")
	case len(a.Note) > core.MaxMessage:
		return unreadable("reason has %d bytes; it says why it is answered so, in at most %d", len(a.Note),
			core.MaxMessage)
	}
	return CheckTexts(a.By, a.Note)
}
