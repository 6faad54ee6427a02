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
	// maxReceives is large, because the disk may be full for some time. The delay between deliveries grows
	// (port.Delivery.Backoff), so this many deliveries take more than a quarter of an hour. After that the
	// Supervisor sends the message again (P9, tasks not at rest are due).
	maxReceives = 40
	retention   = 4 * 24 * time.Hour
	keptLonger  = 14 * 24 * time.Hour // retention of quarantine and dead letters
)

// queues contains the queues in memory, which a restart rebuilds (P27, the embedded runtime survives its
// queues). It also contains the queues in SQLite: statuses, quarantine and dead letters.
type queues struct {
	memory  *memory.Queues
	disk    *sqlite.Queues
	outside map[string]*attended // queues of the agents in processes of the user, by agent
}

// Status returns the name of the queue for the statuses of a reply-to.
func Status(replyTo string) string { return "status-" + replyTo }

// inMemory returns the names of the queues whose messages a restart rebuilds.
func inMemory(agents []*agent) []string {
	names := []string{port.Replies, port.Control, port.Tasks}
	for _, a := range agents {
		names = append(names, port.Requests(a.name))
	}
	return names
}

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

// newQueues opens all queues. It numbers the messages in memory from a random value, so that a receipt from
// before a restart is not valid.
func newQueues(disk *sqlite.Queues, clock port.Timer, agents []*agent) (*queues, error) {
	first := rand.Int64()
	var configs []memory.QueueConfig
	for _, name := range inMemory(agents) {
		dead, _ := disk.Queue(port.Dead(name)) // cannot fail, because durableQueues has this queue
		configs = append(configs, memory.QueueConfig{
			Name: name, MaxReceives: maxReceives, DeadLetterTo: dead, Retention: retention, First: first,
		})
	}
	q := &queues{disk: disk, outside: map[string]*attended{}}
	var err error
	q.memory, err = memory.NewQueues(clock, configs)
	if err != nil {
		return nil, fmt.Errorf("queues: %w", err)
	}
	for _, a := range agents {
		if a.operations != nil {
			continue
		}
		requests, _ := q.memory.Queue(port.Requests(a.name)) // cannot fail, because NewQueues has made it
		q.outside[a.name] = &attended{Queue: requests, clock: clock, last: clock.Now()}
	}
	return q, nil
}

// Queue returns the named queue, or port.ErrNotFound.
func (q *queues) Queue(name string) (port.Queue, error) {
	if agent, ok := strings.CutPrefix(name, port.Requests("")); ok && q.outside[agent] != nil {
		return q.outside[agent], nil
	}
	if m, err := q.memory.Queue(name); err == nil {
		return m, nil
	}
	return q.disk.Queue(name)
}

// ours returns a queue that newQueues always creates.
func (q *queues) ours(name string) port.Queue {
	found, err := q.Queue(name)
	if err != nil {
		panic("embedded: " + err.Error())
	}
	return found
}

// ReplyTo returns the queue for a reply-to.
func (q *queues) ReplyTo(name string) (port.Sender, error) { return q.disk.ReplyTo(Status(name)) }

func (q *queues) names() []string {
	all := append(q.memory.QueueNames(), q.disk.QueueNames()...)
	sort.Strings(all)
	return all
}
