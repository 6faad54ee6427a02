package view_test

import (
	"fmt"
	"slices"
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

// The messages that an order has received and sent follow from its document, including the report of its end
// (P11).
func TestMessages(t *testing.T) {
	def := &core.Definition{Name: "order", Notify: []core.StatusKind{
		core.StatusReceived, core.StatusStarted,
		core.StatusFailed,
	}, Steps: []core.StepDefinition{
		{
			Name: "charge", Agent: "payment", Operation: "charge", Grade: core.Idempotent,
			Undo: &core.Undo{Operation: "refund"},
		},
		{Name: "agree", Answer: &core.Answer{Values: []string{"yes"}}},
		{Name: "pause", Wait: &core.Wait{}},
		{Name: "ship", Agent: "post", Operation: "ship", Grade: core.Idempotent},
	}}
	def.Link()
	at := func(seconds int) core.Time { return t0.Add(core.Duration(seconds) * core.Second) }
	x := &protocol.Task{
		OrderID: "o-1", Version: 9, Workflow: "order", ProcessState: core.Processing,
		ReplyTo: "shop", Created: at(0), Start: protocol.Start{At: at(1), Seq: 1}, StatusSeq: 1,
		Commands: protocol.Commands{Verdicts: []protocol.Verdict{{
			ID: "c", Command: "resubmit", Accepted: true,
			By: "ada", At: at(20),
		}}},
		Attempts: protocol.Attempts{Last: []protocol.Attempt{
			{
				Step: "charge", Number: 1, Began: at(2), Ended: at(3),
				Outcome: core.OutcomeFailed, Code: "http-503",
			},
			{Step: "charge", Number: 2, Began: at(4), Ended: at(9), Outcome: protocol.OutcomeOverdue},
		}},
		Steps: []protocol.Step{
			{
				Name: "charge", State: core.Processed, Attempt: 3, First: protocol.First{Nth: 1, At: at(2)},
				Claim:  protocol.Claim{At: at(10)},
				Finish: protocol.Finish{At: at(11)},
			},
			{
				Name: "agree", State: core.Processed, Attempt: 1, First: protocol.First{Nth: 2, At: at(11)},
				Claim:  protocol.Claim{At: at(11)},
				Finish: protocol.Finish{At: at(15)}, Answers: &protocol.Answers{
					Votes: []protocol.Vote{{By: "ann", Value: []byte(`"yes"`), At: at(15)}},
				},
			},
			{
				Name: "pause", State: core.Waiting, Attempt: 1, First: protocol.First{Nth: 3, At: at(16)},
				Claim: protocol.Claim{At: at(16)},
				Wait:  protocol.StepWait{At: at(60)},
			},
			{
				Name: "ship", State: core.Processing, Attempt: 1, First: protocol.First{Nth: 4, At: at(21)},
				Claim:      protocol.Claim{At: at(21)},
				CompleteBy: at(50),
			},
		},
	}
	want := []string{
		" 0 received order order  /0",
		" 0 sent status received shop /0",
		" 1 sent status started shop /0 #1",
		" 2 sent request charge payment charge/1",
		" 3 received reply failed payment charge/1 http-503",
		" 4 sent request charge payment charge/2",
		"10 sent request charge payment charge/3",
		"11 received reply done payment charge/3",
		"15 received answer \"yes\" ann agree/1",
		"16 sent wake the wait is over  pause/1 until 60",
		"20 received command resubmit ada /0 accepted",
		"21 sent request ship post ship/1 until 50",
	}
	require.Equal(t, want, reported(x, def))

	x.ProcessState = core.Error
	x.Phase = core.Forward
	x.End.At = at(55)
	x.End.Seq = 2
	x.Reason.Code = "timeout"
	x.Reason.Step = "ship"
	x.End.ResendAt = at(85)
	x.Steps[3].State = core.Failed
	x.Steps[3].CompleteBy = 0
	x.Attempts.Last = append(x.Attempts.Last, protocol.Attempt{
		Step: "ship", Number: 1, Began: at(21),
		Ended:   at(50),
		Outcome: protocol.OutcomeOverdue,
	})
	for again, want := range map[core.Time][]string{
		at(85): {
			"55 sent status failed shop ship/0 timeout unreported #2 until 85",
			"55 sent alert Error  ship/0 timeout unreported until 85",
		},
		0: {"55 sent status failed shop ship/0 timeout #2", "55 sent alert Error  ship/0 timeout"},
	} {
		x.End.ResendAt = again
		got := reported(x, def)
		require.Equal(t, want, got[len(got)-2:])
		require.False(t, slices.ContainsFunc(got, func(s string) bool { return strings.Contains(s, "wake") }))
		v := view.Of(x, def)
		require.Equal(t, again == 0, v.Reported)
		require.Equal(t, 1, v.Statuses)
	}

	x.ProcessState = core.Compensating
	x.Phase = ""
	x.End.At = 0
	x.Parent = &core.Parent{OrderID: "p", Step: "parts"}
	s := &x.Steps[0]
	s.State = core.Compensated
	s.Claim.Undo = true
	s.Attempt = 4
	s.Claim.At = at(56)
	x.Attempts.Last = nil
	got := reported(x, def)
	want = []string{
		" 0 received order order p /0", " 2 sent request charge payment charge/0",
		"11 received reply done payment charge/0",
		"56 sent request refund payment charge/4", "   received reply done payment charge/4",
	}
	for _, line := range want {
		require.Contains(t, got, line, line)
	}
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
