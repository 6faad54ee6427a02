package message_test

import (
	"slices"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// An alert names the commands that its order accepts, ready to be run, and no others.
func TestCommandsOfAnAlert(t *testing.T) {
	for name, c := range map[string]struct {
		phase   core.Phase
		accepts core.Accepted
		options string
		want    []string
	}{
		"past its point of no return": {core.Forward, core.Accepted{Resubmit: true}, "--stack Shop/Engine",
			[]string{"stepkeeper --stack Shop/Engine show o-1", "stepkeeper --stack Shop/Engine resubmit o-1"}},
		"a key may be forgotten": {core.Forward, core.Accepted{Undo: true, Resolve: true}, "--server http://127.0.0.1:8377",
			[]string{"stepkeeper --server http://127.0.0.1:8377 show o-1", "stepkeeper --server http://127.0.0.1:8377 undo o-1",
				"stepkeeper --server http://127.0.0.1:8377 resolve o-1 pay happened", "stepkeeper --server http://127.0.0.1:8377 resolve o-1 pay not-happened"}},
		"while it is undone": {core.Undoing, core.Accepted{Resubmit: true, Undo: true, Resolve: true}, "",
			[]string{"stepkeeper show o-1", "stepkeeper resubmit o-1", "stepkeeper resolve o-1 pay happened", "stepkeeper resolve o-1 pay undone"}},
		"nothing": {core.Forward, core.Accepted{}, "", []string{"stepkeeper show o-1"}},
	} {
		a := message.AlertOf(core.RaiseAlert{OrderID: "o-1", Step: "pay", Phase: c.phase, Accepts: c.accepts}, c.options)
		if !slices.Equal(a.Commands, c.want) {
			t.Errorf("%s: %q, want %q", name, a.Commands, c.want)
		}
	}
}

// What is not known of an alert is left out.
func TestFactsOfAnAlert(t *testing.T) {
	a := message.AlertOf(core.RaiseAlert{OrderID: "o-1", Phase: core.Forward, Code: "deadline", Message: "it has passed", Run: 2}, "")
	want := []message.Fact{{Name: "phase", Value: "forward"}, {Name: "code", Value: "deadline"}, {Name: "reason", Value: "it has passed"},
		{Name: "run", Value: "2"}}
	if got := a.Facts(); !slices.Equal(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
}
