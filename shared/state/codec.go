package state

import (
	"bytes"
	std "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// TaskSchema is the highest major version of the stored document that this program reads. It writes plainSchema
// wherever a program that knows no more can handle the document.
const (
	TaskSchema  = 3
	plainSchema = 2 // no step is withdrawn (P53), has decided members (P54) or passes answers on (P56)
)

// ErrSchema means that the document has another major schema. This program must not change such a document.
var ErrSchema = errors.New("nothing was changed")

var errRange = errors.New(
	"a time is outside of the years 1970 to 9999; check the clock, and the times of the order and its " +
		"workflow")

var errNoSchema = errors.New("the stored document has no schema; restore it from a backup")

var errNegative = errors.New("a number of children is negative")

// document is the stored form of a task. The struct tags of protocol.Task name the members.
type document struct {
	Schema         int `json:"Schema"`
	*protocol.Task `json:",embed"`
}

// writer writes documents. It copies the content of people and services, which was checked when it came in.
var writer = rawjson.NewWriter(rawjson.Of(appendTime))

// form holds the options for reading. They are built once, because the library caches by them how it reads
// each type.
var form = json.WithUnmarshalers(json.JoinUnmarshalers(json.UnmarshalFromFunc(readTime),
	json.UnmarshalFromFunc(readRaw)))

func appendTime(b []byte, t *core.Time) ([]byte, error) {
	if !t.InRange() {
		return nil, errRange
	}
	if *t == 0 {
		return append(b, "null"...), nil
	}
	b, err := t.AppendText(append(b, '"'))
	return append(b, '"'), err
}

func readTime(d *jsontext.Decoder, t *core.Time) error {
	text, err := d.ReadValue()
	if err != nil {
		return err
	}
	err = t.UnmarshalJSON(text)
	if err == nil && !t.InRange() {
		err = errRange
	}
	return err
}

func readRaw(d *jsontext.Decoder, v *std.RawMessage) error {
	text, err := d.ReadValue()
	*v = bytes.Clone(text)
	return err
}

// EncodeTask returns the stored document.
//
// It returns an error for a time outside the years 1970 to 9999. The order, the inputs and the outputs must
// have passed rawjson.Check or rawjson.Shortest.
func EncodeTask(t *protocol.Task) ([]byte, error) {
	b, err := writer.Marshal(&document{schemaOf(t), t})
	if err != nil {
		return nil, fmt.Errorf("encode task: %w", fault(err))
	}
	return b, nil
}

func schemaOf(t *protocol.Task) int {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Withdrawn != 0 || s.State == core.Settling || len(s.Won) > 0 || s.Passing != nil {
			return TaskSchema
		}
	}
	return plainSchema
}

// DecodeTask reads a stored document. It keeps unknown members of the task and its steps, and EncodeTask
// writes them again, so that old and new code can run together. It returns ErrSchema for another schema.
func DecodeTask(data []byte) (*protocol.Task, error) {
	d := document{Task: &protocol.Task{}}
	err := json.Unmarshal(data, &d, form)
	if _, unreadable := errors.AsType[*jsontext.SyntacticError](err); unreadable {
		return nil,
			fmt.Errorf(
				"decode task: the stored document (%d bytes) is not JSON in UTF-8; restore it from a backup",
				len(data))
	}
	if other := checkSchema(data, d.Schema, err); other != nil {
		return nil, fmt.Errorf("decode task %q: %w", d.OrderID, other)
	}
	if err == nil {
		err = checkCounts(d.Task)
	}
	if err != nil {
		return nil, fmt.Errorf("decode task %q: %w", d.OrderID, fault(err))
	}
	return d.Task, nil
}

// checkSchema returns ErrSchema with the reason if the document has another schema. A document of another
// schema may have members that cannot be read, so that the member Schema was perhaps not reached.
func checkSchema(data []byte, schema int, failed error) error {
	if failed != nil {
		var only struct{ Schema int }
		if json.Unmarshal(data, &only) != nil {
			return nil
		}
		schema = only.Schema
	}
	switch {
	case plainSchema <= schema && schema <= TaskSchema || failed != nil && schema < 1:
		return nil
	case schema < 1:
		return errNoSchema
	case schema > TaskSchema:
		return fmt.Errorf("the stored task has the schema %d, which is newer than this program knows; deploy the "+
			"newer program: %w", schema, ErrSchema)
	}
	return fmt.Errorf("the stored task was written by an older version of Stepkeeper (schema %d); there is "+
		"no migration before the first release, so use that version, or start with a new file or stack: %w",
		schema, ErrSchema)
}

// fault returns the error of the library in words of this program, because the library words its own text
// differently in each program.
func fault(err error) error {
	wrong, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			return fmt.Errorf("%s is not JSON that a program can read; it must be refused where it comes in",
				place(s.JSONPointer))
		}
		return err
	}
	if wrong.Err == nil {
		return fmt.Errorf("%s cannot be a JSON %s", place(wrong.JSONPointer), wrong.JSONKind)
	}
	return fmt.Errorf("%s: %w", place(wrong.JSONPointer), wrong.Err)
}

// place returns the path of a member, shortened.
func place(p jsontext.Pointer) string {
	const longest = 200
	if p == "" {
		return "the document"
	}
	return string(p[:min(len(p), longest)])
}

func checkCounts(t *protocol.Task) error {
	for i := range t.Steps {
		c := t.Steps[i].Children
		if c == nil {
			continue
		}
		least := min(c.Count, c.Next, c.Started, c.Cursor, c.Failed, c.Rounds)
		for _, o := range c.Open {
			least = min(least, o.Index)
		}
		for _, r := range c.Results {
			least = min(least, r.Index)
		}
		if least < 0 {
			return fmt.Errorf("step %q: %w", t.Steps[i].Name, errNegative)
		}
	}
	return nil
}

// HashOf returns the hash of a task's submission. If the task contains the order, HashOf computes the hash.
// Otherwise it returns the stored hash. The hash is "" if a Cancel arrived without a submission (P17, a
// cancel is kept).
func HashOf(t *protocol.Task) string {
	if len(t.Order) == 0 {
		return t.ContentHash
	}
	return message.ContentHash(message.SubmitOrder{
		Workflow: t.Workflow, Order: t.Order, Priority: t.Priority,
		ReplyTo: t.ReplyTo,
	})
}
