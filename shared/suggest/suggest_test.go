package suggest_test

import (
	"testing"

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
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
	if got := suggest.DidYouMean("inputs", known, "known: input"); got != "did you mean input? known: input" {
		t.Error(got)
	}
	if got := suggest.DidYouMean("colour", known, "known: input"); got != "known: input" {
		t.Error(got)
	}
}
