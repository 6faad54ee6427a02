package embedded_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// execute changes one row of the file while no process has the folder.
func (w *fixture) execute(statement string, arguments ...any) {
	w.t.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.options.Data, "stepkeeper.db"))
	require.NoError(w.t, err)
	defer db.Close()
	done, err := db.ExecContext(w.t.Context(), statement, arguments...)
	require.NoError(w.t, err)
	n, err := done.RowsAffected()
	require.EqualValues(w.t, 1, n, statement)
	require.NoError(w.t, err, statement)
}

// An order whose content was changed in the file is set aside, and no service gets what it was changed to, also
// where it is still JSON. The content of a large order has a row of its own.
func TestAChangedContentReachesNoService(t *testing.T) {
	for name, content := range map[string]string{"JSON": `"behind`, "no JSON": `bbefore`} {
		t.Run(name, func(t *testing.T) {
			w := newFixture(t, "300ms")
			w.write(strings.Replace(leaf, "workflow: leaf", "workflow: pair", 1))
			var mu sync.Mutex
			var got []string
			w.options.Operations = map[string]worker.Operations{"shop": {worker.AnyOperation: {
				Run: func(ctx context.Context, c worker.Call) (any, error) {
					mu.Lock()
					got = append(got, string(c.Input[:7]))
					mu.Unlock()
					<-ctx.Done()
					return nil, ctx.Err()
				},
			}}}
			s := w.open()
			o := order(t, "large", "")
			o.Order = json.RawMessage(`{"item":"before` + strings.Repeat("x", 20_000) + `"}`)
			require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
			closeRuntime(t, s)
			w.execute("UPDATE contents SET content = CAST(replace(CAST(content AS TEXT), '\"before', ?) AS BLOB)",
				content)
			s = w.open()
			defer closeRuntime(t, s)
			eventually(t, "it is set aside", func() bool {
				return strings.Contains(s.Health(t.Context()).Checks[view.CheckDamaged], "large")
			})
			task, _, err := s.Task(t.Context(), "large")
			require.NoError(t, err)
			_, err = s.Order(t.Context(), task)
			require.ErrorIs(t, err, core.ErrUnfit)
			mu.Lock()
			defer mu.Unlock()
			for _, input := range got {
				require.Equal(t, `"before`, input)
			}
		})
	}
}

// The answer that finds the damage is refused, and the order is set aside at once. Without it the order waits for
// days, and nothing looks at it.
func TestAnAnswerFindsAChangedContent(t *testing.T) {
	w := newFixture(t, "300ms")
	w.write(`workflow: pair
steps:
  paid: {event: {name: paid, timeout: 7d, onTimeout: undo}}
  first: {agent: shop, operation: first, input: "${ order }", after: [paid], timeout: 3s, onFailure: undo, undo: none, grade: idempotent}
`)
	log := w.logs()
	s := w.open()
	o := order(t, "large", "")
	o.Order = json.RawMessage(`{"item":"before` + strings.Repeat("x", 20_000) + `"}`)
	require.NoError(t, s.Submit(t.Context(), []message.SubmitOrder{o})[0].Err)
	closeRuntime(t, s)
	w.execute("UPDATE contents SET content = CAST(replace(CAST(content AS TEXT), 'before', 'behind') AS BLOB)")
	s = w.open()
	defer func() { closeRuntime(t, s) }()
	require.Empty(t, s.Health(t.Context()).Checks[view.CheckDamaged])
	site := serveSite(t, s)
	status, answer := site.post("/v1/orders/large/answers", "", `{"event":"paid","value":1,"by":"bank","id":"evt-1"}`)
	require.Equal(t, 409, status, answer)
	require.Contains(t, answer, `"code":"damaged"`)
	eventually(t, "it is set aside", func() bool {
		return strings.Contains(s.Health(t.Context()).Checks[view.CheckDamaged], "large")
	})
	closeRuntime(t, s) // the next start looks again, and the document itself can be read
	s = w.open()
	eventually(t, "the start has looked at it", func() bool { return log.count("the stored order is damaged") > 1 })
	require.Contains(t, s.Health(t.Context()).Checks[view.CheckDamaged], "large")
	require.Zero(t, log.count("can be read again"))
	require.Empty(t, w.shop.effects)
}

// A task whose definition is gone is left to the operator; the start and the other tasks go on.
func TestATaskWithoutItsDefinitionDoesNotStopTheStart(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.hang.Store(true)
	s := w.open()
	submit(t, s, "lost", "")
	task, _, err := s.Task(t.Context(), "lost")
	require.NoError(t, err)
	closeRuntime(t, s)
	w.write(fmt.Sprintf(pair, "31s"))
	w.execute("DELETE FROM definitions WHERE hash = ?", task.Definition)
	w.shop.hang.Store(false)
	s = w.open()
	submit(t, s, "fine", "")
	require.Equal(t, core.Processed, wait(t, s, "fine").ProcessState, "the other order")
	// It is shown with its steps, and goes on once its definition is there again (P60).
	task, def, err := s.Task(t.Context(), "lost")
	require.NoError(t, err)
	require.Nil(t, def)
	require.NotEmpty(t, task.Damaged)
	require.Len(t, task.Steps, 2)
	require.Contains(t, s.Health(t.Context()).Checks[view.CheckDamaged], "lost")
	closeRuntime(t, s)
	w.write(fmt.Sprintf(pair, "30s"))
	s = w.open()
	defer closeRuntime(t, s)
	task = wait(t, s, "lost")
	require.Equal(t, core.Processed, task.ProcessState)
	require.Empty(t, task.Damaged)
	require.Empty(t, s.Health(t.Context()).Checks[view.CheckDamaged])
}

// P60: a definition whose stored bytes were changed is stored again from the workflow's file, if that is the same.
// Its orders go on, and another file does not matter any more.
func TestAChangedDefinitionIsStoredAgain(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.hang.Store(true)
	s := w.open()
	for _, id := range []string{"first", "second"} {
		submit(t, s, id, "")
	}
	closeRuntime(t, s)
	w.execute("UPDATE definitions SET data = CAST(replace(data, '30000', '30001') AS BLOB)")
	s = w.open()
	require.Empty(t, s.Health(t.Context()).Checks[view.CheckDamaged])
	closeRuntime(t, s)
	w.write(fmt.Sprintf(pair, "31s"))
	w.shop.hang.Store(false)
	s = w.open()
	defer closeRuntime(t, s)
	for _, id := range []string{"first", "second"} {
		require.Equal(t, core.Processed, wait(t, s, id).ProcessState)
	}
}
