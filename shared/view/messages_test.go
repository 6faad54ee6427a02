package view_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// reported prints messages in one line each.
func reported(t *protocol.Task, def *core.Definition) (all []string) {
	for _, m := range view.Detailed(t, def, nil, t0.Std()).Messages {
		at := "  "
		if m.At != 0 {
			at = fmt.Sprintf("%2d", m.At.Sub(t0)/core.Second)
		}
		line := fmt.Sprintf("%s %s %s %s %s %s/%d", at, m.Way, m.Kind, m.What, m.Peer, m.Step, m.Attempt)
		for _, more := range []string{
			m.Code, map[bool]string{true: "unreported"}[m.Unreported],
			map[bool]string{true: fmt.Sprint("#", m.Seq)}[m.Seq > 0],
			map[bool]string{true: fmt.Sprintf("until %d", m.Until.Sub(t0)/core.Second)}[m.Until != 0],
		} {
			if more != "" {
				line += " " + more
			}
		}
		all = append(all, line)
	}
	return all
}

// The data of an event is not shown, because the redaction rules do not cover it.
func TestMessagesOfEventsHideTheirValues(t *testing.T) {
	def := &core.Definition{
		Name:  "order",
		Steps: []core.StepDefinition{{Name: "paid", Answer: &core.Answer{Event: "paid"}}},
	}
	def.Link()
	x := &protocol.Task{
		OrderID: "o-1", Workflow: "order", ProcessState: core.Processing, Created: t0,
		Steps: []protocol.Step{{
			Name: "paid", State: core.Processed, Attempt: 1,
			First: protocol.First{Nth: 1, At: t0},
			Answers: &protocol.Answers{Votes: []protocol.Vote{{
				By:    "bank",
				Value: []byte(`{"card":"4111111111111111"}`),
				At:    t0,
			}}},
		}},
	}
	got := strings.Join(reported(x, def), "\n")
	require.NotContains(t, got, "4111111111111111")
	require.Contains(t, got, "answer answer bank paid/1")
}
