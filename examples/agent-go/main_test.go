package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent"
)

func TestOneTicketForAKey(t *testing.T) {
	operations := (&cloakroom{tickets: map[string]int{}}).operations()
	hang := func(key, input string) (any, error) {
		return operations["hang"].Run(t.Context(), agent.Call{Key: key, Input: json.RawMessage(input)})
	}
	for key, want := range map[string]int{"a": 1} {
		for range 2 {
			out, err := hang(key, `{"coat":"red"}`)
			require.NoError(t, err, key)
			require.Equal(t, want, out.(ticket).Ticket, key)
		}
	}
	refused := (*agent.Failure)(nil)
	_, err := hang("b", `{}`)
	require.ErrorAs(t, err, &refused)
	require.True(t, refused.Permanent, "no coat: %v", err)
	for _, key := range []string{"a", "never hung"} {
		_, err := operations["give-back"].Run(t.Context(), agent.Call{Key: key})
		require.NoError(t, err, key)
	}
}
