package message

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// Priorities of an order.
const (
	PriorityNormal = "normal"
	PriorityHigh   = "high"
)

// Codes of malformed submissions. The codes never change, because programs compare them.
const (
	CodeTooLarge     = "too-large"
	CodeNotJSON      = "not-json"
	CodeUnknownField = "unknown-field"
	CodeMissing      = "missing-field"
	CodeInvalid      = "invalid-field"
	CodeNewerSchema  = "newer-schema"
)

// Codes of well-formed messages that the Scheduler refuses.
const (
	CodeUnknownWorkflow = "unknown-workflow"
	CodeBrokenWorkflow  = "broken-workflow"
	CodeUnknownReplyTo  = "unknown-reply-to"
	CodeExpired         = "expired"
	// CodeOtherAgent means that a reply comes from an agent that did not get the step's request (P3, a reply
	// names request and sender).
	CodeOtherAgent = "other-agent"
)

func refuse(code, field, format string, args ...any) *core.Refusal {
	return &core.Refusal{Code: code, Field: field, Text: fmt.Sprintf(format, args...), Cause: ErrUnreadable}
}

// Mismatch returns the refusal of an order that does not match the schema of its workflow.
func Mismatch(workflow string, why error) *core.Refusal {
	return refuse(CodeInvalid, "order", "the order does not match the schema of the workflow %s: %v",
		workflow, why)
}

const (
	small   = "abcdefghijklmnopqrstuvwxyz"
	letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + small
	digits  = "0123456789"
)

var (
	idPattern = pattern{letters + digits + "._:-", letters + digits + "._:-", 128}
	// taskPattern also permits core.ChildMark, a part of the IDs of child orders.
	taskPattern     = pattern{letters + digits + "._:~-", letters + digits + "._:~-", 128}
	workflowPattern = pattern{small, small + digits + "-", 64}
	// childPattern also allows the name of a block, which no order can name
	childPattern   = pattern{small, small + digits + "-~", 64 + core.MaxChildDepth*41}
	replyToPattern = pattern{letters + digits, letters + digits + "._-", 80}
	stepPattern    = pattern{small, small + digits + "-", 40}
)

// pattern defines valid names. It is faster than a regular expression, and every message contains several
// names.
type pattern struct {
	first, rest string // characters permitted at the first position, and at later positions
	longest     int
}

// MatchString reports whether the name is valid. An empty name is invalid.
func (p pattern) MatchString(name string) bool {
	return name != "" && len(name) <= p.longest && strings.IndexByte(p.first, name[0]) >= 0 &&
		strings.TrimLeft(name[1:], p.rest) == ""
}

// MaxSubmission is the largest text of a submission that DecodeSubmit reads, in bytes. The limit of the order,
// port.MaxOrder, applies to the shortest form of the text.
const MaxSubmission = rawjson.MaxGrowth * port.MaxOrder

// DecodeSubmit decodes and checks a submission. It refuses unknown fields. The order that it returns is in its
// shortest form. The error is a *core.Refusal, which
// wraps ErrNewer if the schema is newer. With an error, DecodeSubmit still returns a readable ID and a
// readable reply-to. The caller needs them to notify the sender.
func DecodeSubmit(data []byte) (SubmitOrder, error) {
	if len(data) > MaxSubmission {
		return senderOf(data), tooLarge(len(data))
	}
	data, err := rawjson.Shortest(data, rawjson.MaxLevels+1)
	if err != nil {
		return SubmitOrder{}, refuse(CodeNotJSON, "", "the submission cannot be read: %v", err)
	}
	fields, err := rawjson.Members(data)
	if err != nil {
		return SubmitOrder{}, refuse(CodeNotJSON, "",
			`the submission is not a JSON object; send {"schema":1,"orderId":…,"workflow":…,"order":…}`)
	}
	o, err := submitOf(fields)
	if err != nil {
		return o, err
	}
	if err := unknownField(fields); err != nil {
		return o, err
	}
	return o, cmp.Or(o.Check(), o.checkSize(len(data)))
}

