package embedded

import (
	"fmt"
	"math/rand/v2"
	"sort"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// maxReceives is large: with the growing wait between two deliveries (port.Delivery.Backoff) a message
	// survives a quarter of an hour with a full disk. The Supervisor rebuilds messages that are lost later
	// from the documents (P9, tasks not at rest are due).
	maxReceives = 40
	retention   = 4 * 24 * time.Hour
	keptLonger  = 14 * 24 * time.Hour // retention of statuses, quarantine and dead letters
)

// queues joins the queues in memory, which a restart rebuilds (P27, the embedded runtime survives its
// queues), and the durable ones, whose messages cannot be rebuilt: status queues, quarantine, dead letters.
type queues struct {
	memory  *memory.Queues
	disk    *sqlite.Queues
	outside map[string]*attended // queues of the agents that run outside, by agent
}

// Status returns the name of the queue for the statuses of orders with that reply-to.
func Status(replyTo string) string { return "status-" + replyTo }

// inMemory returns the names of the queues whose messages a restart rebuilds.
func inMemory(agents []*agent) []string {
	names := []string{port.Replies, port.Control, port.Tasks}
	for _, a := range agents {
		names = append(names, port.Requests(a.name))
	}
	return names
}

// durableQueues returns the queues of the store, and the names that an order may use.
func durableQueues(agents []*agent, replyTo []string) (all []sqlite.QueueConfig, statuses []string) {
	all = []sqlite.QueueConfig{{Name: port.Quarantine, Retention: keptLonger}}
	for _, name := range inMemory(agents) {
		all = append(all, sqlite.QueueConfig{Name: port.Dead(name), Retention: keptLonger})
	}
	for _, name := range replyTo {
		all = append(all, sqlite.QueueConfig{Name: Status(name), Retention: retention})
		statuses = append(statuses, Status(name))
	}
	return all, statuses
}

// newQueues returns the queues. The numbers of messages in memory start at a random value, so that no receipt
// from before a restart is valid.
func newQueues(disk *sqlite.Queues, clock port.Clock, agents []*agent) (*queues, error) {
	first := rand.Uint64() >> 1 //nolint:gosec // random, to differ from earlier starts
	var configs []memory.QueueConfig
	for _, name := range inMemory(agents) {
		dead, _ := disk.Queue(port.Dead(name)) // one of durableQueues
		configs = append(configs, memory.QueueConfig{
			Name: name, MaxReceives: maxReceives, DeadLetterTo: dead, Retention: retention, First: first,
		})
	}
	q := &queues{disk: disk, outside: map[string]*attended{}}
	var err error
	if q.memory, err = memory.NewQueues(clock, configs); err != nil {
		return nil, fmt.Errorf("queues: %w", err)
	}
	for _, a := range agents {
		if a.operations != nil {
			continue
		}
		requests, _ := q.memory.Queue(port.Requests(a.name)) // one of the queues above
		q.outside[a.name] = &attended{Queue: requests, clock: clock, last: clock.Now()}
	}
	return q, nil
}

// Queue finds a queue by its name.
func (q *queues) Queue(name string) (port.Queue, error) {
	if agent, ok := strings.CutPrefix(name, port.Requests("")); ok && q.outside[agent] != nil {
		return q.outside[agent], nil
	}
	if m, err := q.memory.Queue(name); err == nil {
		return m, nil
	}
	return q.disk.Queue(name)
}

// ours returns a queue that every stack has.
func (q *queues) ours(name string) port.Queue {
	found, err := q.Queue(name)
	if err != nil {
		panic("embedded: " + err.Error())
	}
	return found
}

// ReplyTo resolves the logical name in an order.
func (q *queues) ReplyTo(name string) (port.Sender, error) { return q.disk.ReplyTo(Status(name)) }

func (q *queues) names() []string {
	all := append(q.memory.QueueNames(), q.disk.QueueNames()...)
	sort.Strings(all)
	return all
}
