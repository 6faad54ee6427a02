package sqlite

import (
	"context"
	"database/sql/driver"
	"time"
)

// MinKeep is the shortest allowed Options.Keep. It is longer than the retention of any queue of Stepkeeper or
// SQS. Therefore no request of an expired task can still arrive (P26, an ID never runs twice).
const MinKeep = 18 * 24 * time.Hour

// Limits of one transaction, so that other writes do not wait long.
const (
	expiresTasks    = 50
	expiresMessages = 250
)

// strayRetention is the retention of messages whose queue is not in the configuration of this process.
const strayRetention = 14 * 24 * time.Hour

// restedTasks selects tasks that came to rest before a given time, in the sequence of their creation. SQLite
// skips the few older tasks that still run or came to rest later.
const restedTasks = "SELECT row, id FROM orders WHERE created<=?1 AND bucket IS NULL AND index_at<=?1 " +
	"ORDER BY created LIMIT 0+?2"

// Expired is the result of a call of Expire.
type Expired struct {
	Tasks    []string // order IDs
	Messages int
	More     bool // true if more records or messages can be removed
}

// Expire removes expired messages in one short transaction. If Options.Keep is set, Expire also removes tasks
// that have been at rest for this time, with their ledger entries and contents. The ID and the hash of an
// order stay, so that the order never runs again (P26).
//
// If Expired.More is true, the caller should call Expire again, after a pause for other writers.
func (s *Store) Expire(ctx context.Context) (x Expired, err error) {
	now := s.clock.Now()
	err = s.committer.do(ctx, func(tx *transaction) error {
		x = Expired{}
		if err := s.expireMessages(tx, now, &x); err != nil || s.keep == 0 {
			return err
		}
		return s.expireTasks(tx, now, &x)
	})
	if err != nil {
		return Expired{}, err
	}
	return x, nil
}

// expireMessages removes expired messages from all queues. These include queues that only previous processes had.
func (s *Store) expireMessages(tx *transaction, now time.Time, x *Expired) error {
	for last := ""; x.Messages < expiresMessages; {
		v, err := tx.first("SELECT queue FROM messages WHERE queue>? ORDER BY queue LIMIT 1", last)
		if err != nil || v == nil {
			return err
		}
		last = v[0].(string)
		retention := strayRetention
		if q, err := s.queues.Queue(last); err == nil {
			retention = q.(*Queue).config.Retention
		}
		n, err := tx.expireOld(last, retention, now, expiresMessages-x.Messages)
		if err != nil {
			return err
		}
		x.Messages += n
	}
	x.More = true
	return nil
}

func (tx *transaction) expireOld(queue string, retention time.Duration, now time.Time,
	limit int,
) (int, error) {
	if retention == 0 {
		return 0, nil
	}
	n, err := tx.exec("DELETE FROM messages WHERE row IN (SELECT row FROM messages WHERE queue=? AND sent_at<=? "+
		"LIMIT 0+?)", queue, now.Add(-retention).UnixNano(), limit)
	return int(n), err
}

func (s *Store) expireTasks(tx *transaction, now time.Time, x *Expired) error {
	var rows []int64
	err := tx.each(func(v []driver.Value) bool {
		rows = append(rows, v[0].(int64))
		x.Tasks = append(x.Tasks, v[1].(string))
		return true
	}, restedTasks, millis(now.Add(-s.keep)), expiresTasks)
	if err != nil {
		return err
	}
	x.More = x.More || len(rows) == expiresTasks
	for i, id := range x.Tasks {
		if err := tx.expire(rows[i], id); err != nil {
			return err
		}
		first, last := ledgerKeys(id)
		if _, err := tx.exec("DELETE FROM ledger WHERE key>=? AND key<?", first, last); err != nil {
			return err
		}
	}
	return nil
}

// ledgerKeys returns the range of an order's keys in the ledger. A key has the form ID/run/step (P2, attempts
// of a run share a key). The character "0" follows "/" in ASCII.
func ledgerKeys(id string) (first, last string) { return id + "/", id + "0" }

// Erase removes the content of an order. It also removes the outputs and messages from the order's ledger
// entries.
func (s *Store) Erase(ctx context.Context, id, hash string) error {
	return s.committer.do(ctx, func(tx *transaction) error {
		_, err := tx.exec("DELETE FROM contents WHERE row=(SELECT row FROM orders WHERE id=? AND hash=?)", id, hash)
		if err != nil {
			return err
		}
		first, last := ledgerKeys(id)
		_, err = tx.exec("UPDATE ledger SET output=NULL, message='', sum=NULL WHERE key>=? AND key<?", first, last)
		return err
	})
}
