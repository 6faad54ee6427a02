package sqlite

import (
	"cmp"
	"context"
	"database/sql/driver"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// Queue implements port.Queue. Its messages survive the process. It encodes the Value of a message. Receive
// accepts any max, and the other methods accept batches of any length. A Queue is safe for concurrent use.
type Queue struct {
	store  *Store
	clock  port.Timer
	config QueueConfig

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a message may have become visible
}

// Name returns the logical name of the queue.
func (q *Queue) Name() string { return q.config.Name }

func (q *Queue) change() <-chan struct{} {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.changed
}

func (q *Queue) announce() {
	q.mu.Lock()
	defer q.mu.Unlock()
	close(q.changed)
	q.changed = make(chan struct{})
}

// Send stores the messages. The error is port.ErrTooLarge for a message whose body is too large.
func (q *Queue) Send(ctx context.Context, messages []port.Message) []error {
	now := q.clock.Now()
	kept := make([]port.Message, len(messages))
	refused := make([]error, len(messages))
	for i := range messages {
		body, err := messages[i].Bytes()
		kept[i] = port.Message{Body: body, Delay: messages[i].Delay}
		if err == nil {
			err = port.CheckMessage(&kept[i])
		}
		if err != nil {
			refused[i] = fmt.Errorf("queue %q: %w", q.config.Name, err)
		}
	}
	return q.store.committer.each(ctx, len(messages), func(tx *transaction, i int) (refusal, err error) {
		if refused[i] != nil {
			return refused[i], nil
		}
		tx.stored = append(tx.stored, q.announce)
		return nil, tx.put(q.config.Name, now.Add(kept[i].Delay), now, kept[i].Body)
	})
}

// Receive returns at most max messages. If no message is visible, Receive waits for a message, for at most
// the duration wait. If ctx ends before that, Receive returns the error of ctx. Receive commits only if a
// message is visible.
func (q *Queue) Receive(ctx context.Context, max int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	if err := port.CheckReceive(max, wait, visibility); err != nil {
		return nil, fmt.Errorf("queue %q: %w", q.config.Name, err)
	}
	until := q.clock.Now().Add(wait)
	for {
		changed := q.change()
		now := q.clock.Now()
		next, err := q.next(ctx)
		if err != nil {
			return nil, err
		}
		if !next.IsZero() && !next.After(now) {
			var deliveries []port.Delivery
			var more bool
			err := q.store.committer.do(ctx, func(tx *transaction) (err error) {
				deliveries, more, err = q.take(tx, now, max, visibility)
				return err
			})
			if err != nil || len(deliveries) > 0 {
				return deliveries, err
			}
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if more || now.Before(until) {
				continue // the messages have expired, or another receiver has taken them
			}
		}
		if !now.Before(until) {
			return nil, nil
		}
		if next.IsZero() || next.After(until) {
			next = until
		}
		if err := q.pause(ctx, changed, next); err != nil {
			return nil, err
		}
	}
}

// next returns the time when the first message becomes visible, or the zero time if the queue is empty.
func (q *Queue) next(ctx context.Context) (time.Time, error) {
	var at int64
	found, err := q.store.first(ctx, []any{&at},
		"SELECT visible_at FROM messages WHERE queue=? ORDER BY visible_at LIMIT 1", q.config.Name)
	if err != nil {
		return time.Time{}, fmt.Errorf("queue %q: %w", q.config.Name, err)
	}
	if !found {
		return time.Time{}, nil
	}
	return time.Unix(0, at), nil
}

func (q *Queue) pause(ctx context.Context, changed <-chan struct{}, until time.Time) error {
	over := make(chan struct{})
	stop := q.clock.At(until, sync.OnceFunc(func() { close(over) }))
	defer stop()
	select {
	case <-changed:
	case <-over:
	case <-ctx.Done():
		return ctx.Err()
	}
	return nil
}

// take receives visible messages. The result more is true if take removed messages instead of receiving, so that more
// may follow.
func (q *Queue) take(tx *transaction, now time.Time, most int,
	visibility time.Duration,
) (deliveries []port.Delivery, more bool, err error) {
	c := &q.config
	expired, err := tx.expireOld(c.Name, c.Retention, now, expiresMessages)
	if err != nil || expired == expiresMessages {
		return nil, true, err
	}
	var all []storedMessage
	err = tx.each(func(v []driver.Value) bool {
		all = append(all, messageOf(v))
		return true
	}, "SELECT row, received, sent_at, body, sum FROM messages WHERE queue=? AND visible_at<=? ORDER BY "+
		"visible_at, row LIMIT 0+?", c.Name, now.UnixNano(), most)
	if err != nil {
		return nil, false, err
	}
	for _, m := range all {
		if m.whole {
			deliveries = append(deliveries, m.Delivery)
			_, err = tx.exec("UPDATE messages SET visible_at=?, received=received+1 WHERE row=?",
				now.Add(visibility).UnixNano(), m.row)
		} else {
			more = true
			err = q.setAside(tx, m, now)
		}
		if err != nil {
			return nil, false, err
		}
	}
	return deliveries, more, nil
}

// storedMessage is a row of the table messages.
type storedMessage struct {
	port.Delivery
	row   int64
	whole bool // false if the file was changed after the row was stored
}

func messageOf(v []driver.Value) storedMessage {
	row := v[0].(int64) // the type of the primary key is certain, whatever the file contains
	received, isCount := v[1].(int64)
	sent, isTime := v[2].(int64)
	body, isBody := v[3].([]byte)
	sum, isSum := v[4].([]byte)
	id, receipt := queueset.Receipt(row, int(received)+1)
	return storedMessage{
		row: row, whole: isCount && isTime && isBody && (v[4] == nil || isSum && !changed(body, sum)),
		Delivery: port.Delivery{
			Message: port.Message{Body: body}, ID: id, Receipt: receipt, Received: int(received) + 1,
			SentAt: time.Unix(0, sent).UTC(),
		},
	}
}

// Delete deletes delivered messages. A receipt is valid until the message is received again, even after the
// visibility timeout.
func (q *Queue) Delete(ctx context.Context, receipts []string) []error {
	return q.store.committer.each(ctx, len(receipts), func(tx *transaction, i int) (refusal, err error) {
		row, received, ok := queueset.ParseReceipt(receipts[i])
		if !ok {
			return queueset.BadReceipt(q, receipts[i]), nil
		}
		n, err := tx.exec("DELETE FROM messages WHERE row=? AND queue=? AND received=?", row, q.config.Name, received)
		if err != nil || n == 1 {
			return nil, err
		}
		found, err := tx.first("SELECT received FROM messages WHERE row=? AND queue=?", row, q.config.Name)
		if found != nil { // the message was received again
			refusal = queueset.BadReceipt(q, receipts[i])
		}
		return refusal, err
	})
}

// Extend makes delivered messages invisible, each for its duration from now on.
func (q *Queue) Extend(ctx context.Context, extensions []port.Extension) []error {
	now := q.clock.Now()
	return q.store.committer.each(ctx, len(extensions), func(tx *transaction, i int) (refusal, err error) {
		x := extensions[i]
		row, received, done := queueset.ParseReceipt(x.Receipt)
		if err := queueset.CheckExtension(q, x); err != nil || !done {
			return cmp.Or(err, queueset.BadReceipt(q, x.Receipt)), nil
		}
		n, err := tx.exec("UPDATE messages SET visible_at=? WHERE row=? AND queue=? AND received=? AND visible_at>?",
			now.Add(x.For).UnixNano(), row, q.config.Name, received, now.UnixNano())
		if n == 0 {
			refusal = queueset.BadReceipt(q, x.Receipt)
		}
		tx.stored = append(tx.stored, q.announce)
		return refusal, err
	})
}

// Depth counts the messages that have not expired. It reads all messages of the queue, so it is slow for a
// long queue.
func (q *Queue) Depth(ctx context.Context) (port.Depth, error) {
	var d port.Depth
	var oldest int64
	now := q.clock.Now()
	var expired int64
	if q.config.Retention > 0 {
		expired = now.Add(-q.config.Retention).UnixNano()
	}
	_, err := q.store.first(ctx, []any{&d.Visible, &d.InFlight, &d.Delayed, &oldest},
		"SELECT count(*) FILTER (WHERE visible_at<=?1), count(*) FILTER (WHERE visible_at>?1 AND received>0), "+
			"count(*) FILTER (WHERE visible_at>?1 AND received=0), coalesce(min(sent_at) FILTER "+
			"(WHERE visible_at<=?1), 0) FROM messages WHERE queue=?2 AND sent_at>?3",
		now.UnixNano(), q.config.Name, expired)
	if err != nil {
		return port.Depth{}, fmt.Errorf("queue %q: %w", q.config.Name, err)
	}
	if d.Visible > 0 {
		d.Oldest = max(0, now.Sub(time.Unix(0, oldest)))
	}
	return d, nil
}
