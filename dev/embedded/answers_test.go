package embedded_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// asking is a call, an approval by two people, then a call.
const asking = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  first: {agent: shop, operation: first, timeout: 60s, onFailure: undo, undo: unfirst, grade: fenced}
  approve:
    approval: {question: Pay?, answers: ["yes", "no"], need: 2, timeout: 1h, onTimeout: undo}
    after: [first]
  second: {agent: shop, operation: second, after: [approve], input: {by: "${ steps.approve.output.by }"}, timeout: 60s, onFailure: undo, undo: unsecond, grade: fenced}
`

func answering(t *testing.T, s *embedded.Runtime, order, step, by, value string) protocol.Verdict {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	for {
		v, err := s.Command(t.Context(), message.Control{
			OrderID: order,
			Event: core.Answered{
				ID: by + "-" + step + "-" + value, Step: step, Round: 1,
				Value: text, By: by,
			},
		})
		if errors.Is(err, port.ErrUnavailable) {
			continue // as a client does
		}
		if err != nil { // a goroutine calls this
			t.Errorf("%s to %s: %v", by, order, err)
		}
		return v
	}
}

// Hundreds of answers to one step, fifty at a time: each has a verdict, the step is decided once, its document
// stays small, and another order goes on meanwhile.
func TestHundredsOfAnswersAtOnce(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(asking)
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "flooded", "")
	submit(t, s, "other", "")
	people := 1000
	if testing.Short() {
		people = 200
	}
	verdicts := make([]protocol.Verdict, people)
	const senders = 50
	var group sync.WaitGroup
	for sender := range senders {
		group.Go(func() {
			for i := sender; i < people; i += senders {
				verdicts[i] = answering(t, s, "flooded", "approve", fmt.Sprintf("person-%d", i),
					[]string{"yes", "no"}[i%2])
			}
		})
	}
	for _, by := range []string{"ann", "bob"} {
		require.True(t, answering(t, s, "other", "approve", by, "yes").Accepted, by)
	}
	require.Equal(t, core.Processed, wait(t, s, "other").ProcessState)
	group.Wait()
	task := wait(t, s, "flooded")
	var decided protocol.Decided
	require.NoError(t, json.Unmarshal(task.Step("approve").Output, &decided))
	require.Equal(t, core.Processed, task.ProcessState)
	a := task.Step("approve").Answers
	require.LessOrEqual(t, len(a.Votes), core.MaxVoters)
	require.LessOrEqual(t, len(a.Verdicts), 8)
	for i, v := range verdicts {
		agrees := string(decided.Value) == []string{`"yes"`, `"no"`}[i%2]
		switch {
		case v.Accepted || strings.Contains(v.Reason, "people have answered") ||
			strings.Contains(v.Reason, "no longer forward"):
		case agrees || !strings.Contains(v.Reason, "was decided"):
			t.Errorf("answer %d: %+v, decided: %s", i, v, decided.Value)
		}
	}
}
