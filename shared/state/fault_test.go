package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

func ended(id string, version int64) *protocol.Task {
	t := task(id, version)
	t.ProcessState = core.Processed
	t.Due = 0
	return t
}

// P8: whatever a commit and a load do to each other, what is kept afterwards is what the store has. An
// older version would open a task again that has ended.
func TestOlderVersionNeverComesBack(t *testing.T) {
	commit := func(s *state.Store, next *protocol.Task) {
		require.NoError(t, s.Commit(ctx, []state.Change{{Task: next}})[0])
	}
	for name, meanwhile := range map[string]func(s *state.Store, under *counting){
		"a commit": func(s *state.Store, _ *counting) { commit(s, task("o-1", 2)) },
		"its end":  func(s *state.Store, _ *counting) { commit(s, ended("o-1", 2)) },
		"two commits": func(s *state.Store, _ *counting) {
			commit(s, task("o-1", 2))
			commit(s,
				ended("o-1", 3))
		},
		"a commit, and a load of it": func(s *state.Store, _ *counting) {
			commit(s, task("o-1", 2))
			s.Forget("o-1")
			load(t, s, "o-1")
		},
		"a commit whose answer is lost": func(s *state.Store, under *counting) {
			under.doubt = true
			if s.Commit(ctx, []state.Change{{Task: ended("o-1", 2)}})[0] == nil {
				t.Error("no doubt")
			}
			under.doubt = false
		},
		"a load of what another has stored": func(s *state.Store, under *counting) {
			other := state.New(state.Config{Store: under.Store, Definitions: memory.NewDefinitions()})
			commit(other, task("o-1", 2))
			load(t, s, "o-1")
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, under := open(10, 0)
			create(t, s, "o-1")
			s.Forget("o-1")
			under.during = func() { meanwhile(s, under) }
			load(t, s, "o-1") // it began before, and may see the older one
			want, errs := under.Store.Load(ctx, []string{"o-1"})
			require.NoError(t, errs[0])
			for range 2 {
				require.Equal(t, want[0].Version, load(t, s, "o-1").Version)
			}
		})
	}
}

// Each answer stands at the place of its ID, whether it was kept or loaded, and is kept as that one.
func TestLoadOfSome(t *testing.T) {
	s, under := open(10, 0)
	var ids []string
	for i := range 6 {
		id := fmt.Sprint("o-", i)
		ids = append(ids, id)
		create(t, s, id)
		if i%2 == 0 {
			s.Forget(id)
		}
	}
	ids = append(ids, "o-none")
	for _, loads := range []int{4, 5} { // the one that is not there is looked up each time
		l := s.Load(ctx, ids)
		require.Equal(t, loads, under.loads)
		for i, id := range ids[:6] {
			require.NotNil(t, l[i].Task, id)
			require.Equal(t, id, l[i].Task.OrderID)
		}
		require.Nil(t, l[6].Task)
		require.NoError(t, l[6].Err)
	}
	require.NotNil(t, s.Cached("o-0"), "what was loaded is kept, and nothing else")
	require.Nil(t, s.Cached("o-none"))
	none, _ := open(0, 0)
	require.Nil(t, none.Cached("o-0"))
}

// An order is kept with its task through its commits, and an end that was not reported is kept too.
func TestWhatIsKept(t *testing.T) {
	s, under := open(10, 0)
	create(t, s, "o-1")
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: apart("o-1", 2)}})[0])
	end := ended("o-1", 3)
	end.ContentHash = apart("o-1", 3).ContentHash
	end.End.ResendAt = born + 5
	end.Due = born + 5
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: end}})[0])
	b, err := s.Order(ctx, load(t, s, "o-1"))
	require.Equal(t, `{"n":1}`, string(b))
	require.NoError(t, err)
	require.Zero(t, under.orders)
	require.EqualValues(t, 3, load(t, s, "o-1").Version)
	require.Zero(t, under.loads)
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: ended("o-1", 4)}})[0])
	require.Nil(t, s.Cached("o-1"))
	if load(t, s, "o-1"); s.Cached("o-1") != nil {
		t.Error("an end that was loaded is kept")
	}
	inline := apart("o-2", 1)
	inline.Order = []byte(`{"n":2}`)
	for _, task := range []*protocol.Task{inline, task("o-3", 1)} { // the other one is a tombstone
		require.NoError(t, s.Commit(ctx, []state.Change{{Task: task, Order: task.Order}})[0])
		s.Forget(task.OrderID)
		b, err := s.Order(ctx, load(t, s, task.OrderID))
		require.Equal(t, string(task.Order), string(b))
		require.NoError(t, err)
		require.Zero(t, under.orders)
	}
}

// short answers fewer than it was asked for, as a broken adapter does.
type short struct{ *memory.Store }

func (s short) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	return s.Store.Load(ctx, ids[1:])
}

func (s short) Commit(ctx context.Context, writes []port.Write) []error {
	return s.Store.Commit(ctx, writes)[1:]
}

func TestStoreThatAnswersTooFew(t *testing.T) {
	s := state.New(state.Config{
		Store: short{memory.NewStore(1)}, Definitions: memory.NewDefinitions(),
		CacheTasks: 10,
	})
	l := s.Load(ctx, []string{"o-1", "o-2"})
	require.Len(t, l, 2)
	require.NoError(t, l[0].Err)
	require.ErrorContains(t, l[1].Err, "the store answered 1")
	first := task("o-1", 1)
	second := task("o-2", 1)
	errs := s.Commit(ctx, []state.Change{
		{Task: first}, {Task: second},
	})
	require.NoError(t, errs[0])
	require.ErrorContains(t, errs[1], `task "o-2", version 1`)
	require.Nil(t, s.Cached("o-2"))
}

