package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// parents is a workflow with a child for each item, five at a time; each child is of the workflow pair.
const parents = `workflow: parents
grace: 1s
tellAfter: 1s
steps:
  all:
    each: "${ order.items }"
    workflow: pair
    input: {n: "${ item }"}
    concurrency: 5
    collect: true
`

func submitParent(t *testing.T, s *embedded.Runtime, id string, items int) {
	t.Helper()
	numbers := make([]string, items)
	for i := range numbers {
		numbers[i] = fmt.Sprint(i)
	}
	o, err := message.DecodeSubmit(fmt.Appendf(nil,
		`{"schema":1,"orderId":%q,"workflow":"parents","order":{"items":[%s]}}`, id,
		strings.Join(numbers, ",")))
	require.NoError(t, err)
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
}

func parentFixture(t *testing.T) *fixture {
	w := newFixture(t, "60s")
	require.NoError(t, os.WriteFile(filepath.Join(w.dir, "workflows", "parents.yaml"), []byte(parents), 0o600))
	return w
}

// P40: a runtime that is closed in the middle, whose queues die with it, loses no child and does none twice.
func TestChildrenOutliveTheRuntime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := parentFixture(t)
		w.shop.gate = make(chan struct{})
		const children = 30 // of two calls each
		s := w.open()
		submitParent(t, s, "p", children)
		for calls := range 2 * children {
			if calls%20 == 19 {
				closeRuntime(t, s) // its calls end without an answer
				s = w.open()
			}
			w.shop.gate <- struct{}{}
		}
		close(w.shop.gate)
		task := wait(t, s, "p")
		defer closeRuntime(t, s)
		require.Equal(t, core.Processed, task.ProcessState)
		require.Equal(t, 2*children, w.shop.standing())
		require.True(t, strings.HasPrefix(string(task.Steps[0].Output),
			`{"count":30,"failed":0,"results":[{"first":{"key":"p~all~0/0/first"}}`))
		for i := range children {
			c := wait(t, s, fmt.Sprintf("p~all~%d", i))
			require.Equal(t, core.Processed, c.ProcessState, "%+v", i)
			require.NotNil(t, c.Parent, "%+v", i)
			require.Empty(t, c.ReplyTo, "%+v", i)
		}
	})
}
