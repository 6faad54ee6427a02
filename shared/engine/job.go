package engine

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// Message is one event for a task, with its outcome.
type Message struct {
	OrderID string
	// Event is nil after a restart of the embedded mode. The function protocol.Decide then emits the
	// messages that the stored task still needs (P27, the embedded runtime survives its queues).
	Event core.Event
	// Again means that the message may have been handled before. The engine then sends the effects even if
	// the message changes nothing. Without Again, most messages that change nothing send only their answers.
	// Otherwise copies of a message would multiply calls (P12a, who emits again).
	Again bool
	Order []byte // content of a submission
	From  Sender // sender of a reply (P3, a reply names request and sender)

	// Answer holds the answers to the sender. Deliver sends them before the effects of the decision.
	Answer []core.Effect
	Outcome
}

// Outcome is the outcome of a message.
type Outcome struct {
	Err        error            // error after which the message must be delivered again
	Refusal    *core.Refusal    // reason why the event can never be accepted; nil if not refused
	Before     *protocol.Task   // task before the decision; nil if no task existed
	Definition *core.Definition // definition of the task after the decision
	Decision   protocol.Decision
	At         core.Time
}

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

// Job holds the messages for one task. The decisions about these messages make one commit (P13).
type Job struct {
	ID       string
	Messages []*Message
	Now      core.Time // time of all decisions; zero means the time of the clock
	// Push means that Decide corrects a due time that is too early. Decide does so only if no message changes
	// the task (P10, moving a due time is conditional).
	Push bool
	// Aside means that the task was found in port.DamagedBucket. If it can be read again, Deliver moves it back
	// to its place in the index (P60, a damaged order is set aside).
	Aside bool
	decided

	status  status
	err     error             // error of the latest try
	loaded  *protocol.Task    // task as stored; nil if the task does not exist
	parent  *Job              // job that caused this follow-up job; it fails if this job fails
	effects []core.Effect     // answers and effects to send
	unsent  []core.SendStatus // statuses among the effects that could not be sent
	reason  string            // reason why the last of them could not be sent
	// unsendable holds the replies that stand for requests which no queue takes.
	unsendable []core.Reply
	span       port.Handling
}

// status is the progress of a job. The values are in the order of this progress.
type status int

const (
	unread status = iota // the task was not read
	read                 // the task was loaded, perhaps from the cache
	// reread means that the task must come from the store instead of the cache. There are three causes:
	//   - A message names a later run or attempt than the loaded task (core.ErrStale).
	//   - A message that may create the task was refused, and the task was not loaded.
	//   - A commit found that the task exists.
	reread
	tooLarge // the document of a new task is too large
	inDoubt  // a commit failed, but the store may have stored it (P12a)
	stored   // a change was committed
)

type decided struct {
	Task       *protocol.Task // nil if the task does not exist
	Definition *core.Definition
	Pushed     bool // true if Push has moved the due time

	expired bool // true if the task has expired; its order is refused (P26, an ID never runs twice)
	changed bool
	order   []byte
	hash    string // hash of the submission that creates the task
}

// delivered returns the effects that were sent.
func (j *Job) delivered() []core.Effect {
	if len(j.unsent) == 0 {
		return j.effects
	}
	return slices.DeleteFunc(slices.Clone(j.effects), func(e core.Effect) bool {
		return slices.ContainsFunc(j.unsent, func(s core.SendStatus) bool { return sameAs(s)(e) })
	})
}

// reported returns the effects that were sent about the present end of the task. For a follow-up job they
// include the effects of its parents, if the follow-up job has loaded the same end.
func (j *Job) reported() []core.Effect {
	sent := slices.Clip(j.delivered())
	for p := j.parent; p != nil && p.Task != nil && p.Task.End == j.Task.End; p = p.parent {
		sent = append(sent, p.delivered()...)
	}
	return sent
}

func (j *Job) creates() bool {
	return len(j.Messages) > 0 &&
		!slices.ContainsFunc(j.Messages, func(m *Message) bool { return !m.creates() })
}

// Err returns the error of the job, or else the first error of its messages. It returns nil if nothing has
// failed.
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

// Fail marks the job and its parents as failed. All messages of these jobs then return to their queues.
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

