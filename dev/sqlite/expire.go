package sqlite

import (
	"context"
	"database/sql/driver"
	"time"
)

// MinKeep is the shortest time for which tasks at rest can be kept. It is longer than any queue, ours or SQS,
// keeps a message, so that no request of an expired task can still arrive (P26, an ID never runs twice).
const MinKeep = 18 * 24 * time.Hour

// Limits of one transaction, so that no other write waits long for it.
const (
	expiresTasks    = 50
	expiresMessages = 250
)

// strayRetention is the retention of messages in queues that this process does not have.
const strayRetention = 14 * 24 * time.Hour

// restedTasks finds tasks that were at rest at a given time, in the order of their creation. It skips the few
// others.
const restedTasks = "SELECT row, id FROM orders WHERE created<=?1 AND bucket IS NULL AND index_at<=?1 " +
	"ORDER BY created LIMIT ?2"

// Expired is the result of one call of Expire.
type Expired struct {
	Tasks    []string // IDs
	Messages int
	More     bool // there is more to remove
}

// Expire removes, in one short transaction, messages past the retention of their queues. With Options.Keep it
// also removes tasks that have been at rest for that long, with their entries in the ledger and the contents
// of their orders. The ID and hash of an order stay, so that it never runs again (P26). If Expired.More is
// set, call Expire again after a pause for other writers.
func (s *Store) Expire(ctx context.Context) (Expired, error) {
	o := &expire{store: s, now: s.clock.Now()}
	// If the context ended, the operation may still be running.
	if err := s.committer.do(ctx, o.apply); err != nil {
		return Expired{}, err
	}
	return o.Expired, nil
}

type expire struct {
	store *Store
	now   time.Time
	Expired
}

func (o *expire) apply(tx *transaction) error {
	o.Expired = Expired{}
	if err := o.messages(tx); err != nil {
		return err
	}
	if o.store.keep == 0 {
		return nil
	}
	return o.tasks(tx)
}

// messages visits the queues that hold messages, including those of earlier processes.
func (o *expire) messages(tx *transaction) error {
	for last := ""; o.Messages < expiresMessages; {
		v, err := tx.nextQueue.first(last)
		if err != nil || v == nil {
			return err
		}
		last = v[0].(string)
		retention := strayRetention
		if q, err := o.store.queues.Queue(last); err == nil {
			retention = q.(*Queue).config.Retention
		}
		n, err := tx.expireOld(last, retention, o.now, expiresMessages-o.Messages)
		if err != nil {
			return err
		}
		o.Messages += n
	}
	o.More = true
	return nil
}

// expireOld removes at most limit messages of a queue that are past its retention.
func (tx *transaction) expireOld(queue string, retention time.Duration, now time.Time,
	limit int) (int, error) {
	if retention == 0 {
		return 0, nil
	}
	n, err := tx.expireMessages.exec(queue, now.Add(-retention).UnixNano(), limit)
	return int(n), err
}

func (o *expire) tasks(tx *transaction) error {
	var rows []int64
	err := tx.restedTasks.each(func(v []driver.Value) {
		rows, o.Tasks = append(rows, v[0].(int64)), append(o.Tasks, v[1].(string))
	}, millis(o.now.Add(-o.store.keep)), expiresTasks)
	if err != nil {
		return err
	}
	o.More = o.More || len(rows) == expiresTasks
	for i, id := range o.Tasks {
		if err := tx.expire(rows[i], id); err != nil {
			return err
		}
		first, last := ledgerKeys(id)
		if _, err := tx.expireLedger.exec(first, last); err != nil {
			return err
		}
	}
	return nil
}

// ledgerKeys returns the bounds of an order's entries in the ledger. The keys of its requests are ID/run/step
// (P2, attempts of a run share a key), and "0" follows "/".
func ledgerKeys(id string) (first, last string) { return id + "/", id + "0" }

// Erase removes the content of an order that is stored apart, and the outputs and messages in its entries in
// the ledger.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	return s.committer.do(ctx, func(tx *transaction) error {
		if _, err := tx.eraseContent.exec(id, hash); err != nil {
			return err
		}
		first, last := ledgerKeys(id)
		_, err := tx.eraseLedger.exec(first, last)
		return err
	})
}
