package cli

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// bare adds an envelope, with an ID and a workflow, to an order. If id is "", bare makes an ID from the
// workflow, the order's content and number. The argument number is the position of the order in the file. The
// same file therefore always gives the same IDs, and a user can submit the file again. Two equal orders in a
// file get different IDs.
func bare(data []byte, workflow, id string, number int) (message.SubmitOrder, error) {
	var envelope struct {
		OrderID  *string          `json:"orderId"`
		Workflow *string          `json:"workflow"`
		Order    *json.RawMessage `json:"order"`
	}
	// Check the order before the envelope adds a level of nesting.
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
	whole, err := rawjson.Marshal(map[string]any{
		"schema": message.Schema, "orderId": id, "workflow": workflow, "order": json.RawMessage(data),
	})
	if err != nil {
		return message.SubmitOrder{}, err
	}
	return message.DecodeSubmit(whole)
}

// envelopeHint returns a fix for a record that seems to be an order without an envelope. It returns "" for
// any other record.
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
