package sqlite

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/queueset"
)

// QueueConfig configures one queue.
type QueueConfig struct {
	Name      string
	Retention time.Duration // age at which a message expires; 0 means never
}

// Queues implements port.Queues. The messages survive the process. A Queues is safe for concurrent use.
type Queues struct{ queueset.Set[*Queue] }

func (s *Store) makeQueues(o Options) error {
	s.queues = &Queues{}
	for _, c := range o.Queues {
		q := &Queue{store: s, clock: o.Clock, config: c, changed: make(chan struct{})}
		if err := s.queues.Add(c.Name, c.Retention, q); err != nil {
			return err
		}
	}
	return s.queues.AllowReplyTo(o.ReplyTo...)
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// checksum returns the checksum that is stored with the body of a message, or with another value. SQLite itself does
// not notice a changed bit in a value.
func checksum(body []byte) []byte {
	return binary.BigEndian.AppendUint32(nil, crc32.Checksum(body, castagnoli))
}

// changed reports whether the file was changed after the document was stored.
func changed(document, sum []byte) bool { return !bytes.Equal(sum, checksum(document)) }

// put adds a message to a queue.
func (tx *transaction) put(queue string, visible, sent time.Time, body []byte) error {
	_, err := tx.exec("INSERT INTO messages(queue, visible_at, received, sent_at, body, sum) VALUES(?,?,0,?,?,?)",
		queue, visible.UnixNano(), sent.UnixNano(), body, checksum(body))
	return err
}

const changedMessage = "the database file was changed after this message was stored: its body does not match " +
	"its checksum; do not redrive it, read the order instead, and check the disk"

// setAside moves a damaged message to the quarantine.
func (q *Queue) setAside(tx *transaction, m storedMessage, now time.Time) error {
	s := q.store
	name := q.config.Name
	body, err := message.Quarantine(name, m.Delivery, changedMessage, core.TimeOf(now)).Encode()
	if err != nil {
		return err
	}
	if _, err := tx.exec("DELETE FROM messages WHERE row=?", m.row); err != nil {
		return err
	}
	if err := tx.put(port.Quarantine, now, now, body); err != nil {
		return err
	}
	tx.stored = append(tx.stored, func() {
		s.log.Error("damaged message put into quarantine", "queue", name, "messageId", m.ID,
			"reason", changedMessage)
		s.setAside.add(name, m.ID)
		if q, err := s.queues.Queue(port.Quarantine); err == nil {
			q.(*Queue).announce()
		}
	})
	return nil
}

// setAside counts the damaged messages that this process has moved to the quarantine.
type setAside struct {
	mu   sync.Mutex
	n    int
	last string
}

func (a *setAside) add(queue, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.n++
	a.last = fmt.Sprintf("message %s of queue %s", id, queue)
}

// DamagedMessages describes the damaged messages that were moved to the quarantine since Open, for Health. It
// is empty if there were none.
func (s *Store) DamagedMessages() string {
	s.setAside.mu.Lock()
	defer s.setAside.mu.Unlock()
	if s.setAside.n == 0 {
		return ""
	}
	return fmt.Sprintf("%d damaged messages are in the queue %s since the start, the last was %s: the "+
		"database file was changed; check the disk, and read the orders instead", s.setAside.n,
		port.Quarantine, s.setAside.last)
}
