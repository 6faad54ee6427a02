package world

import (
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// NewerBody is a message with a newer schema, which no process can read.
const NewerBody = `{"schema":9,"task":"o1","run":0,"step":"x","attempt":1,"operation":"do","outcome":"done","waited":0}`

// Queue is a simulated queue. It delivers each message at least once, in any order.
type Queue struct {
	W         *Simulation
	Name      string
	Messages  []*Letter // messages in the order in which they were sent
	Consumers []*Process
	Next      int
	Turn      int
	Batch     int
	Dead      []*Letter
	PollAt    int64 // time of the scheduled poll; -1 if no poll is scheduled
	Stopped   int64 // time before which no consumer receives messages
}

// Letter is one message in a queue, with its delivery state.
type Letter struct {
	Id       int
	Message  port.Message
	Sent     int64
	Visible  int64
	Received int
}

// receipt names the last delivery of the message.
func (l *Letter) receipt() string { return strconv.Itoa(l.Id) + "/" + strconv.Itoa(l.Received) }

// Find returns the index of the message with the receipt, or -1 if the receipt is no longer valid.
func (q *Queue) Find(receipt string) int {
	return slices.IndexFunc(q.Messages, func(l *Letter) bool { return l.receipt() == receipt })
}

// Delivery returns a message in the form that a consumer gets.
func (q *Queue) Delivery(l *Letter) port.Delivery {
	return port.Delivery{
		Message: l.Message, ID: strconv.Itoa(l.Id), Receipt: l.receipt(), Received: l.Received,
		SentAt: time.UnixMilli(q.W.Start + l.Sent).UTC(),
	}
}
