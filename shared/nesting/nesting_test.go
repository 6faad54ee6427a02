package nesting_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/nesting"
)

func TestTooDeep(t *testing.T) {
	for text, want := range map[string]int{
		``:                    -1,
		`[[1],[2]]`:           -1,
		`{"a":[1]}`:           -1,
		`[[[`:                 2,
		`[{"a":[1]}]`:         6,
		`["[[[","\"[[[\\"]`:   -1,
		`["[[[","\\",[[1]]]`:  13,
		`]]]][[`:              -1, // no JSON; its parser says so
		`["unclosed [[[[[[[[`: -1,
	} {
		if got := nesting.TooDeep([]byte(text), 2); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
