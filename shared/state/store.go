package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Config holds the dependencies and limits of a Store. Store, Definitions, Compile and Encode are required.
type Config struct {
	Store       port.Store
	Definitions port.Definitions
	// Compile decodes the stored form of a definition and attaches the expressions.
	Compile func(hash string, data []byte) (*core.Definition, error)
	// Encode returns the stored form of a definition. The definition's hash is the hash of these bytes.
	Encode func(def *core.Definition) ([]byte, error)
	// Current returns the definition that new orders of a workflow get, or nil for an unknown workflow.
	Current func(workflow string) *core.Definition
	// Similar returns the deployed workflow that a mistyped name probably means, or "" if no name is
	// similar. It may be nil.
	Similar func(workflow string) string
	// Broken returns the problem of a workflow whose file cannot be used, and "" for every other workflow. It
	// may be nil.
	Broken func(workflow string) string
	// OnCommit runs after each stored change, on the goroutine that stored it.
	OnCommit func(c Change)
	// CacheTasks is the number of decoded tasks that are cached; 0 means none. Set it only if this Store is
	// the only writer of the document store.
	CacheTasks int
	// Limit is the size of the largest document that is written, in bytes; 0 means port.MaxDocument.
	Limit int
	// Tombstones means that the store keeps the hash of each ended order after the order has expired (P26,
	// an ID never runs twice). Commit gives the store this hash when an ended order comes to rest.
	Tombstones bool
	// CacheBytes limits the memory of cached tasks, in bytes. 0 means 64 MiB.
	CacheBytes int
}

// Store loads and commits tasks. It is safe for concurrent use.
type Store struct {
	cfg   Config
	cache *cache // nil if tasks are not cached

	mu     sync.RWMutex
	byHash map[string]*core.Definition
	put    map[string]bool // hashes of definitions that are known to be stored
}

// New returns a Store.
func New(cfg Config) *Store {
	cfg.Limit = cmp.Or(cfg.Limit, port.MaxDocument)
	s := &Store{cfg: cfg, byHash: map[string]*core.Definition{}, put: map[string]bool{}}
	if cfg.CacheTasks > 0 {
		s.cache = newCache(cfg.CacheTasks, cfg.CacheBytes)
	}
	return s
}

// Room returns the size limit of this store's documents. Decisions must observe the limit.
func (s *Store) Room() protocol.SizeLimit {
	return protocol.SizeLimit(s.cfg.Limit)
}

// Port returns the underlying store, for listings.
func (s *Store) Port() port.Store { return s.cfg.Store }

// Loaded is one result of Load. Task is nil if no task is stored. Task.Damaged is set if the stored document
// cannot be read. Err is about this task only, for example ErrSchema.
type Loaded struct {
	Task *protocol.Task
	Err  error
}

// Load returns the tasks in the order of the IDs, from the cache or the store. Its reads of the store are
// strongly consistent (P8, every commit is conditional). The caller must not change the tasks.
func (s *Store) Load(ctx context.Context, ids []string) []Loaded {
	loaded := make([]Loaded, len(ids))
	var missing []string
	var places []int
	var gens []uint32
	for i, id := range ids {
		if s.cache != nil {
			loaded[i].Task = s.cache.task(id)
			if loaded[i].Task != nil {
				continue
			}
			gens = append(gens, s.cache.generation(id))
		}
		missing = append(missing, id)
		places = append(places, i)
	}
	if len(missing) == 0 {
		return loaded
	}
	records, errs := s.cfg.Store.Load(ctx, missing)
	for j, i := range places {
		l := &loaded[i]
		switch {
		case j >= len(records) || j >= len(errs):
			l.Err = fmt.Errorf("load task %q: the store answered %d of %d reads", missing[j],
				min(len(records), len(errs)), len(missing))
		case errs[j] != nil:
			l.Err = fmt.Errorf("load task %q: %w", missing[j], errs[j])
		case records[j] != nil:
			l.Task, l.Err = TaskOf(records[j])
			if s.cache != nil && l.Err == nil && l.Task.Damaged == "" {
				s.cache.loaded(l.Task, gens[j])
			}
		}
	}
	return loaded
}

// Order returns a task's order. The result is empty if a Cancel came before the order (P17, a cancel is
// kept), or if an operator erased the order. Order reads the store only if the order has an item or row of
// its own. It can return port.ErrNotFound.
func (s *Store) Order(ctx context.Context, t *protocol.Task) ([]byte, error) {
	if !t.Apart() {
		return t.Order, nil
	}
	if s.cache != nil {
		if b := s.cache.order(t.OrderID); b != nil {
			return b, nil
		}
	}
	content, err := OrderOf(ctx, s.cfg.Store, t)
	if err == nil && s.cache != nil {
		s.cache.setOrder(t.OrderID, content)
	}
	return content, err
}

type contents interface {
	Content(ctx context.Context, id, hash string) ([]byte, error)
}

