package world

import (
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// NewerBody is a message of a newer version of the program, which no process runs.
const NewerBody = `{"schema":9,"task":"o1","run":0,"step":"x","attempt":1,"operation":"do","outcome":"done","waited":0}`

// Queue is a simulated queue: at least once, in any order.
type Queue struct {
	W         *Simulation
	Name      string
	Messages  []*Letter // messages in the order in which they were sent
	Consumers []*Process
	Next      int
	Turn      int
	Batch     int
	Dead      []*Letter
	PollAt    int64 // time of the planned poll; -1 if none is planned
	Stopped   int64 // nothing is received before this time, although messages are visible
}

// Letter is a message in a queue.
type Letter struct {
	Id       int
	Message  port.Message
	Sent     int64
	Visible  int64
	Received int
	Receipt  int
	Late     bool // invisible until an exploration releases it
	Copied   bool // one of two equal letters of an exploration
}

// Delivery returns a letter in the form that its receiver gets.
func (q *Queue) Delivery(l *Letter) port.Delivery {
	return port.Delivery{
		Message: l.Message, ID: strconv.Itoa(l.Id), Receipt: strconv.Itoa(l.Id) + "/" +
			strconv.Itoa(l.Receipt),
		Received: l.Received, SentAt: time.UnixMilli(q.W.Start + l.Sent).UTC(),
	}
}
