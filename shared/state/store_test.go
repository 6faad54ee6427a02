package state_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

var (
	ctx  = context.Background()
	born = core.TimeOf(time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC))
)

// counting counts loads, and can lose the answer of a commit.
type counting struct {
	*memory.Store
	mu     sync.Mutex
	loads  int
	orders int
	doubt  bool
	during func() // in the middle of a load, after the store answered
}

func (s *counting) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	rs, errs := s.Store.Load(ctx, ids)
	s.mu.Lock()
	s.loads += len(ids)
	f := s.during
	s.during = nil
	s.mu.Unlock()
	if f != nil {
		f()
	}
	return rs, errs
}

func (s *counting) Content(ctx context.Context, id, hash string) ([]byte, error) {
	s.mu.Lock()
	s.orders++
	s.mu.Unlock()
	return s.Store.Content(ctx, id, hash)
}

func (s *counting) Commit(ctx context.Context, writes []port.Write) []error {
	errs := s.Store.Commit(ctx, writes)
	if s.doubt {
		for i := range errs {
			errs[i] = errors.New("answer lost")
		}
	}
	return errs
}

func open(cached, bytes int) (*state.Store, *counting) {
	under := &counting{Store: memory.NewStore(2)}
	return state.New(state.Config{
		Store: under, Definitions: memory.NewDefinitions(), CacheTasks: cached,
		CacheBytes: bytes,
	}), under
}

func task(id string, version int64) *protocol.Task {
	return &protocol.Task{
		OrderID: id, Version: version, Workflow: "order", ProcessState: core.Processing,
		Created: born, Due: born + 1000,
		Steps: []protocol.Step{{Name: "a", State: core.Processing, CompleteBy: born + 1000}},
	}
}

// apart is a task that keeps its order apart.
func apart(id string, version int64) *protocol.Task {
	t := task(id, version)
	t.ContentHash = strings.Repeat("f", 64)
	return t
}

func create(t testing.TB, s *state.Store, id string) {
	t.Helper()
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: apart(id, 1), Order: []byte(`{"n":1}`)}})[0])
}

func load(t testing.TB, s *state.Store, id string) *protocol.Task {
	t.Helper()
	l := s.Load(ctx, []string{id})
	require.NoError(t, l[0].Err)
	return l[0].Task
}

func TestCommitDerivesTheIndex(t *testing.T) {
	s, under := open(0, 0)
	create(t, s, "o-1")
	at := func(bucket port.Bucket) (n int) {
		for shard := range under.Shards() {
			due, _ := under.Due(ctx, bucket, shard, born.Std().Add(time.Hour), nil, 10)
			n += len(due)
		}
		return n
	}
	require.Equal(t, 1, at(port.DueBucket))
	second := task("o-1", 2)
	second.Due = 0
	second.Attention = true
	second.ProcessState = core.Error
	second.End.At = born + 5
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: second}})[0])
	require.Zero(t, at(port.DueBucket))
	require.Equal(t, 1, at(port.AttentionBucket))
}

func TestCommitErrorsStandAtTheirPlaces(t *testing.T) {
	var seen []string
	under := memory.NewStore(1)
	s := state.New(state.Config{
		Store: under, Definitions: memory.NewDefinitions(),
		OnCommit: func(c state.Change) { seen = append(seen, c.Task.OrderID) },
	})
	create(t, s, "o-1")
	huge := task("o-1", 2)
	huge.Output = json.RawMessage(`"` + strings.Repeat("x", port.MaxDocument) + `"`)
	unwritable := task("o-1", 2)
	unwritable.Due = -1
	errs := s.Commit(ctx, []state.Change{
		{Task: huge},
		{Task: task("o-1", 5)},
		{Task: unwritable},
		{Task: task("o-1", 2)},
		{Task: apart("o-2", 1)},
		{Task: task("o-1", 1)},
		{Task: task("o-3", 2)},
	})
	require.ErrorContains(t, errs[2], "due", "a time before 1970")
	for i, want := range []error{
		port.ErrTooLarge, port.ErrConflict, nil, nil, nil, port.ErrExists,
		port.ErrNotFound,
	} {
		if want != nil && !errors.Is(errs[i], want) || (i == 2 || i == 4) && errs[i] == nil || i == 3 &&
			errs[i] != nil {
			t.Errorf("%d: %v", i, errs[i])
		}
	}
	require.Equal(t, "[o-1 o-1]", fmt.Sprint(seen))
}