// longestTime is the number of bytes by which the message of an order can be longer than its shortest text: a
// message writes times with milliseconds.
const longestTime = 32

// checkSize measures the message of the order. It encodes only a message that may be too large.
func (o *SubmitOrder) checkSize(text int) error {
	if text+longestTime <= port.MaxOrder {
		return nil
	}
	b, err := o.Encode()
	if err != nil || len(b) > port.MaxOrder {
		return tooLarge(len(b))
	}
	return nil
}

func tooLarge(size int) *core.Refusal {
	return refuse(CodeTooLarge, "", "the submission has %d bytes, the limit is %d; store large data elsewhere "+
		"and send a reference", size, port.MaxOrder)
}

func senderOf(data []byte) SubmitOrder {
	data, _ = rawjson.Shortest(data, rawjson.MaxLevels+1) // nothing is known of a sender that cannot be read
	fields, _ := rawjson.Members(data)
	o, _ := submitOf(fields)
	return SubmitOrder{OrderID: o.OrderID, ReplyTo: o.ReplyTo}
}

// submitOf reads the ID and the reply-to first, because the result must contain them even if another field is
// wrong.
func submitOf(fields map[string]json.RawMessage) (SubmitOrder, error) {
	var o SubmitOrder
	var first *core.Refusal
	read := func(name string, to any, want string) {
		raw, ok := fields[name]
		if !ok {
			return
		}
		var err error
		if string(raw) == "null" {
			err = errors.New("null")
		} else {
			err = rawjson.Unmarshal(raw, to)
		}
		if err != nil && first == nil {
			first = refuse(CodeInvalid, name, "%s is %.60s; it must be %s", name, raw, want)
		}
	}
	read("orderId", &o.OrderID, "a string")
	read("replyTo", &o.ReplyTo, "a string, the logical name of a queue or bus")
	read("schema", &o.Schema, "the number 1")
	if first == nil && o.Schema > Schema {
		r := refuse(CodeNewerSchema, "schema", "schema %d is newer than this program knows; send schema %d",
			o.Schema, Schema)
		r.Cause = ErrNewer
		return o, r
	}
	read("workflow", &o.Workflow, "a string, the name of a workflow")
	read("priority", &o.Priority, `"normal" or "high"`)
	read("deadline", &o.Deadline, `a time in RFC 3339, like "2026-11-21T10:00:00.000Z"`)
	o.Order = fields["order"]
	// A time in the year 1, or in the first millisecond of 1970, is read as 0. But 0 means no deadline.
	if first == nil && fields["deadline"] != nil && o.Deadline == 0 {
		first = refuse(CodeInvalid, "deadline", "deadline must be between the years 1970 and 9999")
	}
	if first != nil {
		return o, first
	}
	return o, nil
}

var submitFields = []string{"schema", "orderId", "workflow", "order", "priority", "replyTo", "deadline"}

