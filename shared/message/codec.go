package message

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// writer copies the values of applications, people and services, which were checked when they came in.
var writer = rawjson.NewWriter()

// Encode returns the submission as JSON. All message types have the method Encode, and thus implement
// port.Value. An in-memory queue can deliver a port.Value without encoding it.
func (m *SubmitOrder) Encode() ([]byte, error) { return writer.Marshal(m) }

// Encode returns the request as JSON.
func (m *Request) Encode() ([]byte, error) { return writer.Marshal(m) }

// Encode returns the reply as JSON.
func (m *Reply) Encode() ([]byte, error) { return writer.Marshal(m) }

// Encode returns the status as JSON.
func (m *Status) Encode() ([]byte, error) { return writer.Marshal(m) }

// Encode returns the quarantined message as JSON.
func (m *Quarantined) Encode() ([]byte, error) { return writer.Marshal(m) }

// SubmitOf returns the submission in a delivery. It checks a submission in the delivery's Value. Otherwise it
// decodes the delivery's body.
func SubmitOf(d port.Delivery) (SubmitOrder, error) {
	if v, ok := d.Value.(*SubmitOrder); ok {
		return *v, v.Check()
	}
	body, err := d.Bytes()
	if err != nil {
		return SubmitOrder{}, refuse(CodeNotJSON, "", "the submission cannot be read: %v", err)
	}
	return DecodeSubmit(body)
}

// IntakeOf reads a message of the intake queue: a submission or a command. Any application may send to the
// intake queue, so IntakeOf accepts only the commands that ForApplications permits.
func IntakeOf(d port.Delivery) (SubmitOrder, *Control, error) {
	o, err := SubmitOf(d)
	if err == nil {
		return o, nil, nil
	}
	c, is := d.Value.(*Control)
	if is {
		err = c.Check()
	} else {
		body, unread := d.Bytes()
		var names struct {
			OrderID string      `json:"orderId"` // only a submission has the member orderId
			Kind    ControlKind `json:"kind"`
		}
		if unread != nil || json.Unmarshal(body, &names) != nil || names.OrderID != "" || names.Kind == "" {
			return o, nil, err
		}
		c, err = Decode[Control](body)
	}
	if err != nil {
		return SubmitOrder{}, nil, err
	}
	if !c.ForApplications() {
		return SubmitOrder{}, nil, unreadable("the intake queue takes orders, cancels, and answers that "+
			"have a token; send this %s to the control queue", c.Kind())
	}
	return SubmitOrder{}, c, nil
}

type checked[T any] interface {
	*T
	checkFields() error
}

// Of returns the message of type T in a delivery. It checks the fields of a *T in the delivery's Value, whose
// sender in this process has checked the values in it. Otherwise it calls Decode with the delivery's body. It
// returns the same errors as Decode.
func Of[T any, M checked[T]](d port.Delivery) (*T, error) {
	if v, ok := any(d.Value).(*T); ok {
		return v, M(v).checkFields()
	}
	body, err := d.Bytes()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	return Decode[T, M](body)
}