// One document that cannot be read affects no other, and a record that disagrees with its
// document is damage.
func TestLoadReportsTheBadBesideTheGood(t *testing.T) {
	s, under := open(0, 0)
	create(t, s, "o-1")
	for id, doc := range map[string]string{
		"o-new": `{"Schema":4}`, "o-bad": `{`,
		"o-other": `{"Schema":2,"OrderID":"x","Version":1}`,
	} {
		under.Store.Commit(ctx, []port.Write{
			{
				Record: port.Record{ID: id, Version: 1, Document: []byte(doc), Created: born.Std()},
			},
		})
	}
	doc, err := state.EncodeTask(task("o-old", 3))
	require.NoError(t, err)
	under.Store.Commit(ctx, []port.Write{
		{
			Record: port.Record{ID: "o-old", Version: 1, Document: doc, Created: born.Std()},
		},
	})
	if l := s.Load(ctx, []string{"o-old"}); l[0].Err != nil || l[0].Task.Damaged == "" {
		t.Errorf("of another version: %+v", l)
	}
	l := s.Load(ctx, []string{"o-new", "o-1", "o-none", "o-bad", "o-other"})
	require.NotNil(t, l[1].Task, "%+v", l)
	require.ErrorIs(t, l[0].Err, state.ErrSchema)
	require.Nil(t, l[0].Task)
	require.NoError(t, l[1].Err)
	require.Nil(t, l[2].Task)
	require.NoError(t, l[2].Err)
	for _, damaged := range l[3:5] {
		require.NoError(t, damaged.Err)
		require.NotEmpty(t, damaged.Task.Damaged)
	}
}

// P60: a lost definition is read from the deployed workflow, and stored again, if it is the same. A block's is within
// that of its file (P55).
func TestALostDefinitionIsReadFromTheDeployedWorkflow(t *testing.T) {
	sealed := func(d *core.Definition) *core.Definition {
		data, err := json.Marshal(d)
		require.NoError(t, err)
		d.Hash = core.DefinitionHash(data)
		return d
	}
	block := sealed(&core.Definition{Name: core.BlockName("order", "pack")})
	file := sealed(&core.Definition{Name: "order", Steps: []core.StepDefinition{
		{Name: "pack", Each: &core.Each{Workflow: block.Name, Definition: block.Hash, Child: block}},
	}})
	for _, d := range []*core.Definition{file, block} {
		defs := memory.NewDefinitions()
		s := state.New(state.Config{
			Store: memory.NewStore(1), Definitions: defs,
			Encode: func(d *core.Definition) ([]byte, error) { return json.Marshal(d) },
			Current: func(name string) *core.Definition {
				return map[string]*core.Definition{"order": file}[name]
			},
		})
		found, err := s.Definition(ctx, d.Name, d.Hash)
		require.NoError(t, err, d.Name)
		require.Same(t, d, found, d.Name)
		_, err = defs.Definition(ctx, d.Hash)
		require.NoError(t, err, d.Name)
		_, err = s.Definition(ctx, core.BlockName("order", "other"), "h1")
		require.ErrorIs(t, err, port.ErrNotFound, d.Name)
	}
}

func TestDefinitionsAreStoredBeforeTheyArePinned(t *testing.T) {
	defs := memory.NewDefinitions()
	compiled := 0
	encode := func(d *core.Definition) ([]byte, error) { return json.Marshal(d) }
	current := &core.Definition{Name: "order"}
	data, _ := encode(current)
	current.Hash = core.DefinitionHash(data)
	s := state.New(state.Config{
		Store: memory.NewStore(1), Definitions: defs,
		Compile: func(hash string, data []byte) (*core.Definition, error) {
			compiled++
			d := &core.Definition{Hash: hash}
			return d, json.Unmarshal(data, d)
		},
		Encode: encode,
		Current: func(name string) *core.Definition {
			return map[string]*core.Definition{
				"order":   current,
				"changed": {Name: "changed", Hash: "h1"},
			}[name]
		},
	})
	_, err := s.Current(ctx, "missing")
	require.ErrorContains(t, err, `no workflow "missing" is deployed`)
	d, err := s.Current(ctx, "order")
	if err != nil || d != current {
		t.Fatalf("%v %v", d, err)
	}
	_, err = defs.Definition(ctx, current.Hash)
	require.NoError(t, err, "it is not stored")
	if d, _ := s.Definition(ctx, "order", current.Hash); d != current || compiled != 0 {
		t.Error("what it has just stored was compiled again")
	}
	_, err = s.Current(ctx, "changed")
	require.ErrorIs(t, err, port.ErrHash, "bytes of another hash")
	old := []byte(`{"name":"old"}`)
	require.NoError(t, defs.PutDefinition(ctx, core.DefinitionHash(old), old))
	for range 2 {
		d, err := s.Definition(ctx, "old", core.DefinitionHash(old))
		require.NoError(t, err)
		require.Equal(t, "old", d.Name)
		require.Equal(t, 1, compiled)
	}
	_, err = s.Definition(ctx, "order", "h9")
	require.ErrorIs(t, err, port.ErrNotFound)
	d, err = s.Definition(ctx, "", "")
	require.Nil(t, d)
	require.NoError(t, err)
}

