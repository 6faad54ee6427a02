package cli

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// bare wraps an order without an envelope. Without an id it makes one from the order's content and its number
// in the file. So the same file gives the same IDs, a repeated submission is harmless, and two equal orders
// in the file are two orders.
func bare(data []byte, workflow, id string, number int) (message.SubmitOrder, error) {
	var envelope struct {
		OrderID  *string          `json:"orderId"`
		Workflow *string          `json:"workflow"`
		Order    *json.RawMessage `json:"order"`
	}
	// check the order before it is wrapped, because the envelope adds a level of nesting
	if err := rawjson.Check(data, rawjson.MaxLevels); err != nil {
		return message.SubmitOrder{}, err
	}
	err := json.Unmarshal(data, &envelope)
	if err == nil && envelope.OrderID != nil && envelope.Workflow != nil && envelope.Order != nil {
		return message.SubmitOrder{},
			fmt.Errorf("it has an orderId and a workflow of its own already; leave --workflow out")
	}
	if id == "" {
		hash := message.ContentHash(message.SubmitOrder{Workflow: workflow, Order: data})
		id = fmt.Sprintf("%s-%s-%d", workflow, hash[:16], number)
	}
	// DecodeSubmit checks the order by the rules of every submission
	return message.DecodeSubmit(fmt.Appendf(nil, `{"schema":%d,"orderId":%s,"workflow":%s,"order":%s}`,
		message.Schema, quoted(id), quoted(workflow), data))
}

// envelopeHint returns the fix for a record that is an order without its envelope, and "" for any other
// record.
func envelopeHint(data []byte) string {
	var envelope map[string]json.RawMessage
	if json.Unmarshal(data, &envelope) != nil {
		return ""
	}
	if envelope["workflow"] != nil || envelope["order"] != nil {
		return ""
	}
	return "; if it is the order itself, name its workflow with --workflow NAME"
}

func quoted(text string) []byte {
	b, err := json.Marshal(text)
	if err != nil { // Marshal cannot fail for a string
		return []byte(`""`)
	}
	return b
}
