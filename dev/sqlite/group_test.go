package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// inOneGroup lets the commits gather, each as its own caller, and answers their errors.
func inOneGroup(t *testing.T, s *sqlite.Store, writes ...port.Write) []error {
	t.Helper()
	release := s.Hold()
	answers := make([]chan error, len(writes))
	for i, w := range writes {
		answers[i] = make(chan error, 1)
		go func() { answers[i] <- s.Commit(context.Background(), []port.Write{w})[0] }()
		for s.Pending() <= i { // one after the other, so that their order is known
			runtime.Gosched()
		}
	}
	release()
	errs := make([]error, len(writes))
	for i := range answers {
		errs[i] = <-answers[i]
	}
	return errs
}

func TestGroupAnswersEachItsOwn(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	errs := inOneGroup(t, s, creation("a"), replacement("a", 1), replacement("a", 1), creation("a"),
		replacement("b", 1), replacement("a", 2))
	for i, want := range []error{nil, nil, port.ErrConflict, port.ErrExists, port.ErrNotFound, nil} {
		require.ErrorIs(t, errs[i], want, "%+v", i)
	}
	r, errs := s.Load(t.Context(), []string{"a"})
	require.NoError(t, errs[0])
	require.NotNil(t, r[0], "the task is %+v, %v", r, errs)
	require.EqualValues(t, 3, r[0].Version)
}

// TestGroupThatFailsAffectsNoOther: the disk is too full for one of a group.
func TestGroupThatFailsAffectsNoOther(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	pages, err := s.Pages()
	require.NoError(t, err)
	require.NoError(t, s.LimitPages(pages+10))
	large := replacement("a", 2)
	large.Record.Document = make([]byte, port.MaxDocument)
	errs := inOneGroup(t, s, replacement("a", 1), large, creation("b"), replacement("a", 2))
	for i, want := range []error{nil, port.ErrUnavailable, nil, nil} {
		require.ErrorIs(t, errs[i], want, "%+v", i)
	}
	r, errs := s.Load(t.Context(), []string{"a", "b"})
	require.NoError(t, errors.Join(errs...))
	require.NotNil(t, r[0], "the tasks are %+v, %v", r, errs)
	require.EqualValues(t, 3, r[0].Version)
	require.NotNil(t, r[1], "the tasks are %+v, %v", r, errs)
}

// TestForgottenInTheSameGroup: what one operation of a group removes, the next does not see.
func TestForgottenInTheSameGroup(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	release := s.Hold()
	forgotten := make(chan error, 1)
	replaced := make(chan error, 1)
	go func() { forgotten <- s.Forget(context.Background(), []string{"a"}) }()
	for s.Pending() < 1 {
		runtime.Gosched()
	}
	go func() { replaced <- s.Commit(context.Background(), []port.Write{replacement("a", 1)})[0] }()
	for s.Pending() < 2 {
		runtime.Gosched()
	}
	release()
	require.NoError(t, <-forgotten)
	require.ErrorIs(t, <-replaced, port.ErrNotFound, "replace")
	r, errs := s.Load(t.Context(), []string{"a"})
	require.NoError(t, errs[0])
	require.Nil(t, r[0])
}

// TestNoQueryReadsFinishedTasks: with a million of them stored, a scan or a sort would show.
func TestNoQueryReadsFinishedTasks(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	type query struct {
		text string
		args []any
	}
	queries := map[string]query{}
	for name, q := range sqlite.Queries {
		queries[name] = query{q.Text, make([]any, q.Args)}
	}
	for name, q := range map[string]port.Query{
		"all": {}, "state": {State: "Error"}, "workflow": {Workflow: "order"},
		"time":           {Before: created, After: created},
		"state and time": {State: "Error", Before: created}, "next page": {Cursor: "1.1"},
		"next page of a state":    {State: "Error", Cursor: "1.1"},
		"workflow and time":       {Workflow: "order", After: created},
		"next page of a workflow": {Workflow: "order", Cursor: "1.1"},
	} {
		q.Limit = 10
		text, args, err := s.Listing(q)
		require.NoError(t, err)
		queries["list by "+name] = query{text, args}
	}
	for name, q := range queries {
		plan, err := s.Plan(q.text, q.args...)
		require.NoError(t, err, name)
		index := "orders_created"
		switch {
		case strings.Contains(name, "state"):
			index = "orders_state"
		case strings.Contains(name, "workflow"):
			index = "orders_workflow"
		case strings.HasPrefix(name, "due"):
			index = "orders_due"
		}
		require.Contains(t, plan, index, name)
		require.NotContains(t, plan, "TEMP B-TREE", name)
	}
}