// Decode decodes and checks a message. Its values are in their shortest form, which the limits are about. The
// error is ErrNewer, or wraps ErrUnreadable with the reason.
func Decode[T any, M checked[T]](data []byte) (*T, error) {
	m := new(T)
	reply, isReply := any(m).(*Reply)
	levels := rawjson.MaxLevels + envelope(m)
	var lost losses
	var err error
	if isReply {
		data, lost, err = lossesOf(data, levels)
	} else {
		data, err = rawjson.Shortest(data, levels)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if err := rawjson.Unmarshal(data, m); err != nil {
		switch {
		case newer(data):
			return nil, ErrNewer
		case errors.Is(err, ErrUnreadable): // the error comes from Control.UnmarshalJSON
			return nil, err
		}
		return nil, fmt.Errorf("%w: %w", ErrUnreadable, err)
	}
	if isReply {
		reply.lose(lost)
	}
	if err := M(m).checkFields(); err != nil {
		return nil, err
	}
	return m, nil
}

// losses holds the faults of a reply's members by their names.
type losses map[string]error

// lossesOf returns a reply in its shortest form, without an output and texts that have a fault, and these
// faults. If another member has a fault, it returns the error.
func lossesOf(data []byte, levels int) ([]byte, losses, error) {
	lost := losses{}
	for {
		short, err := rawjson.Shortest(data, levels)
		if err == nil {
			return short, lost, nil
		}
		fault, ok := errors.AsType[*rawjson.Fault](err)
		if !ok {
			return nil, nil, err
		}
		name, _, _ := strings.Cut(fault.Place, ".")
		if lost[name] != nil || !slices.Contains([]string{"output", "error", "note"}, name) {
			return nil, nil, err
		}
		member, _ := rawjson.Member(data, name) // nil if it cannot be found, and then the first error counts
		if within := rawjson.Check(member, rawjson.MaxLevels); member != nil && within != nil {
			err = rawjson.In(name, within) // positions count from the beginning of the member
		}
		lost[name] = err
		if name == "error" { // the code of a failure has a meaning of its own
			lost["error"] = &core.Refusal{Code: codeIn(data), Text: err.Error()}
		}
		data = rawjson.Without(data, name)
		if data == nil {
			return nil, nil, err
		}
	}
}

// codeIn returns the error code of a reply whose error has a fault, or "unspecified".
func codeIn(data []byte) (code string) {
	reason, _ := rawjson.Member(data, "error")
	raw, _ := rawjson.Member(reason, "code")
	if rawjson.Check(raw, 1) != nil || json.Unmarshal(raw, &code) != nil {
		return "unspecified"
	}
	return code
}

// lose ends the attempt of a reply that cannot be kept as it is, instead of leaving the step to its timeout
// and another call (P28, what is too large fails once). An undo needs no output (P24).
func (m *Reply) lose(lost losses) {
	output := lost["output"]
	code := core.CodeOutput
	if output == nil && len(m.Output) > core.MaxOutput {
		output = fmt.Errorf("it has %d bytes and the limit is %d; store it elsewhere and return a "+
			"reference", len(m.Output), core.MaxOutput)
		code = core.CodeOutputTooLarge
		m.Output = nil
	}
	if output != nil && m.Outcome == core.OutcomeDone && m.Operation != core.UndoOp {
		m.Outcome = core.OutcomeFailed
		m.Error = &ReplyError{
			Code:    code,
			Message: "the operation was done, but its output cannot be kept: " + output.Error(),
		}
	}
	if r, ok := errors.AsType[*core.Refusal](lost["error"]); ok && m.Outcome != core.OutcomeDone {
		m.Error = &ReplyError{Code: r.Code, Message: r.Text}
	}
	if err := lost["note"]; err != nil {
		m.Note = err.Error()
	}
}

// envelope returns the number of JSON levels that a message adds around a value of an application or a
// service. A status adds 3 levels, because its output may be a list of the outputs of child orders.
func envelope(m any) int {
	if _, ok := m.(*Status); ok {
		return 3
	}
	return 1
}

// newer reports whether the message has a newer major schema. It reads only the member "schema", because a
// newer major schema may change the types of all other members.
func newer(data []byte) bool {
	var m struct {
		Schema int `json:"schema"`
	}
	return json.Unmarshal(data, &m) == nil && m.Schema > Schema
}

// Reason returns the text of err without the text of ErrUnreadable at its beginning.
func Reason(err error) string { return strings.TrimPrefix(err.Error(), ErrUnreadable.Error()+": ") }

func unreadable(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrUnreadable, fmt.Sprintf(format, args...))
}

func checkSchema(schema int) error {
	switch {
	case schema > Schema:
		return ErrNewer
	case schema < 1:
		return unreadable("schema is %d; it must be %d", schema, Schema)
	}
	return nil
}

// Fits reports whether the request is at most port.MaxMessage bytes, for queues in memory, which do not encode
// it. Fits encodes only a request whose input is near the limit.
func (m *Request) Fits() bool { return fits(m, len(m.Input)) }

// Fits reports whether the status is at most port.MaxMessage bytes. It encodes only a status whose output is
// near the limit.
func (m *Status) Fits() bool { return fits(m, len(m.Output)) }

