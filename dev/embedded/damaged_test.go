package embedded_test

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	_ "modernc.org/sqlite" // the driver

	"github.com/stretchr/testify/require"

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

// P60: a task whose stored definition was changed is left to the operator; the start and the other tasks go on. The
// definition is stored again from the workflow's file, if that is the same.
func TestATaskWithoutItsDefinitionDoesNotStopTheStart(t *testing.T) {
	w := newFixture(t, "30s")
	w.shop.hang.Store(true)
	s := w.open()
	submit(t, s, "lost", "")
	task, _, err := s.Task(t.Context(), "lost")
	require.NoError(t, err)
	closeRuntime(t, s)
	w.write(fmt.Sprintf(pair, "31s"))
	w.execute("UPDATE definitions SET data = CAST(replace(data, '30000', '30002') AS BLOB) WHERE hash = ?", task.Definition)
	w.shop.hang.Store(false)
	s = w.open()
	submit(t, s, "fine", "")
	require.Equal(t, core.Processed, wait(t, s, "fine").ProcessState, "the other order")
	// It is shown with its steps, and goes on once its definition is there again.
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
