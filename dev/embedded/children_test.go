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

// P40: the ID of a child always fits, however long that of its parent is. An order of 128 characters, of
// which nothing is left for its children's names, is done; and where its children fail it is undone.
func TestChildrenOfOrdersWithLongIDs(t *testing.T) {
	for _, refuse := range []bool{false, true} {
		w := parentFixture(t)
		w.shop.refuse.Store(refuse)
		s := w.open()
		id := strings.Repeat("p", core.MaxID)
		submitParent(t, s, id, 12)
		task := wait(t, s, id)
		want := core.Processed
		effects := 24
		if refuse {
			want = core.Compensated
			effects = 0
		}
		require.Equal(t, want, task.ProcessState)
		require.Equal(t, effects, w.shop.standing())
		child := core.Parent{OrderID: id, Step: "all", Index: 0}.ChildID()
		require.Equal(t, want, wait(t, s, child).ProcessState)
		require.LessOrEqual(t, len(child), core.MaxID)
		closeRuntime(t, s)
	}
}

// P41, P49: a bug in the workflow of the children is repaired in its file. Children that have stopped go on
// with the fixed workflow by their own command; those that were undone start again with it once their parent
// is moved.
func TestChildrenGoOnWithTheFixedWorkflow(t *testing.T) {
	for policy, x := range map[string]struct {
		children core.State // state of the children after the bug
		repair   func(*testing.T, *embedded.Runtime)
	}{
		"onFailure: stop": {core.Error, func(t *testing.T, s *embedded.Runtime) {
			for _, id := range []string{"p~all~0", "p~all~1"} {
				commanded(t, s, id, message.Control{Event: core.Command{Name: core.Resubmit, Definition: message.Latest}})
			}
		}},
		"onFailure: undo": {core.Compensated, func(t *testing.T, s *embedded.Runtime) {
			commanded(t, s, "p", message.Control{Event: core.Command{Name: core.Resubmit, Definition: message.Latest}})
		}},
	} {
		t.Run(policy, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := parentFixture(t)
				parent := strings.Replace(parents, "collect: true", "onFailure: stop", 1)
				require.NoError(t, os.WriteFile(filepath.Join(w.dir, "workflows", "parents.yaml"), []byte(parent), 0o600))
				w.write(strings.Replace(broken, "onFailure: stop", policy, 1))
				s := w.open()
				defer closeRuntime(t, s)
				submitParent(t, s, "p", 2)
				first := map[string]string{}
				for _, id := range []string{"p~all~0", "p~all~1"} {
					eventually(t, id+" is at rest", func() bool {
						c, _, err := s.Task(t.Context(), id)
						return err == nil && c.ProcessState == x.children && c.AtRest()
					})
					c, _, _ := s.Task(t.Context(), id)
					first[id] = c.Definition
				}
				w.write(strings.Replace(strings.Replace(fixed, "order.n }", "order.n + 1 }", 1),
					"onFailure: stop", policy, 1))
				eventually(t, "the fixed workflow is deployed", func() bool {
					to, err := s.Target(t.Context(), "pair", message.Latest)
					above, err2 := s.Target(t.Context(), "parents", message.Latest)
					return err == nil && err2 == nil && to.Definition != nil &&
						to.Definition.Hash != first["p~all~0"] &&
						above.Definition != nil && above.Definition.Steps[0].Each.Definition == to.Definition.Hash
				})
				x.repair(t, s)
				eventually(t, "the parent is Processed", func() bool {
					p, _, err := s.Task(t.Context(), "p")
					return err == nil && p.ProcessState == core.Processed
				})
				for id, was := range first {
					c, _, err := s.Task(t.Context(), id)
					require.NoError(t, err, id)
					require.Equal(t, core.Processed, c.ProcessState, id)
					require.NotEqual(t, was, c.Definition, id)
				}
				require.Equal(t, 2, w.shop.standing())
			})
		})
	}
}

// commanded sends a command once the order is at rest, and fails the test if it is refused.
func commanded(t *testing.T, s *embedded.Runtime, id string, c message.Control) {
	t.Helper()
	eventually(t, id+" is at rest", func() bool {
		task, _, err := s.Task(t.Context(), id)
		return err == nil && (task.ProcessState == core.Error || task.Terminal()) && task.AtRest()
	})
	task, _, err := s.Task(t.Context(), id)
	require.NoError(t, err)
	c.OrderID = id
	c.Event = core.Stamped(c.Event, "c-"+id[len(id)-1:], core.Sender{}, task.Commands.Number)
	v, err := s.Command(t.Context(), c)
	require.NoError(t, err, id)
	require.True(t, v.Accepted, id)
}
