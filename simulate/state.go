package simulate

import (
	"encoding/binary"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// digest hashes what decides what can happen next. Moments are hashed as they lie to the present
// one: two worlds that differ in nothing but the date go on in the same way.
type digest uint64

const emptyDigest digest = 14695981039346656037

func (d *digest) number(n int64) {
	const prime = 0x9e3779b97f4a7c15
	*d = (*d ^ digest(n)) * prime //nolint:gosec // a hash
	*d ^= *d >> 29
}

func (d *digest) text(s string) {
	d.number(int64(len(s)))
	for ; len(s) >= 8; s = s[8:] {
		d.number(int64(binary.LittleEndian.Uint64([]byte(s[:8])))) //nolint:gosec // a hash
	}
	for i := 0; i < len(s); i++ {
		d.number(int64(s[i]))
	}
}

func (d *digest) yes(all ...bool) {
	n := int64(1)
	for _, b := range all {
		n <<= 1
		if b {
			n++
		}
	}
	d.number(n)
}

var (
	timeType     = reflect.TypeFor[core.Time]()
	standardTime = reflect.TypeFor[time.Time]()
)

// value hashes anything, field by field, so that none is forgotten. now is in milliseconds.
func (d *digest) value(v reflect.Value, now int64) {
	switch v.Kind() {
	case reflect.Pointer, reflect.Interface:
		d.yes(v.IsNil())
		if !v.IsNil() {
			d.value(v.Elem(), now)
		}
	case reflect.Struct:
		if v.Type() == standardTime {
			if t, ok := v.Interface().(time.Time); ok && !t.IsZero() {
				d.number(t.UnixMilli() - now)
			}
			return
		}
		for i := range v.NumField() {
			d.value(v.Field(i), now)
		}
	case reflect.Slice, reflect.Array:
		d.number(int64(v.Len()))
		if v.Type().Elem().Kind() == reflect.Uint8 {
			d.text(string(v.Bytes()))
			return
		}
		for i := range v.Len() {
			d.value(v.Index(i), now)
		}
	case reflect.Map:
		sum := digest(0)
		for it := v.MapRange(); it.Next(); {
			one := emptyDigest
			one.value(it.Key(), now)
			one.value(it.Value(), now)
			sum += one // in any order
		}
		d.number(int64(sum)) //nolint:gosec // a hash
	case reflect.String:
		d.text(v.String())
	case reflect.Bool:
		d.yes(v.Bool())
	case reflect.Float32, reflect.Float64:
		d.number(int64(v.Float() * 1e6))
	case reflect.Int64:
		n := v.Int()
		if v.Type() == timeType && n != 0 {
			n -= now
		}
		d.number(n)
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32:
		d.number(v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		d.number(int64(v.Uint())) //nolint:gosec // a hash
	default:
		panic("simulate: " + v.Type().String() + " is no part of a state")
	}
}

// state is the hash of everything that decides what can happen next: the store with its index, the
// queues, the services and ledgers, the processes, the handlers at work, the people, and what the
// checks remember. A handler is its input and the answers that its calls have got so far.
//
// What decides nothing any more is left out, so that paths meet again after a fault:
//   - when something happened, where no rule asks for it; of a moment that has passed, how long ago
//     that was (see digest.moment);
//   - the version of a document: it is only compared with the version that a handler has loaded, and
//     of each handler it is hashed whether that is the one that is stored;
//   - the names of processes: two of one kind are the same but for what they know, hold and do, and
//     the driver picks between them by that alone (see driver.idle);
//   - texts for people, and what was sent before and cannot be sent again (see driver.history).
//
// TestStatesWithOneHashGoOnAlike holds states of one hash against each other.
func (d *driver) state() uint64 {
	w, h := d.w, emptyDigest
	now := w.start + w.now
	h.number(int64(d.rows(now))) //nolint:gosec // a hash
	for _, name := range w.names {
		q := w.queues[name]
		if len(q.messages)+len(q.dead) == 0 {
			h.number(0)
			continue
		}
		sum := digest(0)
		for _, l := range q.messages {
			sum += d.letter(l) // whatever their order: any of them can be brought
		}
		h.number(int64(sum)) //nolint:gosec // a hash
		h.number(int64(len(q.dead)))
	}
	for _, o := range w.orders {
		h.yes(o.acked, o.refused, o.early, o.seen.submitted)
		h.number(int64(o.commands))
		d.history(&h, o)
	}
	h.number(int64(d.books(now, ""))) //nolint:gosec // a hash
	sum := digest(0)
	for _, p := range w.procs {
		sum += d.process(p, now)
	}
	for _, l := range d.landings {
		one := emptyDigest
		one.text(l.what)
		sum += one
	}
	h.number(int64(sum)) //nolint:gosec // a hash
	h.number(int64(d.done))
	h.yes(d.looked == d.looking())
	if d.since >= 0 {
		h.number(w.now - d.since) // it goes on in time
	}
	return uint64(h)
}

// process is one instance, whatever its name.
func (d *driver) process(p *process, now int64) digest {
	h := emptyDigest
	h.number(int64(p.role))
	h.text(p.agent)
	h.yes(p.up)
	h.number(int64(d.knows(p)))    //nolint:gosec // a hash
	for _, l := range d.w.leases { // there is one shard
		if l.owner == p.name {
			h.number(max(l.until.UnixMilli()-now, 0))
		}
	}
	sum := digest(0)
	for _, iv := range p.running {
		sum += d.handler(iv)
	}
	h.number(int64(sum)) //nolint:gosec // a hash
	return h
}

// knows is what a Scheduler has learnt of the agents' queues, as far as it makes a difference.
func (d *driver) knows(p *process) (sum digest) {
	if !p.up {
		return 0
	}
	now := core.Time(d.w.start + d.w.now + p.offset)
	for agent, w := range p.known {
		if n := d.weight(agent, w.At(now)); n != 0 {
			one := emptyDigest
			one.text(agent)
			one.number(int64(n))
			one.number(int64(now.Sub(w.Learnt) % core.Minute)) // when it is halved
			sum += one
		}
	}
	return sum
}

// weight is how long a request has waited, as far as it makes a difference: twice that is allowed to
// the next one, but no less than its agent's allowance and no more than the step's maxQueueTime (P32).
func (d *driver) weight(agent string, waited core.Duration) core.Duration {
	least, most := d.w.def.Agents[agent].QueueAllowance, core.Duration(0)
	for i := range d.w.def.Steps {
		if s := &d.w.def.Steps[i]; slices.Contains(s.AllAgents(), agent) {
			most = max(most, s.MaxQueueTime, least)
		}
	}
	if 2*waited <= least {
		return 0
	}
	return min(waited, most)
}

// moment hashes a time as it lies to the present one. One that has passed, and by more than slack,
// is hashed as that: it is only asked whether that time has passed.
func (d *digest) moment(t core.Time, now, slack int64) {
	if t == 0 {
		d.number(0)
		return
	}
	d.number(max(int64(t)-now, -slack-1) + 1<<40)
}

func (d *driver) rows(now int64) (sum digest) {
	for _, id := range d.w.store.ids {
		one := emptyDigest
		one.text(id)
		d.row(&one, d.w.store.rows[id], now)
		sum += one // in whatever order they were made
	}
	return sum
}

func (d *driver) row(h *digest, r *row, now int64) {
	h.yes(r.known(), r.record != nil, len(r.wasDue) > 0)
	if r.record == nil {
		return
	}
	// but for Closing, the same in every Close of an exploration, and why it stopped or is undone, and its
	// attempts, which no decision reads
	t := r.task
	slack := 2*d.w.skew() + 2
	h.text(string(t.ProcessState))
	h.yes(t.Erased != nil)
	if (t.ProcessState == core.Processed || t.ProcessState == core.Cancelled ||
		t.ProcessState == core.Closed) && t.AtRest() {
		d.final(h, t)
		return
	}
	h.text(string(t.Phase))
	h.text(string(t.Why))
	h.text(t.Definition)
	h.text(t.TokenKey)
	if len(t.Removed) > 0 {
		h.text(fmt.Sprint(t.Removed))
	}
	if len(t.Refused) > 0 {
		h.text(fmt.Sprint(t.Refused))
	}
	h.yes(t.CancelAsked, t.Attention, t.ReplyTo != "", t.Output != nil)
	for _, n := range [...]int{t.Run, t.Command, t.Hops, t.StatusSeq, t.StartSeq, t.EndSeq, t.EndCommand,
		t.DeadlineSeq, len(t.Steps), len(t.Verdicts)} {
		h.number(int64(n))
	}
	for i := range t.Verdicts {
		h.text(t.Verdicts[i].ID)
		h.yes(t.Verdicts[i].Accepted)
	}
	h.text(t.StartCause)
	h.text(t.EndCause)
	h.moment(t.Deadline, now, 0)
	h.moment(t.ResendAt, now, 0)
	if len(d.w.store.ids) > 1 { // which of them stands first in the index
		h.number(int64(t.Due) - now)
	} else {
		h.moment(t.Due, now, 0)
	}
	for i := range t.Steps {
		d.step(h, &t.Steps[i], now, slack)
		h.yes(t.Steps[i].NoEffect > t.Ended)
	}
}

// final is a task that nothing changes any more: messages about it may be ahead of it, have it send something
// again, or be refused.
func (d *driver) final(h *digest, t *core.Task) {
	h.text(t.Definition)
	h.number(int64(t.Run))
	h.text(t.StartCause)
	h.text(t.EndCause)
	for i := range t.Verdicts {
		h.text(t.Verdicts[i].ID)
		h.yes(t.Verdicts[i].Accepted)
	}
	if len(t.Refused) > 0 {
		h.text(fmt.Sprint(t.Refused))
	}
	for i := range t.Steps {
		h.text(string(t.Steps[i].State))
		h.number(int64(t.Steps[i].Attempt))
		h.text(t.Steps[i].FinishCause)
		answers(h, &t.Steps[i])
	}
}

// answers leaves out when they came, which no rule asks for.
func answers(h *digest, s *core.Step) {
	a := s.Answers
	if a == nil {
		return
	}
	for _, n := range [...]int{a.Round, a.Reminded, a.Need, len(a.Who), len(a.Votes), len(a.Verdicts)} {
		h.number(int64(n))
	}
	h.text(a.NotSelf)
	for _, name := range a.Who {
		h.text(name)
	}
	for _, v := range a.Votes {
		h.text(v.By)
		h.text(string(v.Value))
	}
	for _, v := range a.Verdicts {
		h.text(v.ID)
		h.yes(v.Accepted)
	}
	if d, ok := model.DecidedOf(s); ok {
		h.text(string(d.Value))
		h.text(d.By)
	}
}

// step leaves out what no rule asks for: LockedBy (the name of a process), FirstAt but for services that
// forget keys, FinishedAt, Until, EndState and the error's text; ClaimedAt counts while the claim stands
// (P32).
func (d *driver) step(h *digest, s *core.Step, now, slack int64) {
	h.text(string(s.State))
	h.yes(s.Undo, s.Output != nil, s.Resolved != nil, s.Resolved != nil && s.Resolved.At > s.ClaimedAt,
		s.NoEffect != 0)
	for _, n := range [...]int64{int64(s.Attempt), int64(s.First), int64(s.FailureCount),
		int64(s.UndoFailures), int64(s.FinishSeq),
		int64(s.Allowance), int64(s.Queued)} {
		h.number(n)
	}
	h.text(s.Cause)
	h.text(s.Agent)
	h.text(s.FinishCause)
	h.text(s.FailureCode)
	h.moment(s.CompleteBy, now, 0)
	h.moment(s.WakeAt, now, 0)
	h.moment(s.StopBy, now, slack)
	h.moment(s.Quiet(), now, slack)
	h.moment(s.LastStop(), now, slack)
	if s.InFlight() {
		h.number(int64(s.ClaimedAt) - now)
	}
	// P37: when the next reminder is due, and whether the last is sent again
	if a := s.Answers; s.State == core.Waiting && a != nil && a.RemindedAt != 0 {
		h.number(int64(s.ClaimedAt) - now)
		h.number(int64(a.RemindedAt.Sub(s.ClaimedAt)))
		h.yes(a.Moved)
	}
	if since := model.SinceOf(s); since != 0 {
		h.number(int64(since) - now)
	}
	if d.w.kept() > 0 && s.First > 0 {
		h.number(int64(s.FirstClaim()) - now)
	}
	if s.Error != nil {
		h.text(s.Error.Code)
		h.number(int64(s.Error.Attempt))
	}
	if s.Resolved != nil {
		h.text(string(s.Resolved.Fact))
		h.number(int64(s.Resolved.Command))
	}
	if s.Corrected != nil {
		h.text(string(s.Corrected.Input))
	}
	if s.Progress != nil {
		h.number(int64(s.Progress.Percent))
		h.number(int64(s.Progress.At) - now)
	}
	answers(h, s)
}

// history is what the checks remember of an order and will ask for again: what was sent for the claims that
// stand and for the present end, and the statuses of what a message that is still there has led to (P12).
func (d *driver) history(h *digest, o *order) {
	s, t := &o.seen, d.w.store.task(o.id)
	h.number(int64(len(s.cancels)))
	for _, def := range d.w.defs {
		for i := range def.Steps {
			h.number(int64(s.counted[def.Steps[i].Name]))
		}
	}
	if t == nil {
		return
	}
	h.yes(t.EndSeq > 0 && s.reported[t.EndSeq] != "", t.ProcessState == core.Error &&
		s.alerts[alertID(t.Ended, t.Run, t.EndCommand)])
	if t.StartSeq > 0 && s.reported[t.StartSeq] == "" {
		h.yes(d.around(func(v port.Value) bool {
			switch m := v.(type) {
			case *message.SubmitOrder:
				return m.OrderID == o.id
			case *message.Control:
				return m.OrderID == o.id && m.Kind != message.Wake && m.Kind != message.Settle
			}
			return false
		}))
	}
	for i := range t.Steps {
		st := &t.Steps[i]
		h.yes(st.InFlight() && s.requests[st.Name+"/"+strconv.Itoa(st.Attempt)] != "")
		if st.FailureCode != "" {
			h.yes(s.alone[st.Name+"/"+strconv.Itoa(st.Attempt)])
		}
		if st.FinishSeq > 0 && s.reported[st.FinishSeq] == "" {
			h.yes(d.around(func(v port.Value) bool {
				switch m := v.(type) {
				case *message.Request:
					return m.OrderID == o.id && m.Step == st.Name
				case *message.Reply:
					return m.OrderID == o.id && m.Step == st.Name
				}
				return false
			}))
		}
	}
}

// around: such a message is in a queue, or is being handled.
func (d *driver) around(is func(port.Value) bool) bool {
	for _, name := range d.w.names {
		for _, l := range d.w.queues[name].messages {
			if is(l.message.Value) {
				return true
			}
		}
	}
	for _, p := range d.w.procs {
		for _, iv := range p.running {
			for _, l := range iv.mine {
				if is(l.message.Value) {
					return true
				}
			}
		}
	}
	return false
}

// books are those of the services, and the agents' ledgers: of one key, or of all.
func (d *driver) books(now int64, only string) (sum digest) {
	w := d.w
	for key, s := range w.services {
		if only != "" && key != only {
			continue
		}
		one := emptyDigest
		one.text(key)
		one.number(int64(s.proven<<12 | s.applied<<8 | s.net<<4 | s.pending))
		one.yes(s.known, s.fenced, s.undone)
		if w.forgets() {
			one.number(w.start + s.since - now)
		}
		sum += one
	}
	for _, a := range w.agents {
		for key, e := range w.ledgers[a].entries {
			if only != "" && key != only {
				continue
			}
			one := emptyDigest
			one.text(key)
			one.text(e.State)
			one.number(int64(e.Attempt))
			one.number(int64(e.Command))
			one.number(e.Version)
			sum += one
		}
	}
	return sum
}

func (d *driver) letter(l *letter) digest {
	h := emptyDigest
	if !l.late {
		h.number(max(l.visible-d.w.now, 0))
	}
	h.number(int64(l.received))
	h.yes(l.late)
	d.content(&h, l, 0)
	return h
}

// content is what a message says. taken is how often it was taken when the Scheduler could learn from
// a reply: it does from one that it takes for the first time (P32).
func (d *driver) content(h *digest, l *letter, taken int) {
	now := d.w.start + d.w.now
	switch m := l.message.Value.(type) {
	case *message.Request:
		h.text(m.OrderID)
		h.text(m.Step)
		if now >= int64(m.StopBy.Add(-m.ClockSkew)) {
			h.text("late") // its agent drops it, whatever else it says (P25)
			return
		}
		for _, n := range [...]int64{int64(m.Run), int64(m.Attempt), int64(m.StopBy) - now,
			int64(m.ClaimedAt) - now, int64(m.Timeout)} {
			h.number(n)
		}
		h.text(string(m.Operation))
		h.text(string(m.Input))
		h.yes(m.PointOfNoReturn)
		if m.Resolved != nil {
			h.text(string(m.Resolved.Fact))
			h.number(int64(m.Resolved.Command))
		}
	case *message.Reply:
		waited := m.Waited
		if l.received == taken {
			waited += core.Duration(d.w.now - l.sent)
		}
		d.reply(h, m, waited)
	case *message.Control:
		h.text(m.OrderID)
		h.text(string(m.Kind))
		h.text(m.Step)
		h.text(m.ID)
		h.text(string(m.Fact))
		h.text(m.Definition)
		h.text(m.Name)
		h.text(m.By)
		h.text(string(m.Value))
		h.text(string(m.Input))
		h.text(string(m.Output))
		// no answer has a token here
		for _, n := range [...]int{m.Run, m.Attempt, m.Command, m.Round, m.Tries} {
			h.number(int64(n))
		}
		h.moment(m.Deadline, now, 0)
	case *message.SubmitOrder: // of one ID there is one content
		h.text(m.OrderID)
	case nil:
		h.text(string(l.message.Body))
	default:
		v := reflect.ValueOf(m)
		h.text(v.Type().String())
		h.value(v, now)
	}
}

// reply is what a reply says, and teaches of how long requests wait.
func (d *driver) reply(h *digest, m *message.Reply, waited core.Duration) {
	h.text(m.OrderID)
	h.text(m.Step)
	h.text(string(m.Operation))
	h.text(string(m.Outcome))
	h.yes(m.NoEffect)
	h.moment(m.Until, d.w.start+d.w.now, 0)
	h.number(int64(m.Percent))
	h.text(m.Note)
	h.text(string(m.Output))
	agent := ""
	if t := d.w.store.task(m.OrderID); t != nil && t.Step(m.Step) != nil {
		_, step := d.w.stepOf(t, m.Step)
		agent = step.AskedAgent(t.Step(m.Step))
	}
	for _, n := range [...]int64{int64(m.Run), int64(m.Attempt), int64(m.RetryAfter),
		int64(d.weight(agent, waited))} {
		h.number(n)
	}
	if m.Error != nil {
		h.text(m.Error.Code)
	}
}

// handler is one at work. Its answers were hashed with the times at which they came, as they lie to
// its beginning; so lies the present. What it will not ask for again is left out.
func (d *driver) handler(iv *invocation) digest {
	h := emptyDigest
	h.text(iv.what)
	h.number(int64(iv.input)) //nolint:gosec // a hash
	trail, age := d.remembers(iv)
	h.number(int64(trail)) //nolint:gosec // a hash
	h.number(age)
	h.yes(iv.frozen, iv.driven.turn == nil, iv.id == d.thawed, iv.wrote)
	if t := iv.driven.turn; t != nil {
		h.number(int64(t.call))
		h.text(t.subject)
	} else {
		h.number(max(iv.until-d.w.now, 0))
	}
	for i, l := range iv.mine {
		h.yes(l.receipt == iv.receipts[i], l.late)
	}
	sum := digest(0)
	for id, v := range iv.versions {
		if d.w.store.version(id) != v {
			one := emptyDigest
			one.text(id)
			sum += one
		}
	}
	h.number(int64(sum)) //nolint:gosec // a hash
	return h
}

// remembers is what a handler knows of the answers it got, and of how long ago that was:
//   - one that deletes its message, or returns it, asks for nothing more than its receipt;
//   - a Scheduler that loads, or whose commit will fail for its document is not the one that is stored
//     any more, decides anew, by the clock as it is then;
//   - an agent that sends its answer asks for no time, and to one that is too late it is all the same by how
//     much.
func (d *driver) remembers(iv *invocation) (trail digest, age int64) {
	trail, age = iv.trail, d.w.now-iv.began
	t := iv.driven.turn
	switch {
	case t == nil:
		return trail, age
	case t.call == callDelete, t.call == callExtend,
		iv.p.role == aScheduler && (t.call == callLoad || t.call == callCommit && d.doomed(iv, t.subject)):
		return iv.course, 0
	case iv.p.role == anAgent && t.call == callSend:
		return trail, 0
	case iv.p.role == anAgent && iv.agency.req != nil && d.w.start+d.w.now >= int64(iv.agency.req.StopBy):
		return trail, -1
	}
	return trail, age
}

// doomed: what a handler stores next follows a version that is not the last one any more.
func (d *driver) doomed(iv *invocation, id string) bool {
	v, loaded := iv.versions[id]
	return loaded && v != d.w.store.version(id)
}

// version is that of the record that is stored; 0: there is none.
func (s *store) version(id string) int64 {
	if r := s.rows[id]; r != nil && r.record != nil {
		return r.record.Version
	}
	return 0
}

// answered adds what a call has answered its handler, and what went wrong at it.
func (d *driver) answered(iv *invocation, c call, subject string, wrong Fault, err error) {
	w, t := d.w, &iv.trail
	iv.made++
	if c == callLoad && iv.p.role == aScheduler { // what it was answered before counts no more: see remembers
		iv.trail, iv.began = iv.course, w.now
	}
	for _, t := range []*digest{&iv.trail, &iv.course} {
		t.number(int64(c))
		t.text(subject)
		t.number(int64(wrong))
		if err != nil {
			t.text(err.Error())
		}
	}
	t.number(w.now - iv.began)
	began := d.w.start + iv.began
	switch c {
	case callLoad:
		t.number(int64(d.rows(began))) //nolint:gosec // a hash
		iv.versions = map[string]int64{}
		for _, id := range w.store.ids {
			iv.versions[id] = w.store.version(id)
		}
	case callDue:
		t.number(int64(len(w.dueBy(iv.p.Now()))))
		for _, due := range w.dueBy(iv.p.Now()) {
			t.text(due.id)
		}
	case callCommit:
		if iv.wrote = true; err == nil && iv.versions != nil {
			iv.versions = maps.Clone(iv.versions) // of a snapshot
			iv.versions[subject] = w.store.version(subject)
		}
	case callSend:
		iv.wrote = true
	case callEntry, callMove, callDo, callUndo:
		t.number(int64(d.books(began, subject))) //nolint:gosec // a hash
	case callDepth:
		for _, l := range w.queues[subject].messages {
			t.yes(l.visible <= w.now)
			t.yes(l.received > 0)
		}
	default: // these answer nothing but whether they went well
	}
}