// down is a store, and definitions, that cannot be reached; it notes the contexts of its calls.
type down struct {
	memory.Store
	port.Definitions
	seen []context.Context
	err  error
}

func (d *down) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	d.seen = append(d.seen, ctx)
	return make([]*port.Record, len(ids)), slices.Repeat([]error{d.err}, len(ids))
}

func (d *down) Content(ctx context.Context, _, _ string) ([]byte, error) {
	d.seen = append(d.seen, ctx)
	return nil, d.err
}

func (d *down) Commit(ctx context.Context, writes []port.Write) []error {
	d.seen = append(d.seen, ctx)
	errs := make([]error, len(writes))
	for i := range errs {
		errs[i] = d.err
	}
	return errs
}

func (d *down) Definition(ctx context.Context, _ string) ([]byte, error) {
	d.seen = append(d.seen, ctx)
	return []byte(`{}`), d.err
}

func (d *down) PutDefinition(ctx context.Context, _ string, _ []byte) error {
	d.seen = append(d.seen, ctx)
	return d.err
}

type key struct{}

// What the store answers reaches the caller, with what was asked for; nothing of it is kept, and each
// call has the caller's context.
func TestStoreThatCannotBeReached(t *testing.T) {
	given := context.WithValue(ctx, key{}, 1)
	for _, cached := range []int{0, 10} {
		under := &down{err: port.ErrUnavailable}
		compiled := errors.New("cannot be compiled")
		encoded := error(nil)
		s := state.New(state.Config{
			Store: under, Definitions: under, CacheTasks: cached,
			OnCommit: func(state.Change) { t.Error("called with a commit that failed") },
			Compile:  func(string, []byte) (*core.Definition, error) { return nil, compiled },
			Encode:   func(*core.Definition) ([]byte, error) { return []byte(`{}`), encoded },
			Current:  func(string) *core.Definition { return &core.Definition{Name: "order", Hash: "h1"} },
		})
		calls := map[string]func() error{
			`load task "o-2"`:  func() error { return s.Load(given, []string{"o-1", "o-2"})[1].Err },
			`load order "o-1"`: func() error { _, err := s.Order(given, apart("o-1", 1)); return err },
			`commit task "o-1", version 2`: func() error {
				return s.Commit(given, []state.Change{{Task: task("o-1", 2)}})[0]
			},
			"load definition h2": func() error {
				_, err := s.Definition(given, "order", "h2")
				return err
			},
			`store definition h1 of workflow "order":`: func() error {
				_,
					err := s.Current(given, "order")
				return err
			},
		}
		for what, call := range calls {
			for range 2 { // also the second time: nothing is remembered
				under.seen = nil
				err := call()
				require.ErrorIs(t, err, port.ErrUnavailable, what)
				require.ErrorContains(t, err, what)
				require.Len(t, under.seen, 1, what)
				require.Equal(t, given, under.seen[0], what)
			}
		}
		under.err = nil
		_, err := s.Definition(given, "order", "h2")
		require.ErrorIs(t, err, compiled)
		require.ErrorContains(t, err, "h2")
		encoded = errors.New("cannot be written")
		under.seen = nil
		_, err = s.Current(given, "order")
		require.ErrorIs(t, err, encoded)
		require.ErrorContains(t, err, `"order"`)
		require.Empty(t, under.seen)
		encoded = nil
		for range 2 { // it is stored once
			d, err := s.Current(given, "order")
			require.NoError(t, err)
			require.Equal(t, "h1", d.Hash)
			require.Len(t, under.seen, 1)
		}
	}
}

// Versions begin at 1, and a first version that keeps its order apart comes with it; all else is a mistake of
// the caller.
func TestVersionsAndOrders(t *testing.T) {
	for i, c := range []state.Change{
		{Task: task("o-1", 0)},
		{Task: task("o-1", -1)},
		{Task: apart("o-1", 1)},
	} {
		s, under := open(10, 0)
		require.ErrorContains(t, s.Commit(ctx, []state.Change{c})[0],
			[]string{"versions begin at 1", "versions begin at 1", "needs its bytes"}[i], "%+v", i)
		records, errs := under.Store.Load(ctx, []string{"o-1"})
		require.NoError(t, errs[0], "%+v", i)
		require.Nil(t, records[0], "%+v", i)
		require.Nil(t, s.Cached("o-1"), "%+v", i)
	}
}

// The bytes of orders and outputs bound what is kept.
func TestBytesBoundTheCache(t *testing.T) {
	body := json.RawMessage(`"` + strings.Repeat("x", 10_000) + `"`)
	for name, fill := range map[string]func(s *state.Store, id string) error{
		"orders": func(s *state.Store, id string) error {
			return s.Commit(ctx, []state.Change{{Task: apart(id, 1), Order: body}})[0]
		},
		"outputs of steps": func(s *state.Store, id string) error {
			next := task(id, 1)
			next.Steps[0].Output = body
			return s.Commit(ctx, []state.Change{{Task: next}})[0]
		},
		"outputs of workflows": func(s *state.Store, id string) error {
			next := task(id, 1)
			next.Output = body
			return s.Commit(ctx, []state.Change{{Task: next}})[0]
		},
	} {
		s, _ := open(100, 50_000)
		for i := range 20 {
			require.NoError(t, fill(s, fmt.Sprint("o-", i)))
		}
		kept := 0
		for i := range 20 {
			if s.Cached(fmt.Sprint("o-", i)) != nil {
				kept++
			}
		}
		require.Equal(t, 4, kept, name)
		require.NotNil(t, s.Cached("o-19"), name)
	}
}
