package world

import (
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// NewerBody is a message of a version of the program that is not deployed here.
const NewerBody = `{"schema":9,"task":"o1","run":0,"step":"x","attempt":1,"operation":"do","outcome":"done","waited":0}`

// Queue is a simulated queue: at least once, in any order.
type Queue struct {
	W         *Simulation
	Name      string
	Messages  []*Letter // in the order of their sending
	Consumers []*Process
	Next      int
	Turn      int
	Batch     int
	Dead      []*Letter
	PollAt    int64 // of the poll that is planned; -1: none
	Stopped   int64 // nothing is taken before this time, although it is visible
}

// Letter is a message in a queue.
type Letter struct {
	Id       int
	Message  port.Message
	Sent     int64
	Visible  int64
	Received int
	Receipt  int
	Late     bool // of an exploration: it is not there until it is released
	Copied   bool // of an exploration: there is another one like it
}

// Delivery returns a letter as its receiver sees it.
func (q *Queue) Delivery(l *Letter) port.Delivery {
	return port.Delivery{
		Message: l.Message, ID: strconv.Itoa(l.Id), Receipt: strconv.Itoa(l.Id) + "/" +
			strconv.Itoa(l.Receipt),
		Received: l.Received, SentAt: time.UnixMilli(q.W.Start + l.Sent).UTC(),
	}
}