// OrderOf returns a task's order as submitted, for readers without a cache. It can return port.ErrNotFound.
func OrderOf(ctx context.Context, s contents, t *protocol.Task) ([]byte, error) {
	if !t.Apart() {
		return t.Order, nil
	}
	content, err := s.Content(ctx, t.OrderID, t.ContentHash)
	if err != nil {
		return nil, fmt.Errorf("load order %q: %w", t.OrderID, err)
	}
	return content, nil
}

// Cached returns the cached task, or nil. It reads no store.
func (s *Store) Cached(id string) *protocol.Task {
	if s.cache == nil {
		return nil
	}
	return s.cache.task(id)
}

// Forget removes a task from the cache, so that the next Load reads the store.
func (s *Store) Forget(id string) {
	if s.cache != nil {
		s.cache.drop(id)
	}
}

// Change is one conditional write of a task. Task.Version is one more than the stored version.
type Change struct {
	Task   *protocol.Task
	Before *protocol.Task // task that Task replaces, for OnCommit only; nil for a new task
	// Order is the order as submitted. Commit stores it if the task is new and its order has an item or row
	// of its own.
	Order []byte
	// Hash is the hash of the submission, for a new task only. If Hash is empty, Commit computes the hash.
	Hash string
}

// Rested reports whether the change brings its task to rest. A task at rest has ended or stopped, its end
// was reported, and the Supervisor has nothing to do.
func (c Change) Rested() bool { return c.Task.Due == 0 && (c.Before == nil || c.Before.Due != 0) }

// Commit stores each change independently of the others. It returns one error or nil for each change, in the
// order of the changes. A document that is too large, or cannot be encoded, is never sent to the store.
func (s *Store) Commit(ctx context.Context, changes []Change) []error {
	errs := make([]error, len(changes))
	writes := make([]port.Write, 0, len(changes))
	places := make([]int, 0, len(changes))
	gens := make([]uint32, 0, len(changes))
	for i, c := range changes {
		w, err := s.writeOf(c)
		if err != nil {
			errs[i] = err
			continue
		}
		writes = append(writes, w)
		places = append(places, i)
		if s.cache != nil {
			gens = append(gens, s.cache.begin(c.Task.OrderID))
		}
	}
	if len(writes) == 0 {
		return errs
	}
	answers := s.cfg.Store.Commit(ctx, writes)
	for j, i := range places {
		var err error
		if j < len(answers) {
			err = answers[j]
		} else {
			err = fmt.Errorf("commit: the store answered %d of %d writes", len(answers), len(writes))
		}
		if s.cache != nil {
			s.cache.committed(changes[i], gens[j], err == nil)
		}
		if err != nil {
			errs[i] = fmt.Errorf("commit task %q, version %d: %w", changes[i].Task.OrderID,
				changes[i].Task.Version, err)
			continue
		}
		if s.cfg.OnCommit != nil {
			s.cfg.OnCommit(changes[i])
		}
	}
	return errs
}

func (s *Store) writeOf(c Change) (port.Write, error) {
	t := c.Task
	if t.Damaged != "" {
		return port.Write{}, fmt.Errorf("commit task %q: %w: %s", t.OrderID, core.ErrUnfit, t.Damaged)
	}
	if t.Version < 1 {
		return port.Write{}, fmt.Errorf("commit task %q: version %d; versions begin at 1", t.OrderID,
			t.Version)
	}
	doc, err := EncodeTask(t)
	if err != nil {
		return port.Write{}, fmt.Errorf("commit task %q: %w", t.OrderID, err)
	}
	if len(doc) > s.cfg.Limit {
		return port.Write{}, fmt.Errorf("commit task %q: its document has %d bytes, the limit is %d: %w",
			t.OrderID, len(doc), s.cfg.Limit, port.ErrTooLarge)
	}
	bucket, at := protocol.Index(t)
	w := port.Write{
		Record: port.Record{
			ID: t.OrderID, Version: t.Version, State: string(t.ProcessState), Workflow: t.Workflow,
			Created: t.Created.Std(), Bucket: port.Bucket(bucket), IndexAt: at.Std(), Document: doc,
		},
		Expected: t.Version - 1,
		Hash:     t.ContentHash,
		Apart:    t.Apart(),
	}
	if c.Hash != "" {
		w.Hash = c.Hash
	} else if t.Version == 1 || s.cfg.Tombstones && w.Record.Bucket == port.NoBucket {
		w.Hash = HashOf(t)
	}
	if w.Apart && t.Version == 1 {
		w.Content = c.Order
	}
	return w, nil
}

// ErrDefinition means that a stored definition does not match its hash.
var ErrDefinition = errors.New("the stored definition is damaged")

// Definition returns the definition of a workflow that a task pins. It returns nil for the empty hash, which a
// task has if a Cancel came before its order. If the stored definition is lost or damaged, Definition stores and
// returns the deployed one, provided that it has the same hash. Otherwise it returns port.ErrNotFound if the
// definition is not stored, and ErrDefinition if it cannot be read.
func (s *Store) Definition(ctx context.Context, workflow, hash string) (*core.Definition, error) {
	if hash == "" {
		return nil, nil
	}
	s.mu.RLock()
	def := s.byHash[hash]
	s.mu.RUnlock()
	if def != nil {
		return def, nil
	}
	def, err := s.stored(ctx, hash)
	if errors.Is(err, port.ErrNotFound) || errors.Is(err, ErrDefinition) {
		deployed := named(s.deployed(core.FileOf(workflow)), workflow)
		if deployed != nil && deployed.Hash == hash {
			_ = s.keep(ctx, deployed) // the Supervisor may not store it; then the Scheduler does
			return deployed, nil
		}
	}
	return def, err
}