// TestAnOperationThatFailsLeavesNothing: what was written before the failure is rolled back, also
// where SQLite does not do so by itself, and the next operation finds the writer free.
func TestAnOperationThatFailsLeavesNothing(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	require.ErrorIs(t, s.Script("INSERT INTO definitions VALUES('half', x''); INSERT INTO nowhere VALUES(1)"),
		port.ErrUnavailable)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	_, err := s.Definition(t.Context(), "half")
	require.ErrorIs(t, err, port.ErrNotFound, "half of an operation")
}

// TestListByStateAndWorkflowGoesByTheRarer, and answers the same by either.
func TestListByStateAndWorkflowGoesByTheRarer(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	for i := range 20 {
		w := creation(fmt.Sprint("task-", i))
		if i%10 == 0 {
			w.Record.State = "Error"
		}
		if i == 10 || i == 11 || i == 12 {
			w.Record.Workflow = "rare"
		}
		must(t, s.Commit(t.Context(), []port.Write{w}))
	}
	for _, c := range []struct {
		state, workflow, index string
		found                  int
	}{
		{"Error", "order", "orders_state", 1},
		{"Processing", "rare", "orders_workflow", 2},
		{"Error", "rare", "orders_state", 1},
		{"Processing", "order", "orders_workflow", 16},
	} {
		q := port.Query{State: c.state, Workflow: c.workflow, Limit: 100}
		page, err := s.List(t.Context(), q)
		require.NoError(t, err, c.state)
		require.Len(t, page.Records, c.found, c.state)
		text, args, err := s.Listing(q)
		require.NoError(t, err)
		plan, err := s.Plan(text, args...)
		require.NoError(t, err, c.state)
		require.Contains(t, plan, c.index, c.state)
	}
}

// An operation that panics is answered, harms no other of its group, and ends neither the store nor the
// process.
func TestOperationsThatPanic(t *testing.T) {
	s := open(t, t.TempDir(), sqlite.Options{})
	defer closed(t, s)
	must(t, s.Commit(t.Context(), []port.Write{creation("a")}))
	for _, later := range []bool{false, true} {
		before := port.Panics()
		answered := make(chan error, 2)
		release := s.Hold()
		go func() { answered <- s.Panic(later) }()
		for s.Pending() < 1 {
			runtime.Gosched()
		}
		version := int64(1)
		if later {
			version = 2
		}
		go func() { answered <- s.Commit(context.Background(), []port.Write{replacement("a", version)})[0] }()
		for s.Pending() < 2 {
			runtime.Gosched()
		}
		release()
		failed := 0
		for range 2 {
			if err := <-answered; err != nil {
				failed++
				require.False(t, later)
				require.ErrorIs(t, err, port.ErrUnavailable, "%+v", later)
				require.ErrorContains(t, err, "a write panicked", "%+v", later)
			}
		}
		require.Equal(t, map[bool]int{false: 1, true: 0}[later], failed, "%+v", later)
		require.NotEqual(t, before, port.Panics(), "%+v", later)
		r, errs := s.Load(t.Context(), []string{"a"})
		require.NoError(t, errs[0], "%+v", later)
		require.NotNil(t, r[0], "%+v", later)
		require.Equal(t, version+1, r[0].Version, "%+v", later)
	}
	must(t, s.Commit(t.Context(), []port.Write{replacement("a", 3)}))
}