// sends reports whether the effects of a message must be sent even if the message changes nothing. This is
// necessary if the message may have been handled before, or if a commit of this job may have been stored
// (P12a). After a conflict it is not necessary, because the faster writer sends the effects.
func (j *Job) sends(m *Message) bool { return m.Again || j.status == inDoubt }

// Owes reports whether a failed job may have stored a change without sending all effects of the change.
func (j *Job) Owes() bool {
	return j.err != nil &&
		(j.status >= inDoubt || slices.ContainsFunc(j.Messages, func(m *Message) bool { return m.Again }))
}

// Again prepares a job for another try. The caller uses it if no queue delivers the messages again (P12a).
func (j *Job) Again() {
	j.status = read
	j.err = nil
	j.unsendable = nil
	j.unsent = nil
	for _, m := range j.Messages {
		m.Again = true
		m.Err = nil
		m.Answer = nil
	}
}

// refuseLarge handles a document that is too large for the store. It reports whether Decide must decide the
// job again. The second decision refuses a new order (P28, what is too large fails once). The document of a
// stored task is too large only if the store's limit was lowered.
func (e *Engine) refuseLarge(j *Job, err error) (again bool) {
	if j.loaded == nil && j.status != tooLarge {
		j.status = tooLarge
		return true
	}
	e.Logger.Error(
		"the document does not fit into the store, although room was kept for it: was the store's limit "+
			"lowered? Restore the limit, then redrive the dead letters", "order", j.ID, "error", err)
	j.Fail(err)
	return false
}

// unsendable returns the reply that stands for a request which no queue takes. It returns false if the request
// may be sent again.
func unsendable(r core.SendRequest, err error) (core.Reply, bool) {
	reply := core.Reply{Step: r.Step, Run: r.Run, Attempt: r.Attempt, Operation: r.Operation}
	switch {
	case errors.Is(err, port.ErrTooLarge):
		reply.Outcome = core.OutcomeFailed
		reply.Code = codeInputTooLarge
		reply.Message = fmt.Sprintf("the request to agent %q is larger than a message of %d bytes; pass a "+
			"reference instead of the data", r.Agent, port.MaxMessage)
	case errors.Is(err, port.ErrNotFound):
		reply.Outcome = core.OutcomeRetryLater
		reply.Code = core.CodeNoAgent
		reply.Message = fmt.Sprintf("agent %q is not deployed, so the request was not sent; deploy the agent, "+
			"or correct its name where the agents are configured", r.Agent)
	default:
		return core.Reply{}, false
	}
	return reply, true
}

// followUps returns the messages of a follow-up job. They decide the replies which stand for requests that no queue
// takes, and record the numbered statuses that could not be sent (P12b, a status delays nothing else).
func (j *Job) followUps() (messages []*Message) {
	for _, r := range j.unsendable {
		messages = append(messages, &Message{OrderID: j.ID, Event: r})
	}
	if len(j.unsent) == 0 {
		return messages
	}
	first := map[string]int{}
	for _, s := range j.unsent {
		if n, known := first[s.ReplyTo]; s.Status.Seq > 0 && (!known || s.Status.Seq < n) {
			first[s.ReplyTo] = s.Status.Seq
		}
	}
	for _, name := range slices.Sorted(maps.Keys(first)) {
		messages = append(messages,
			&Message{OrderID: j.ID, Event: core.Unsent{ReplyTo: name, First: first[name], Reason: j.reason}})
	}
	return messages
}

const codeInputTooLarge = "input-too-large"

// followedUp returns the events of the follow-up jobs that the task has already decided.
func followedUp(t *protocol.Task) (events []core.Event) {
	if t == nil {
		return nil
	}
	for _, st := range t.Steps {
		if st.Error == nil || st.Error.Code != codeInputTooLarge || st.Error.Attempt != st.Attempt {
			continue
		}
		// Do stands for either operation, because the cause of a reply does not contain the operation.
		events = append(events, core.Reply{
			Step: st.Name, Run: t.Run, Attempt: st.Attempt, Operation: core.Do,
			Outcome: core.OutcomeFailed, Code: codeInputTooLarge,
		})
	}
	return events
}
