package agent_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/functions/agent"
)

type cardPayment struct {
	Card  string `json:"card"`
	Cents int    `json:"cents"`
}

type chargeReceipt struct {
	ID string `json:"id"`
}

// charge hands the key of the call to the service, which charges once for each key.
func charge(_ context.Context, p cardPayment, call agent.Call) (chargeReceipt, error) {
	if p.Card == "tok_blocked" {
		blocked := errors.New("the card is blocked")
		return chargeReceipt{}, agent.WithCode(agent.Permanent(blocked), "card-blocked")
	}
	return chargeReceipt{ID: "receipt-of-" + call.Key}, nil
}

// An operation is a function of the call's input. A program gives its operations to agent.Serve; a test runs
// them.
func ExampleTyped() {
	operations := agent.Operations{"charge": agent.Typed(charge)}

	call := agent.Call{
		Operation: "charge", Key: "k-1",
		Input: json.RawMessage(`{"card":"tok_1","cents":250}`),
	}
	output, err := operations["charge"].Run(context.Background(), call)
	fmt.Println(output, err)

	call.Input = json.RawMessage(`{"card":"tok_blocked","cents":250}`)
	_, err = operations["charge"].Run(context.Background(), call)
	fmt.Println(err)
	// Output:
	// {receipt-of-k-1} <nil>
	// the card is blocked
}
