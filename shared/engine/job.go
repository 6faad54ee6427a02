package engine

import (
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Message is one event for a task, with its outcome.
type Message struct {
	OrderID string
	// nil sends all open messages of the task again (P27, the embedded runtime survives its queues)
	Event core.Event
	// Again means that this message was, or may have been, handled before. Then its effects are sent again
	// even if it changes nothing. If another copy of the message was handled, and this one comes for the
	// first time, only its answer is sent, so that copies do not multiply calls (P12a, who emits again).
	Again bool
	Order []byte // content of a submission
	From  Sender // sender of a reply (P3, a reply names request and sender)

	// Answer is sent to the sender of the message, before the effects of its decision.
	Answer []core.Effect
	Outcome
}

// Outcome is the outcome of a message.
type Outcome struct {
	Err        error            // reason why the message has to come again
	Refusal    *message.Refusal // reason why the event can never be accepted
	Before     *core.Task       // nil if the task did not exist
	Definition *core.Definition // definition of the task after the decision
	Decision   protocol.Decision
	At         core.Time
}

// creates reports whether the event may create its task.
func (m *Message) creates() bool {
	switch ev := m.Event.(type) {
	case core.Submitted:
		return true
	case core.AskChild:
		return ev.Ask == core.AskStart
	}
	return false
}

// Batch holds one job for each task (P13, delete after sending), in the order of their first messages.
type Batch struct {
	Jobs []*Job
	byID map[string]*Job
}

// Add puts a message into the job of its task.
func (b *Batch) Add(m *Message) *Job {
	if b.byID == nil {
		b.byID = map[string]*Job{}
	}
	j := b.byID[m.OrderID]
	if j == nil {
		j = &Job{ID: m.OrderID}
		b.byID[m.OrderID] = j
		b.Jobs = append(b.Jobs, j)
	}
	j.Messages = append(j.Messages, m)
	return j
}

// Job holds the messages for one task, and their decisions, which make one commit (P13).
type Job struct {
	ID       string
	Messages []*Message
	Now      core.Time // time of all decisions; the zero value means the time at which each is made
	// Push moves the due time forward if it is too early and no message changes the task (P10, moving a due
	// time is conditional).
	Push bool
	decided

	status  status
	err     error         // reason why the messages must not be deleted, or why the last try was not stored
	loaded  *core.Task    // nil if the task does not exist
	parent  *Job          // job whose messages must not be deleted before this job has succeeded
	effects []core.Effect // effects of the latest delivery
	// unsendable lists the requests that are too large for a queue (P28, what is too large fails once).
	unsendable []core.SendRequest
	span       port.Handling
}

// status is the progress of a job. Each status includes the earlier ones.
type status int

const (
	unread status = iota // the store was not asked for the task
	read                 // the task was loaded, perhaps from the cache
	// the task was loaded from the store itself, because a message was ahead of it, or a create found that it
	// exists.
	reread
	tooLarge // the first document does not fit
	inDoubt  // a write may have been stored although the store did not confirm it (P12a)
	stored   // a change was committed
)

// decided is the result of the latest try.
type decided struct {
	Task       *core.Task // nil if the task does not exist
	Definition *core.Definition
	Pushed     bool // Push has moved the due time

	expired bool // the order came to rest, and its task has expired (P14, submit creates once)
	changed bool
	order   []byte
	hash    string // hash of the submission that created the task in this run; empty if it existed
}

// creates reports whether each message of the job may create the task.
func (j *Job) creates() bool {
	return len(j.Messages) > 0 &&
		!slices.ContainsFunc(j.Messages, func(m *Message) bool { return !m.creates() })
}

// Err returns why messages of the job have to come again.
func (j *Job) Err() error {
	for _, m := range j.Messages {
		if j.err == nil && m.Err != nil {
			return m.Err
		}
	}
	return j.err
}

// Stored reports whether a change was committed.
func (j *Job) Stored() bool { return j.status == stored }

// Fail returns all messages of the job to their queues.
func (j *Job) Fail(err error) {
	for ; j != nil; j = j.parent {
		j.err = err
		for _, m := range j.Messages {
			if m.Err == nil {
				m.Err = err
			}
		}
	}
}

// sends reports whether a message sends its effects even if it changes nothing: the message was, or may have
// been, handled before, or it is unknown whether a write of this job was stored. After a conflict with
// another writer, that writer sends the effects (P12a).
func (j *Job) sends(m *Message) bool { return m.Again || j.status == inDoubt }

// Owes reports whether a failed job may have stored a change whose effects were not all sent.
func (j *Job) Owes() bool {
	return j.err != nil &&
		(j.status >= inDoubt || slices.ContainsFunc(j.Messages, func(m *Message) bool { return m.Again }))
}

// Again makes a job ready for another run, because no queue would deliver its messages again (P12a).
func (j *Job) Again() {
	j.status, j.err, j.unsendable = read, nil, nil
	for _, m := range j.Messages {
		m.Again, m.Err, m.Answer = true, nil, nil
	}
}
