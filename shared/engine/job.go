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
	// Event is nil after a restart. Then protocol.Restart emits again the messages that the stored task still
	// needs (P27, the embedded runtime survives its queues).
	Event core.Event
	// Again means that the message was handled before, or may have been handled before. With Again, the
	// effects of the message are sent again even if the message changes nothing. Without Again, most messages
	// that change nothing send only their answers (see repeats), so that copies of a message do not multiply
	// calls (P12a, who emits again).
	Again bool
	Order []byte // content of a submission
	From  Sender // sender of a reply (P3, a reply names request and sender)

	// Answer holds the messages to the sender. They are sent before the effects of the decision.
	Answer []core.Effect
	Outcome
}

// Outcome is the outcome of a message.
type Outcome struct {
	Err        error            // reason why the message has to come again
	Refusal    *message.Refusal // reason why the event can never be accepted
	Before     *core.Task       // task before the decision; nil if no task existed
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

// Batch holds one job for each task, in the order of the tasks' first messages (P13, delete after sending).
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

// Job holds the messages for one task. Their decisions make one commit (P13).
type Job struct {
	ID       string
	Messages []*Message
	Now      core.Time // time of all decisions; zero means the time of the clock
	// Push corrects a due time that is too early, if no message changes the task (P10, moving a due time is
	// conditional).
	Push bool
	decided

	status  status
	err     error         // reason why the messages must not be deleted, or why the last try failed
	loaded  *core.Task    // nil if the task does not exist
	parent  *Job          // job that caused this follow-up job, and that fails if this job fails
	effects []core.Effect // answers and effects that the latest call of deliver sends
	// unsendable lists the requests that are too large for a queue (P28, what is too large fails once).
	unsendable []core.SendRequest
	span       port.Handling
}

// status is the progress of a job. A later status is greater.
type status int

const (
	unread status = iota // the task was not read
	read                 // the task was loaded, perhaps from the cache
	// reread means that the task was loaded from the store itself. This happens after core.ErrStale, and if a
	// message that may create the task is refused, or finds that the task exists.
	reread
	tooLarge // the document of a new task is too large
	inDoubt  // a write may have been stored although the store did not confirm it (P12a)
	stored   // a change was committed
)

// decided is the result of the latest try.
type decided struct {
	Task       *core.Task // nil if the task does not exist
	Definition *core.Definition
	Pushed     bool // true if Push has moved the due time

	expired bool // true if the order has ended and its task has expired (P14, submit creates once)
	changed bool
	order   []byte
	hash    string // hash of the submission that creates the task; "" if the task existed before
}

// creates reports whether each message of the job may create the task.
func (j *Job) creates() bool {
	return len(j.Messages) > 0 &&
		!slices.ContainsFunc(j.Messages, func(m *Message) bool { return !m.creates() })
}

// Err returns the reason why messages of the job have to come again, or nil.
func (j *Job) Err() error {
	for _, m := range j.Messages {
		if j.err == nil && m.Err != nil {
			return m.Err
		}
	}
	return j.err
}

// Stored reports whether a change of the job was committed.
func (j *Job) Stored() bool { return j.status == stored }

// Fail marks the job and its parents as failed, so that all their messages return to their queues.
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

// sends reports whether a message sends its effects even if it changes nothing. This is necessary if the
// message may have been handled before, or if a write of this job may have been stored. After a conflict,
// the other writer sends the effects (P12a).
func (j *Job) sends(m *Message) bool { return m.Again || j.status == inDoubt }

// Owes reports whether a failed job may have stored a change without sending all its effects.
func (j *Job) Owes() bool {
	return j.err != nil &&
		(j.status >= inDoubt || slices.ContainsFunc(j.Messages, func(m *Message) bool { return m.Again }))
}

// Again prepares a job for another try, if no queue delivers its messages again (P12a).
func (j *Job) Again() {
	j.status, j.err, j.unsendable = read, nil, nil
	for _, m := range j.Messages {
		m.Again, m.Err, m.Answer = true, nil, nil
	}
}