func unknownField(fields map[string]json.RawMessage) error {
	var unknown []string
	for name := range fields {
		if !slices.Contains(submitFields, name) {
			unknown = append(unknown, name)
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	first := slices.Min(unknown) // the error must not depend on the map's order
	if len(first) > maxShown {
		first = strings.ToValidUTF8(first[:maxShown], "") + "…"
	}
	return refuse(CodeUnknownField, first, "the field %q is not known; a submission has %s", first,
		strings.Join(submitFields, ", "))
}

// maxShown is the maximum number of bytes of an unknown field's name in an error.
const maxShown = 60

// Check returns a *core.Refusal if a field of the submission is missing or invalid. DecodeSubmit makes the check
// itself. Check does not read the order, which must have passed rawjson.Check.
func (o *SubmitOrder) Check() error {
	switch {
	case o.Schema == 0:
		return refuse(CodeInvalid, "schema", "schema is missing, or 0; write \"schema\": %d", Schema)
	case o.Schema != Schema:
		return refuse(CodeInvalid, "schema", "schema is %d; it must be %d", o.Schema, Schema)
	case o.OrderID == "":
		return refuse(CodeMissing, "orderId",
			"orderId is missing; give the order an ID of your own, so that sending it again is harmless")
	case !orderID(o.OrderID):
		return refuse(CodeInvalid, "orderId", "orderId %.140q must be 1 to 128 of the characters A-Z a-z "+
			"0-9 . _ : -, not begin with -, and not be . or ..", o.OrderID)
	case o.Workflow == "":
		return refuse(CodeMissing, "workflow", "workflow is missing; name the workflow that the order is for")
	case !IsWorkflow(o.Workflow):
		return refuse(CodeInvalid, "workflow", "workflow %.80q is no workflow's name: small letters, digits "+
			"and -, at most 64, a letter first", o.Workflow)
	case len(o.Order) == 0 || string(o.Order) == "null":
		return refuse(CodeMissing, "order",
			"order is missing or null; send the order itself, any other JSON value")
	case o.Priority != "" && o.Priority != PriorityNormal && o.Priority != PriorityHigh:
		return refuse(CodeInvalid, "priority", `priority %.40q must be "normal" or "high"`, o.Priority)
	case o.ReplyTo != "" && !ReplyToName(o.ReplyTo):
		return refuse(CodeInvalid, "replyTo",
			"replyTo %.100q must be the logical name of a deployed queue or bus, never an address", o.ReplyTo)
	case o.Deadline != 0 && (o.Deadline < 0 || o.Deadline > maxDeadline):
		return refuse(CodeInvalid, "deadline", "deadline must be between the years 1970 and 9999")
	}
	return nil
}

// IsWorkflow reports whether a workflow may have this name.
func IsWorkflow(name string) bool { return workflowPattern.MatchString(name) }

// IsAgent reports whether an agent may have this name.
func IsAgent(name string) bool { return stepPattern.MatchString(name) }

// IsOrderID reports whether an order or a child order may have this ID. It excludes "." and ".." because browsers
// remove them from the path of a URL.
func IsOrderID(id string) bool { return taskPattern.MatchString(id) && id != "." && id != ".." }

// orderID reports whether a new order may have this ID. It excludes a leading "-" because a command line would read
// the ID as a flag. taskPattern permits such IDs, because existing orders may have them.
func orderID(id string) bool {
	return idPattern.MatchString(id) && IsOrderID(id) && id[0] != '-'
}

// maxDeadline is the last millisecond of the year 9999. RFC 3339 cannot express a later time.
const maxDeadline = core.Time(253402300799999)

// Notes returns texts for people about the fields of a submission that have no effect.
func Notes(priority string) []string {
	if priority != PriorityHigh {
		return nil
	}
	return []string{
		`priority "high" is stored with the order and has no effect: orders are handled as they come`,
	}
}

// ReplyToName reports whether an order can have the name as its reply-to.
func ReplyToName(name string) bool { return replyToPattern.MatchString(name) }

// Known returns the ID and the reply-to of a refused submission. It replaces an invalid value by "", because
// the message about the refusal may contain only valid names.
func (o *SubmitOrder) Known() (orderID, replyTo string) {
	if idPattern.MatchString(o.OrderID) {
		orderID = o.OrderID
	}
	if ReplyToName(o.ReplyTo) {
		replyTo = o.ReplyTo
	}
	return orderID, replyTo
}

// Tenant returns the tenant in an order's ID: the part before the first colon, as in "acme:1001". It returns
// "" if the ID has no colon. Fair queues on AWS use the tenant (see docs/reference/aws-rules.md).
func Tenant(orderID string) string {
	tenant, _, found := strings.Cut(orderID, ":")
	if !found {
		return ""
	}
	return tenant
}
