package suggest_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

func TestNearest(t *testing.T) {
	known := []string{"reserve-seat", "charge-card", "when", "input", "len"}
	for word, want := range map[string]string{
		"reserve-seta": "reserve-seat", "reserveseat": "reserve-seat", "Reserve_Seat": "reserve-seat",
		"charge": "", "wen": "when", "whne": "when", "inptu": "input", "inputs": "input", "le": "len",
		"x": "", "": "",
		"Input": "input", "length": "",
	} {
		require.Equal(t, want, suggest.Nearest(word, known), word)
	}
	require.Equal(t, "did you mean input? known: input", suggest.DidYouMean("inputs", known, "known: input"))
	require.Equal(t, "known: input", suggest.DidYouMean("colour", known, "known: input"))
}