func TestCache(t *testing.T) {
	s, under := open(10, 0)
	create(t, s, "o-1")
	require.EqualValues(t, 1, load(t, s, "o-1").Version)
	require.Zero(t, under.loads)
	b, err := s.Order(ctx, apart("o-1", 1))
	require.Equal(t, `{"n":1}`, string(b))
	require.NoError(t, err)
	require.Zero(t, under.orders)
	s.Forget("o-1")
	load(t, s, "o-1")
	if load(t, s, "o-1"); under.loads != 1 {
		t.Errorf("%d loads", under.loads)
	}
	for range 2 {
		_, _ = s.Order(ctx, apart("o-1", 1))
		require.Equal(t, 1, under.orders)
	}
	// A refused commit, and one in doubt, leave nothing behind.
	require.ErrorIs(t, s.Commit(ctx, []state.Change{{Task: task("o-1", 7)}})[0], port.ErrConflict)
	if load(t, s, "o-1"); under.loads != 2 {
		t.Errorf("kept after a conflict: %d loads", under.loads)
	}
	under.doubt = true
	require.Error(t, s.Commit(ctx, []state.Change{{Task: task("o-1", 2)}})[0])
	under.doubt = false
	require.EqualValues(t, 2, load(t, s, "o-1").Version)
	require.Equal(t, 3, under.loads)
	// A task at its end is let go.
	end := task("o-1", 3)
	end.ProcessState = core.Processed
	end.Due = 0
	s.Commit(ctx, []state.Change{{Task: end}})
	if load(t, s, "o-1"); under.loads != 4 {
		t.Errorf("a finished task is kept: %d loads", under.loads)
	}
}

func TestCacheIsBounded(t *testing.T) {
	s, under := open(3, 0)
	for i := range 10 {
		create(t, s, fmt.Sprint("o-", i))
	}
	for i := 9; i >= 7; i-- {
		load(t, s, fmt.Sprint("o-", i))
	}
	require.Zero(t, under.loads)
	load(t, s, "o-0")
	require.Equal(t, 1, under.loads, "the oldest was kept")
}

// Once a commit has returned, no load gives anything older (P8).
func TestCacheUnderConcurrency(t *testing.T) {
	s, _ := open(4, 0) // smaller than the number of tasks, so that entries come and go
	const tasks, writers, rounds = 8, 8, 300
	var latest [tasks]struct {
		sync.Mutex
		version int64
	}
	for i := range tasks {
		create(t, s, fmt.Sprint("o-", i))
		latest[i].version = 1
	}
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 1))
			for range rounds {
				i := random.IntN(tasks)
				latest[i].Lock()
				floor := latest[i].version
				latest[i].Unlock()
				l := s.Load(ctx, []string{fmt.Sprint("o-", i)})
				if l[0].Err != nil {
					t.Error(l[0].Err)
					return
				}
				if l[0].Task.Version < floor {
					t.Errorf("task %d: version %d after %d was stored", i, l[0].Task.Version, floor)
				}
				next := *l[0].Task
				next.Version++
				if s.Commit(ctx, []state.Change{{Task: &next}})[0] == nil {
					latest[i].Lock()
					latest[i].version = max(latest[i].version, next.Version)
					latest[i].Unlock()
				}
			}
		})
	}
	wg.Wait()
}

// A command that moves an order to the latest definition is told why there is none, and to try again: there is no order
// to send.
func TestTargetWithoutADefinition(t *testing.T) {
	s := state.New(state.Config{
		Current: func(string) *core.Definition { return nil },
		Broken: func(name string) string {
			if name == "torn" {
				return "line 3"
			}
			return ""
		},
	})
	for name, want := range map[string]string{
		"torn": `the workflow "torn" is there, and its file cannot be used: line 3; fix the file, then try again`,
		"gone": `no workflow "gone" is deployed; check the name, or deploy it first`,
	} {
		to, err := s.Target(ctx, name, message.Latest)
		require.NoError(t, err)
		require.Equal(t, core.Target{Absent: want}, to)
	}
}