// maxEnvelope is more than a message has beside its input or output, in bytes.
const maxEnvelope = 16 << 10

func fits(m port.Value, payload int) bool {
	if payload <= port.MaxMessage-maxEnvelope {
		return true
	}
	body, err := m.Encode()
	return err != nil || len(body) <= port.MaxMessage // a queue reports the error
}

func (m *Request) checkFields() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	if err := checkStep(m.OrderID, m.Run, m.Step, m.Attempt, m.Operation); err != nil {
		return err
	}
	switch {
	case m.Name == "":
		return unreadable("name, the agent's operation, is missing")
	case m.Key == "":
		return unreadable("key, the idempotency key, is missing")
	case m.StopBy == 0:
		return unreadable("stopBy is missing; nothing may be done without it")
	case m.Timeout <= 0:
		return unreadable("timeout is %d ms; it must be more than 0", m.Timeout)
	case m.MaxDuration < 0 || m.ClockSkew < 0:
		return unreadable("maxDuration and clockSkew are milliseconds from 0")
	case m.Resolved != nil && (!slices.Contains(core.Facts, m.Resolved.Fact) || m.Resolved.Command < 0):
		return unreadable("resolved is %.40q by command %d; a fact is happened, not-happened or undone, and "+
			"commands count from 0", m.Resolved.Fact, m.Resolved.Command)
	}
	return nil
}

func (m *Reply) checkFields() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	if err := checkStep(m.OrderID, m.Run, m.Step, m.Attempt, m.Operation); err != nil {
		return err
	}
	switch {
	case m.Outcome != core.OutcomeDone && m.Outcome != core.OutcomeFailed &&
		m.Outcome != core.OutcomeRetryLater && m.Outcome != Progress:
		return unreadable("outcome is %.40q; it must be done, failed, retry-later or progress", m.Outcome)
	case m.Outcome == Progress && m.Operation != core.Do:
		return unreadable("progress belongs to a do; this is of %s", m.Operation)
	case m.Percent < 0 || m.Percent > 100:
		return unreadable("percent is %d; it must be 0 to 100", m.Percent)
	case m.Until < 0 || m.Until > maxDeadline:
		return unreadable("until must be between the years 1970 and 9999")
	case m.NoEffect && (m.Outcome == core.OutcomeDone || m.Operation == core.UndoOp):
		return unreadable("noEffect belongs to a do that failed, or is to be tried later; this is %s of %s",
			m.Outcome, m.Operation)
	case m.Waited < 0 || m.RetryAfter < 0:
		return unreadable("waited and retryAfter are milliseconds from 0")
	case m.Error != nil && len(m.Error.Code) > maxCode:
		return unreadable("error.code has %d bytes; it must be a short word of at most %d bytes",
			len(m.Error.Code), maxCode)
	case m.Error != nil && strings.ContainsFunc(m.Error.Code, core.Unprintable):
		return unreadable("error.code holds a line end or another control character; it must be a short word")
	}
	return nil
}

// maxCode is the maximum length of an error code in bytes.
const maxCode = 128

func checkStep(orderID string, run int, step string, attempt int, op core.Operation) error {
	switch {
	case !taskPattern.MatchString(orderID):
		return unreadable("task %.140q is no order's ID", orderID)
	case run < 0:
		return unreadable("run is %d; it counts from 0", run)
	case !stepPattern.MatchString(step):
		return unreadable("step %.60q is no step's name", step)
	case attempt < 0: // a reminder and its reply have the attempt 0
		return unreadable("attempt is %d; it counts from 1, and is 0 for a reminder", attempt)
	case op != core.Do && op != core.UndoOp:
		return unreadable("operation is %.40q; it must be do or undo", op)
	}
	return nil
}

func (m *Status) checkFields() error {
	if err := checkSchema(m.Schema); err != nil {
		return err
	}
	if m.Kind == "" {
		return unreadable("status is missing")
	}
	return nil
}

func (m *Quarantined) checkFields() error { return checkSchema(m.Schema) }
