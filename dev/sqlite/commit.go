package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/hashicorp/golang-lru/v2/simplelru"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// head contains the columns of a stored task that the committer needs to replace the task.
type head struct {
	row     int64
	state   string
	bucket  port.Bucket
	indexAt int64 // milliseconds since the epoch; not meaningful for a task at rest
}

// heads contains the heads of running tasks by ID, so that a commit does not read them from the database. It includes
// the writes of the transaction that runs, and is emptied if this transaction fails.
type heads = simplelru.LRU[string, *head]

// newHeads returns heads for the given number of tasks. If the number is below 1, it stays empty.
func newHeads(size int) *heads {
	all, _ := simplelru.NewLRU[string, *head](max(size, 1), nil) // cannot fail, because the size is at least 1
	if size < 1 {
		all.Resize(0)
	}
	return all
}

// Commit executes the writes in sequence, in one transaction. Each write has its own condition (P8, every
// commit is conditional).
func (s *Store) Commit(ctx context.Context, writes []port.Write) []error {
	return s.committer.each(ctx, len(writes), func(tx *transaction, i int) (refusal, err error) {
		w := &writes[i]
		refusal = port.CheckWrite(w)
		switch {
		case refusal != nil:
			return refusal, nil
		case w.Expected == 0:
			refusal, err = s.create(tx, w)
		default:
			refusal, err = s.replace(tx, w)
		}
		if err != nil {
			err = fmt.Errorf("task %q: %w", w.Record.ID, err)
		}
		return refusal, err
	})
}

// create adds an order. The error refusal concerns only this write. The error err aborts the transaction.
func (s *Store) create(tx *transaction, w *port.Write) (refusal, err error) {
	r := &w.Record
	bucket, shard, at := s.place(r)
	added, row, err := tx.result("INSERT INTO orders(version, created, index_at, shard, bucket, state, workflow, hash, "+
		"id, document, sum) VALUES(?,?,?,?,?,?,?,?,?,?,?) ON CONFLICT(id) DO NOTHING",
		r.Version, millis(r.Created), at, shard, bucket, r.State, r.Workflow, w.Hash, r.ID, r.Document,
		checksum(r.Document))
	if err != nil {
		return nil, err
	}
	if added == 0 {
		return fmt.Errorf("order %q: %w", r.ID, port.ErrExists), nil
	}
	if w.Apart {
		_, err = tx.exec("INSERT INTO contents(row, content, sum) VALUES(?,?,?)", row, w.Content, checksum(w.Content))
	}
	if err != nil {
		return nil, err
	}
	tx.keep(row, r)
	return nil, nil
}

// replace changes a task that has the expected version. If the write has the same version, replace changes only the
// place in the due index.
func (s *Store) replace(tx *transaction, w *port.Write) (refusal, err error) {
	r := &w.Record
	h, err := tx.head(r.ID)
	if err != nil {
		return nil, err
	}
	if h == nil {
		return fmt.Errorf("task %q: %w", r.ID, port.ErrNotFound), nil
	}
	text := "UPDATE orders SET version=?"
	args := []any{r.Version}
	if r.Version == w.Expected {
		r.State = h.state
	} else {
		text += ", document=?, sum=?"
		args = append(args, r.Document, checksum(r.Document))
	}
	// Columns with an index are set only if they change, because each of them costs time.
	if h.state != r.State {
		text += ", state=?"
		args = append(args, r.State)
	}
	// Each commit of a task at rest also sets index_at, because Keep counts from the last commit.
	if h.bucket != r.Bucket || r.Bucket == port.NoBucket || h.indexAt != millis(r.IndexAt) {
		bucket, shard, at := s.place(r)
		text += ", index_at=?, shard=?, bucket=?"
		args = append(args, at, shard, bucket)
	}
	n, err := tx.exec(text+" WHERE row=? AND version=?", append(args, h.row, w.Expected)...)
	if err != nil {
		return nil, err
	}
	if n != 1 {
		return fmt.Errorf("task %q is not at version %d: %w", r.ID, w.Expected, port.ErrConflict), nil
	}
	tx.keep(h.row, r)
	return nil, nil
}

// keep keeps the head of a running task. A task at rest seldom changes.
func (tx *transaction) keep(row int64, r *port.Record) {
	if r.Bucket == port.NoBucket {
		tx.heads.Remove(r.ID)
		return
	}
	tx.heads.Add(r.ID, &head{row, r.State, r.Bucket, millis(r.IndexAt)})
}

// head returns the head of a task. It is nil if there is no task.
func (tx *transaction) head(id string) (*head, error) {
	if h, known := tx.heads.Get(id); known {
		return h, nil
	}
	v, err := tx.first("SELECT row, state, bucket, index_at FROM orders WHERE id=? AND created IS NOT NULL",
		id)
	if err != nil || v == nil {
		return nil, err
	}
	h := &head{row: v[0].(int64), state: v[1].(string)}
	if v[2] != nil {
		h.bucket = port.Bucket(v[2].(string))
		h.indexAt = v[3].(int64)
	}
	return h, nil
}

// place returns the columns of the due index for a record. For a task at rest, bucket and shard are nil, and
// the result at is the present time.
func (s *Store) place(r *port.Record) (bucket, shard, at any) {
	if r.Bucket == port.NoBucket {
		return nil, nil, millis(s.clock.Now())
	}
	return string(r.Bucket), port.ShardOf(r.ID, shards), millis(r.IndexAt)
}

// Place moves the record to another place in the due index.
func (s *Store) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	w := &port.Write{Record: port.Record{ID: id, Version: version, Bucket: bucket, IndexAt: at}, Expected: version}
	return s.committer.each(ctx, 1, func(tx *transaction, _ int) (refusal, err error) { return s.replace(tx, w) })[0]
}

// Forget removes records and keeps their IDs, as Expire does (P26, an ID never runs twice). It ignores
// unknown IDs.
func (s *Store) Forget(ctx context.Context, ids []string) error {
	return s.committer.do(ctx, func(tx *transaction) error {
		for _, id := range ids {
			h, err := tx.head(id)
			if err == nil && h != nil {
				err = tx.expire(h.row, id)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// expire removes the record and the content of an order. The row stays, with the ID and the hash (P26).
func (tx *transaction) expire(row int64, id string) error {
	for _, text := range []string{
		"UPDATE orders SET created=NULL, shard=NULL, bucket=NULL, document=NULL, sum=NULL WHERE row=?",
		"DELETE FROM contents WHERE row=?",
	} {
		if _, err := tx.exec(text, row); err != nil {
			return err
		}
	}
	tx.heads.Remove(id)
	return nil
}

// millis returns a time as the database stores it: in milliseconds since the epoch. The zero time becomes 0.
func millis(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMillis(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}
