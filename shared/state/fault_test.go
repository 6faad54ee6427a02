package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

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
		if err := s.Commit(ctx, []state.Change{{Task: next}})[0]; err != nil {
			t.Error(err)
		}
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
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			for range 2 {
				if got := load(t, s, "o-1"); got.Version != want[0].Version {
					t.Errorf("version %d is kept, the store has %d", got.Version, want[0].Version)
				}
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
		if under.loads != loads {
			t.Fatalf("%d loads", under.loads)
		}
		for i, id := range ids[:6] {
			if l[i].Task == nil || l[i].Task.OrderID != id {
				t.Errorf("at the place of %s: %+v", id, l[i])
			}
		}
		if l[6].Task != nil || l[6].Err != nil {
			t.Errorf("%+v", l[6])
		}
	}
	if s.Cached("o-0") == nil || s.Cached("o-none") != nil {
		t.Error("what was loaded is kept, and nothing else")
	}
	if none, _ := open(0, 0); none.Cached("o-0") != nil {
		t.Error("something is kept without a cache")
	}
}

// An order is kept with its task through its commits, and an end that was not reported is kept too.
func TestWhatIsKept(t *testing.T) {
	s, under := open(10, 0)
	create(t, s, "o-1")
	if err := s.Commit(ctx, []state.Change{{Task: apart("o-1", 2)}})[0]; err != nil {
		t.Fatal(err)
	}
	end := ended("o-1", 3)
	end.ContentHash = apart("o-1", 3).ContentHash
	end.End.ResendAt = born + 5
	end.Due = born + 5
	if err := s.Commit(ctx, []state.Change{{Task: end}})[0]; err != nil {
		t.Fatal(err)
	}
	if b, err := s.Order(ctx, load(t, s, "o-1")); string(b) != `{"n":1}` || err != nil || under.orders != 0 {
		t.Errorf("%q, %v, %d loads", b, err, under.orders)
	}
	if got := load(t, s, "o-1"); got.Version != 3 || under.loads != 0 {
		t.Errorf("version %d, %d loads", got.Version, under.loads)
	}
	if err := s.Commit(ctx, []state.Change{{Task: ended("o-1", 4)}})[0]; err != nil {
		t.Fatal(err)
	}
	if s.Cached("o-1") != nil {
		t.Error("an end that was reported is kept")
	}
	if load(t, s, "o-1"); s.Cached("o-1") != nil {
		t.Error("an end that was loaded is kept")
	}
	inline := apart("o-2", 1)
	inline.Order = []byte(`{"n":2}`)
	for _, task := range []*protocol.Task{inline, task("o-3", 1)} { // the other one is a tombstone
		if err := s.Commit(ctx, []state.Change{{Task: task, Order: task.Order}})[0]; err != nil {
			t.Fatal(err)
		}
		s.Forget(task.OrderID)
		if b, err := s.Order(ctx, load(t, s, task.OrderID)); string(b) != string(task.Order) || err != nil ||
			under.orders != 0 {
			t.Errorf("%q, %v, %d loads", b, err, under.orders)
		}
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
	if l := s.Load(ctx, []string{"o-1", "o-2"}); len(l) != 2 || l[0].Err != nil || l[1].Err == nil ||
		!strings.Contains(l[1].Err.Error(), "the store answered 1") {
		t.Errorf("%v", l)
	}
	first := task("o-1", 1)
	second := task("o-2", 1)
	errs := s.Commit(ctx, []state.Change{
		{Task: first}, {Task: second},
	})
	if errs[0] != nil || errs[1] == nil || !strings.Contains(errs[1].Error(), `task "o-2", version 1`) ||
		s.Cached("o-2") != nil {
		t.Errorf("%v", errs)
	}
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
				if err := call(); !errors.Is(err, port.ErrUnavailable) ||
					!strings.Contains(err.Error(), what) || len(under.seen) != 1 || under.seen[0] != given {
					t.Errorf("%s: %v, %d calls", what, err, len(under.seen))
				}
			}
		}
		under.err = nil
		if _, err := s.Definition(given, "order", "h2"); !errors.Is(err, compiled) ||
			!strings.Contains(err.Error(), "h2") {
			t.Errorf("%v", err)
		}
		encoded = errors.New("cannot be written")
		under.seen = nil
		if _, err := s.Current(given, "order"); !errors.Is(err, encoded) ||
			!strings.Contains(err.Error(), `"order"`) || len(under.seen) > 0 {
			t.Errorf("%v", err)
		}
		encoded = nil
		for range 2 { // it is stored once
			if d, err := s.Current(given, "order"); err != nil || d.Hash != "h1" || len(under.seen) != 1 {
				t.Errorf("%+v, %v, stored %d times", d, err, len(under.seen))
			}
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
		if err := s.Commit(ctx, []state.Change{c})[0]; err == nil || !strings.Contains(err.Error(),
			[]string{"versions begin at 1", "versions begin at 1", "needs its bytes"}[i]) {
			t.Errorf("%d: %v", i, err)
		}
		if records, errs := under.Store.Load(ctx, []string{"o-1"}); errs[0] != nil || records[0] != nil ||
			s.Cached("o-1") != nil {
			t.Errorf("%d: it was stored: %v %v", i, records[0], errs)
		}
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
			if err := fill(s, fmt.Sprint("o-", i)); err != nil {
				t.Fatal(err)
			}
		}
		kept := 0
		for i := range 20 {
			if s.Cached(fmt.Sprint("o-", i)) != nil {
				kept++
			}
		}
		if kept != 4 || s.Cached("o-19") == nil {
			t.Errorf("%s: %d are kept", name, kept)
		}
	}
}
