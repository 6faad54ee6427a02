package main

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/agent"
)

func TestOneTicketForAKey(t *testing.T) {
	operations := (&cloakroom{tickets: map[string]int{}}).operations()
	hang := func(key, input string) (any, error) {
		return operations["hang"].Run(t.Context(), agent.Call{Key: key, Input: json.RawMessage(input)})
	}
	for range 2 {
		if out, err := hang("a", `{"coat":"red"}`); err != nil || out.(ticket).Ticket != 1 {
			t.Errorf("%+v, %v", out, err)
		}
	}
	refused := (*agent.Failure)(nil)
	if _, err := hang("b", `{}`); !errors.As(err, &refused) || !refused.Permanent {
		t.Errorf("no coat: %v", err)
	}
	for _, key := range []string{"a", "never hung"} {
		if _, err := operations["give-back"].Run(t.Context(), agent.Call{Key: key}); err != nil {
			t.Errorf("taking %s back: %v", key, err)
		}
	}
}