func (s *Store) deployed(workflow string) *core.Definition {
	if s.cfg.Current == nil {
		return nil
	}
	return s.cfg.Current(workflow)
}

// named returns the definition of a file, or that of a block in it (P55, a block is a child order of the same file). It
// returns nil if the file has no such definition.
func named(file *core.Definition, workflow string) *core.Definition {
	if file == nil || !core.IsBlock(workflow) {
		return file
	}
	for _, d := range file.WithBlocks() {
		if d.Name == workflow {
			return d
		}
	}
	return nil
}

func (s *Store) stored(ctx context.Context, hash string) (*core.Definition, error) {
	data, err := s.cfg.Definitions.Definition(ctx, hash)
	if err != nil {
		return nil, fmt.Errorf("load definition %s: %w", hash, err)
	}
	def, err := s.cfg.Compile(hash, data)
	if err != nil {
		// Bytes that match the hash are whole. Another version of the program can read them.
		if core.DefinitionHash(data) != hash {
			err = fmt.Errorf("%w: %w", ErrDefinition, err)
		}
		return nil, fmt.Errorf("load definition %s: %w", hash, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.byHash[hash] = def
	return def, nil
}

// Current returns the definition for a new order. It stores the definition first, so that every pinned
// definition is stored. The error is a *core.Refusal if there is no such workflow, or none that can be used.
func (s *Store) Current(ctx context.Context, workflow string) (*core.Definition, error) {
	def := s.deployed(workflow)
	if def == nil {
		return nil, s.unknown(workflow)
	}
	return def, s.keep(ctx, def)
}

func (s *Store) unknown(workflow string) *core.Refusal {
	r := &core.Refusal{Code: message.CodeUnknownWorkflow, Field: "workflow"}
	if s.cfg.Broken != nil {
		if problem := s.cfg.Broken(workflow); problem != "" {
			r.Code = message.CodeBrokenWorkflow
			r.Text = fmt.Sprintf("the workflow %q is there, and its file cannot be used: %s; fix the file, then try again",
				workflow, problem)
			return r
		}
	}
	meant := ""
	if s.cfg.Similar != nil {
		if name := s.cfg.Similar(workflow); name != "" {
			meant = "did you mean " + name + "? "
		}
	}
	r.Text = fmt.Sprintf("no workflow %q is deployed; %scheck the name, or deploy it first", workflow, meant)
	return r
}

// keep stores a definition, after the definitions of its child workflows.
func (s *Store) keep(ctx context.Context, def *core.Definition) error {
	s.mu.RLock()
	stored := s.put[def.Hash]
	s.mu.RUnlock()
	if stored {
		return nil
	}
	for i := range def.Steps {
		if e := def.Steps[i].Each; e != nil && e.Child != nil {
			if err := s.keep(ctx, e.Child); err != nil {
				return err
			}
		}
	}
	data, err := s.cfg.Encode(def)
	if err == nil {
		err = s.cfg.Definitions.PutDefinition(ctx, def.Hash, data)
	}
	if err != nil {
		return fmt.Errorf("store definition %s of workflow %q: %w", def.Hash, def.Name, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.put[def.Hash] = true
	s.byHash[def.Hash] = def
	return nil
}

// Target returns the definition to which a task is moved (P49, move pins another definition):
//   - If hash is message.Latest, Target returns the definition that new orders of the workflow get. It stores the
//     definition first, so that every pinned definition is stored.
//   - Otherwise Target returns the stored definition with the given hash.
//
// If no such definition can be used, Target.Absent states the reason.
func (s *Store) Target(ctx context.Context, workflow, hash string) (core.Target, error) {
	if hash != message.Latest {
		def, err := s.Definition(ctx, workflow, hash)
		if errors.Is(err, port.ErrNotFound) || err == nil && def == nil {
			return core.Target{Absent: fmt.Sprintf(
				"no definition with the hash %q is stored; take the hash of one that orders have run, or "+
					"the latest", hash)}, nil
		}
		if errors.Is(err, ErrDefinition) {
			return core.Target{Absent: err.Error()}, nil
		}
		return core.Target{Definition: def}, err
	}
	// No order can be submitted to a block, but the order of a block can be moved (P55).
	def, err := s.Current(ctx, core.FileOf(workflow))
	if err == nil {
		def = named(def, workflow)
	}
	if err == nil && def == nil {
		err = s.unknown(workflow)
	}
	if refused, ok := errors.AsType[*core.Refusal](err); ok {
		return core.Target{Absent: refused.Text}, nil
	}
	return core.Target{Definition: def}, err
}
