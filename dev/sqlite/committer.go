package sqlite

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// operation executes writes in a transaction, and stores its results in variables of the caller. An error
// aborts the transaction. If the operation refuses only its own write, it stores the refusal as a result and
// returns nil.
//
// If another operation aborts the transaction, the committer runs the operation again. Only the results of
// the last run count.
type operation func(tx *transaction) error

// transaction is the state that the operations of a group share.
type transaction struct {
	*writer
	heads  *heads
	stored []func() // called after the commit is on the disk, and before the callers return
}

// maxGroup limits the number of operations in a transaction. It therefore limits the time that an operation
// waits for other operations.
const maxGroup = 1024

// committer executes operations in groups. Each group is one transaction. A caller that finds the committer idle
// executes the first group itself, because each switch of goroutines takes time. The operations that come meanwhile
// are the next groups, which a goroutine executes.
type committer struct {
	store    *Store
	reported func(writes int, took time.Duration) // called after each commit; nil means no call
	writable chan struct{}                        // closed when the fields refused, writer and sequence are set
	refused  error                                // the file cannot be written, or is damaged
	writer   *writer
	sequence sequence
	heads    *heads
	spare    []*job // empty, for the next group

	mu      sync.Mutex
	idle    sync.Cond // signalled when a closed committer is not busy any more
	pending []*job
	several bool // the last group had several operations, so others probably come now
	busy    bool // true while groups are executed; operations wait only then
	closed  bool
}

type job struct {
	operation operation
	err       error
	answered  chan struct{}
}

// stop returns after all waiting operations.
func (c *committer) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	c.idle.L = &c.mu
	for c.busy {
		c.idle.Wait()
	}
}

// stopped reports whether stop was called. It is false for nil.
func (c *committer) stopped() bool {
	if c == nil {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// do executes the operation with the next group, and blocks until it has run. If ctx ends before the operation begins,
// the operation does not run. The error means:
//
//   - nil: the writes are on the disk.
//   - port.ErrUnavailable, or the error of ctx: none of the writes is stored.
//   - any other error: the writes may be stored or not.
func (c *committer) do(ctx context.Context, o operation) error {
	if err := c.opened(ctx); err != nil {
		return err
	}
	j := &job{operation: o, answered: make(chan struct{})}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return errClosed
	}
	c.pending = append(c.pending, j)
	first := !c.busy
	c.busy = true
	c.mu.Unlock()
	if first && c.executeGroup() {
		go port.Always(context.WithoutCancel(ctx), nil, "the committer", c.executeAll)
	}
	select {
	case <-j.answered:
	case <-ctx.Done():
		if c.withdraw(j) {
			return ctx.Err()
		}
		<-j.answered
	}
	return j.err
}

// each executes a part of an operation for each of n entries. An error refusal concerns only its entry. An error err
// aborts the transaction, and is the error of each entry.
func (c *committer) each(ctx context.Context, n int, part func(tx *transaction, i int) (refusal, err error)) []error {
	errs := make([]error, n)
	err := c.do(ctx, func(tx *transaction) (err error) {
		for i := range errs {
			errs[i], err = part(tx, i)
			if err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return slices.Repeat([]error{err}, n)
	}
	return errs
}

// opened waits until the file is open for writing.
func (c *committer) opened(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case <-c.writable:
		return c.refused
	case <-ctx.Done():
		return ctx.Err()
	}
}

// withdraw removes a job that has not begun. It returns false if the job has begun.
func (c *committer) withdraw(j *job) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	i := slices.Index(c.pending, j)
	if i < 0 {
		return false
	}
	c.pending = slices.Delete(c.pending, i, i+1)
	return true
}

// executeAll executes groups until no operation waits.
func (c *committer) executeAll() {
	for c.executeGroup() {
		continue
	}
}

// executeGroup executes the waiting operations. It reports whether others wait now. Then the caller must execute the
// next group.
func (c *committer) executeGroup() (more bool) {
	c.mu.Lock()
	if c.several || len(c.pending) > 1 {
		c.gather()
	}
	group := c.pending
	c.several = len(group) > 1
	c.pending = c.spare
	c.mu.Unlock()
	for first := 0; first < len(group); first += maxGroup {
		c.carryOut(group[first:min(first+maxGroup, len(group))])
	}
	clear(group)
	c.spare = group[:0]
	c.mu.Lock()
	defer c.mu.Unlock()
	c.busy = len(c.pending) > 0
	if c.closed && !c.busy {
		c.idle.Signal()
	}
	return c.busy
}

// gather lets other goroutines run until they add no more operations. A larger group costs less time for each
// write. The caller holds the lock. gather unlocks it while other goroutines run.
func (c *committer) gather() {
	for waiting := 0; waiting < len(c.pending); {
		waiting = len(c.pending)
		c.mu.Unlock()
		runtime.Gosched()
		c.mu.Lock()
	}
}

// carryOut commits a group and returns the results. If the commit fails, carryOut commits each operation
// alone. An operation that panics, or that SQLite refuses, then does not affect the other operations.
func (c *committer) carryOut(group []*job) {
	err := port.Guard(nil, "a commit", func() error { return c.transact(group) })
	if err != nil && len(group) > 1 {
		for i := range group {
			c.carryOut(group[i : i+1])
		}
		return
	}
	for _, j := range group {
		j.err = err
		close(j.answered)
	}
}

// transact commits a group. After a panic of SQLite, the group may be stored or not.
func (c *committer) transact(group []*job) error {
	tx := &transaction{writer: c.writer, heads: c.heads}
	began := time.Now()
	if err := c.store.present(); err != nil {
		return c.store.unavailable(err)
	}
	if _, err := tx.exec("BEGIN IMMEDIATE"); err != nil {
		return c.store.unavailable(err)
	}
	committed := false
	defer func() {
		if !committed {
			_, _ = tx.exec("ROLLBACK") // SQLite may have rolled back already
			c.heads.Purge()
		}
	}()
	err := port.Guard(nil, "a write", func() error { return c.write(tx, group) })
	changed := tx.changed
	if err == nil {
		_, err = tx.exec("COMMIT")
	}
	if err != nil {
		return c.store.unavailable(err)
	}
	committed = true
	if changed {
		c.sequence.last++
		c.sequence.answered()
	}
	if err := c.store.present(); err != nil { // the commit may be in a removed file
		c.heads.Purge()
		return c.store.explained(err)
	}
	_ = port.Guard(nil, "a commit's report", func() error { c.report(tx, len(group), time.Since(began)); return nil })
	return nil
}

// write executes the operations. It counts the commit if they have changed a row.
func (c *committer) write(tx *transaction, group []*job) error {
	tx.changed = false
	for _, j := range group {
		if err := j.operation(tx); err != nil {
			return err
		}
	}
	if !tx.changed {
		return nil
	}
	_, err := tx.exec("UPDATE settings SET value=? WHERE name='commits'", c.sequence.last+1)
	return err
}

// report calls the functions that wait for the commit.
func (c *committer) report(tx *transaction, writes int, took time.Duration) {
	for _, stored := range tx.stored {
		stored()
	}
	if c.reported != nil {
		c.reported(writes, took)
	}
}
