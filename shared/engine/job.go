package engine

import (
	"context"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Decider is one event for a task. It embeds Message.
type Decider interface {
	// Decide decides it with Job.Decide, and answers what is sent to its sender. It is called again when the
	// task was loaded again, and then forgets what it kept of the call before. An error concerns the whole
	// job, but for a panic and for core.ErrStale, which concern this message.
	Decide(ctx context.Context, j *Job) (answer []core.Effect, err error)
	message() *Message
}

// Message is what became of one event for a task.
type Message struct {
	Err error // it has to come again
	New bool  // it is a submission: only the order's create finds out whether it is there
	// Again: it was, or may have been, handled before. Where it changes nothing, what it caused is emitted
	// again; a fresh copy has its sender answered only, so that copies do not multiply calls (P12a).
	Again bool

	event core.Event // as decided last
}

func (m *Message) message() *Message { return m }

// Entry is one of a job's messages.
type Entry struct {
	Decider
	*Message
}

// Batch holds one job for each task (P13), in the order of their first messages.
type Batch struct {
	Jobs []*Job
	byID map[string]*Job
}

// Add puts a message into the job of its task.
func (b *Batch) Add(id string, d Decider) *Job {
	if b.byID == nil {
		b.byID = map[string]*Job{}
	}
	j := b.byID[id]
	if j == nil {
		j = &Job{ID: id, Unseen: true}
		b.byID[id] = j
		b.Jobs = append(b.Jobs, j)
	}
	j.add(d)
	return j
}

// Job is all that one run decides for one task: one commit (P13).
type Job struct {
	ID string
	At core.At // of the message that is decided now
	decided
	Stored  bool // something was committed
	Unseen  bool // the store was not asked yet whether the task is there
	Expired bool // the order came to rest, and its task has expired (P14)

	engine   *Engine
	Messages []Entry
	parent   *Job       // whose messages must not be deleted before this one has succeeded
	loaded   *core.Task // nil where there is none
	current  *Message
	// unsent is why not all effects were sent; what was sent may be sent again (P12). Requests that no
	// queue takes are not in it (P28).
	unsent     error
	unsendable []core.SendRequest

	exists   bool  // something is known to be there
	reread   bool  // it was loaded past the cache
	tooLarge bool  // its first document does not fit
	failed   bool  // none of its messages may be deleted
	doubt    bool  // a write may have been stored although its answer did not say so (P12a)
	lost     error // why it was not stored at its last try
}

// decided is what was decided since the task was loaded.
type decided struct {
	Task       *core.Task // nil where there is none
	Definition *core.Definition
	order      []byte
	changed    bool
	settles    bool
	effects    []core.Effect
}

func (j *Job) add(d Decider) {
	m := d.message()
	j.Messages = append(j.Messages, Entry{d, m})
	j.Unseen = j.Unseen && m.New
}

// fail returns all messages of the job to their queues.
func (j *Job) fail(err error) {
	for ; j != nil; j = j.parent {
		j.failed = true
		for _, m := range j.Messages {
			if m.Err == nil {
				m.Err = err
			}
		}
	}
}

// Owes: some of what it decided is stored, or may be, and not all of it was sent.
func (j *Job) Owes() bool {
	before := slices.ContainsFunc(j.Messages, func(m Entry) bool { return m.Again })
	return j.failed && (j.Stored || j.doubt || before)
}

// Again makes a job ready for another run: nothing else would bring its messages again (P12a).
func (j *Job) Again() {
	j.failed, j.unsent, j.unsendable = false, nil, nil
	for _, m := range j.Messages {
		m.Again, m.Err = true, nil
	}
}
