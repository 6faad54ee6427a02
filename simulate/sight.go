package simulate

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// now is the task as the handling knows it.
func (s *sight) now() *core.Task {
	if s.after != nil {
		return s.after
	}
	return s.base
}

// mayDo: a do is sent while its task goes forward, or by a batch in which it did so before its last
// message: what that claimed is under way, and what it met in hand may be sent again (P12, P13).
func (iv *invocation) mayDo(r *message.Request) bool {
	s := iv.sight(r.OrderID)
	forward := func(t *core.Task) bool { return t.ProcessState == core.Processing && t.Run == r.Run }
	seen := s.now()
	return seen == nil || forward(seen) ||
		slices.Contains(s.claims, model.Mail{Kind: 'r', Step: r.Step, Attempt: r.Attempt}) ||
		s.base != nil && forward(s.base) && len(iv.events(r.OrderID)) > 1
}

// reading is what the clock showed, and what the instance knew then of the agents' queues.
type reading struct {
	now   core.Time
	waits map[string]core.Duration
}

// sight is what one handling has seen of one order, and done to it.
type sight struct {
	id            string
	base          *core.Task     // as loaded last; nil: there was none, or it was not loaded
	after         *core.Task     // as committed by this handling since then; nil: nothing was
	claims        []model.Mail   // of that commit
	must          []model.Mail   // what the commit has to send
	sent          []model.Mail   // what was sent, by this handling
	doubt         bool           // its own write may be stored, although the answer did not say so
	wrote         bool           // it was committed by this handling
	expectedWaits []expectedWait // what a Scheduler must have recorded of its replies (P32)
	cut           bool           // the order's first document did not fit: its submission is refused (P28)
	// requests that no queue took, which failed: what is decided after the latest load
	extra   []any
	refused []any // those of the commit since then
	looked  bool  // it was loaded
	from    int   // its first reading of the clock
	settled bool  // it settled the end itself
}

func (iv *invocation) sight(id string) *sight {
	for _, s := range iv.sights {
		if s.id == id {
			return s
		}
	}
	s := &sight{id: id}
	iv.sights = append(iv.sights, s)
	return s
}

// read remembers what the process's clock has shown since the last load.
func (iv *invocation) read(now core.Time) {
	if n := len(iv.clock); n == 0 || iv.anew || iv.clock[n-1].now != now {
		iv.clock, iv.anew = append(iv.clock, reading{now, iv.p.knows(now)}), false
	}
}

// loaded: the handling decides on this from now on.
func (iv *invocation) loaded(id string, t *core.Task) {
	s := iv.sight(id)
	s.base, s.after, s.must, s.looked = t, nil, nil, true
	if len(s.refused) > 0 {
		s.extra, s.refused = s.refused, nil
	}
	if len(s.extra) == 0 {
		s.expectedWaits = nil
	}
	s.from, iv.anew = len(iv.clock), true
}

// inQueue is how long a message has waited for the handler, by the clock that it read when it was begun,
// or should have read; one that comes again was returned to the queue, and says nothing of its queue.
func (iv *invocation) inQueue(i int) core.Duration {
	if iv.handed[i].Received > 1 {
		return 0
	}
	now := core.Time(iv.w.start + iv.w.now + iv.p.offset)
	if len(iv.clock) > 0 {
		now = iv.clock[0].now
	}
	return max(0, now.Sub(core.TimeOf(iv.handed[i].SentAt)))
}

// events are the messages of one order that the handling is about.
func (iv *invocation) events(id string) (all []any) {
	for _, l := range iv.letters {
		if aboutOrder(l.message) == id {
			all = append(all, l.message.Value)
		}
	}
	if iv.direct != nil && iv.about == id {
		all = append(all, iv.direct)
	}
	return all
}

// orders is how many orders the handling is about.
func (iv *invocation) orders() int {
	n, last := 0, ""
	for _, l := range iv.letters {
		if id := aboutOrder(l.message); id != last {
			n, last = n+1, id
		}
	}
	return n
}

func (w *simulation) defOf(t *core.Task) *core.Definition {
	if d := w.definition(t.Definition); d != nil {
		return d
	}
	return w.def // a tombstone pins none
}

// stepOf is a step as the task's definition has it, or, where a Move has removed it, as any other has.
func (w *simulation) stepOf(t *core.Task, name string) (*core.Definition, *core.StepDefinition) {
	all := w.known()
	if t != nil {
		all = append([]*core.Definition{w.defOf(t)}, all...)
	}
	for _, d := range all {
		if i := d.Index(name); i >= 0 {
			return d, &d.Steps[i]
		}
	}
	panic("simulate: no definition has a step " + name)
}

// sentBy remembers what a handling has sent of an order.
func (iv *invocation) sentBy(id string, m model.Mail) {
	s := iv.sight(id)
	if !slices.Contains(s.sent, m) {
		s.sent = append(s.sent, m)
	}
}

// mailOf is what a message is, for the rules of sending.
func mailOf(v port.Value) (id string, m model.Mail, ok bool) {
	switch v := v.(type) {
	case *message.Request:
		return v.OrderID, model.Mail{Kind: 'r', Step: v.Step, Attempt: v.Attempt}, true
	case *message.Status:
		switch v.Kind {
		case core.StatusReceived:
			return v.OrderID, model.Mail{Kind: 'c'}, true
		case core.StatusRefused:
			return v.OrderID, model.Mail{Kind: 'f'}, true
		case core.StatusCommandRefused:
			return v.OrderID, model.Mail{Kind: 'v'}, true
		case core.StatusProgress:
			return v.OrderID, model.Mail{Kind: 'p', Step: v.Step, Attempt: v.Percent}, true
		case core.StatusUndoing:
			return v.OrderID, model.Mail{Kind: 'u', Step: v.Step, WakeAt: v.Until}, true
		}
		return v.OrderID, model.Mail{Kind: 't', Attempt: v.Seq}, v.Seq > 0
	case *message.Quarantined:
		return "", model.Mail{Kind: 'q'}, true
	case *message.Control:
		switch v.Kind {
		case message.Wake:
			return v.OrderID, model.Mail{Kind: 'w', Step: v.Step, Attempt: v.Attempt}, true
		case message.Settle:
			return v.OrderID, model.Mail{Kind: 's'}, true
		case message.Answer: // to an order that is not there yet
			return v.OrderID, model.Mail{Kind: 'e'}, true
		}
	}
	return "", model.Mail{}, false
}

// has: was it sent by this handling? Of an alert the time of its Error counts, of a Wake the step, of an undo
// that waits until when.
func (s *sight) has(want model.Mail) bool {
	return slices.ContainsFunc(s.sent, func(m model.Mail) bool {
		return m.Kind == want.Kind && m.Step == want.Step && m.Attempt == want.Attempt &&
			(want.Kind != 'a' && want.Kind != 'u' || want.WakeAt == 0 || m.WakeAt == want.WakeAt)
	})
}

// modelFor prepares the model for a decision that a handling makes at a time.
func (iv *invocation) modelFor(s *sight, t *core.Task, at reading) *model.Model {
	w := iv.w
	m := &model.Model{Def: w.def, Defs: w.defs, Latest: w.def, T: model.CopyOf(t), Now: at.now, By: iv.p.name,
		Waits: at.waits, Loose: iv.orders() > 1, Room: w.room}
	m.Key = model.FirstKeys.Current()
	if iv.p.deploy > 0 {
		m.Latest, m.Key = w.newer, model.LaterKeys.Current()
	}
	switch {
	case t != nil:
		m.Def = w.defOf(t)
	default:
		m.Def = m.Latest
	}
	if r := w.store.rows[s.id]; r.known() {
		m.Content = r.order()
		m.Expired = r.ended
	}
	m.Direct = iv.direct != nil
	m.Backlog = func(queue string) bool {
		d, asked := iv.depths[queue]
		if !asked {
			m.Unasked = queue
		}
		absent := strings.HasPrefix(queue, port.Requests("")) && d.Visible > 0 && d.InFlight == 0
		return absent || d.Visible+d.InFlight > w.capacity
	}
	return m
}

// decided holds a commit against the model. settling commits have their own rule.
func (m *move) decided() {
	iv := m.w.cur
	if iv == nil {
		return
	}
	s := iv.sight(m.after.OrderID)
	s.wrote = true
	if m.before != nil && m.o.settling(m) {
		m.settledHere(s)
		return
	}
	s.claims = s.claims[:0]
	for i := range m.after.Steps {
		st, attempt := &m.after.Steps[i], 0
		if m.before != nil {
			attempt = m.was(st.Name).Attempt
		}
		for attempt < st.Attempt { // a batch may claim a step, and then its undo
			attempt++
			s.claims = append(s.claims, model.Mail{Kind: 'r', Step: st.Name, Attempt: attempt})
		}
	}
	if len(m.w.below) > 0 {
		s.after = m.after
		m.children()
		return
	}
	times := iv.times(s)
	rule, diff := "", ""
	for _, now := range times {
		want := iv.modelFor(s, m.before, now)
		want.Real = m.after
		if rule, diff = m.predict(iv, s, want); diff == "" {
			if len(times) > 1 && len(s.events(iv)) > 1 {
				want.UnpinAlerts(m.after)
			}
			s.after, s.must = m.after, append(s.must, want.Mails...)
			for i := range s.expectedWaits {
				s.expectedWaits[i].vague = max(s.expectedWaits[i].vague,
					times[len(times)-1].now.Sub(times[0].now))
			}
			m.did(rule)
			return
		}
	}
	if rule == "" || len(times) > 1 && len(s.events(iv)) > 1 {
		s.after, s.expectedWaits = m.after, []expectedWait{{order: s.id}}
		return // each event had a time of its own
	}
	m.fail(rule, "%s", diff)
}

// predict runs the model, and answers how what was committed differs from it.
func (m *move) predict(iv *invocation, s *sight, want *model.Model) (rule, diff string) {
	if m.supervisor {
		rule = want.Sweep()
		switch {
		case rule == "":
			rule = "P10"
			if first := model.Live(m.after); m.after.Due != first {
				return rule, fmt.Sprintf("the Supervisor pushed it to %s, and its earliest live time is %s",
					m.after.Due, first)
			}
		case want.Unasked != "":
			return "P32", "the Supervisor never asked how much waits in the queue " + want.Unasked
		}
		return rule, want.Differs(m.after)
	}
	events := s.events(iv)
	if len(events) == 0 {
		return "P8", "no event is known that led to this commit"
	}
	if len(s.extra) == 0 {
		s.expectedWaits = nil
	}
	for i, ev := range events {
		before, taught := want.Changed, iv.expectedWait(s, want, i, ev)
		want.Changed, want.Fresh = false, s.fresh(iv, i)
		if r := want.Take(ev); want.Changed || rule == "" {
			rule = r
		}
		if want.Changed && taught != nil {
			s.expectedWaits = append(s.expectedWaits, *taught)
		}
		want.Changed = want.Changed || before
		want.Ahead = false
	}
	return rule, want.Differs(m.after)
}

// events are those of the handling, as the Scheduler has to take them.
func (s *sight) events(iv *invocation) []any {
	all := iv.events(s.id)
	if len(s.extra) > 0 {
		return s.extra // requests that no queue takes: a decision of their own
	}
	return all
}

// fresh: the n-th event was not handled before, so that it has nothing to send again (P12a).
func (s *sight) fresh(iv *invocation, n int) bool {
	if s.doubt {
		return false
	}
	i := iv.letterOf(s, n)
	return i < 0 || iv.handed[i].Received <= 1
}

// letterOf is the place of the n-th event among the messages; -1: it is not one of them.
func (iv *invocation) letterOf(s *sight, n int) int {
	for i, l := range iv.letters {
		if len(s.extra) == 0 && aboutOrder(l.message) == s.id {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// settledHere: only a handling that itself sent all of it settles an end (P11).
func (m *move) settledHere(s *sight) {
	m.did("P11")
	s.settled = true
	t := m.after
	if t.EndSeq > 0 && !s.has(model.Mail{Kind: 't', Attempt: t.EndSeq}) {
		m.fail("P11", "%s is settled by a handling that did not send its status %d", t.ProcessState, t.EndSeq)
	}
	if model.Alerts(m.def, t) && !s.has(model.Mail{Kind: 'a', WakeAt: t.Ended}) {
		m.fail("P11", "%s is settled by a handling that did not raise its alert", t.ProcessState)
	}
}

// finished holds a handling to what it left undone: a message that is deleted has nothing more to
// say (P8, P15), and all that its commit led to was sent (P12, P13).
func (iv *invocation) finished(gone func(id string) bool) {
	if iv.dead || len(iv.w.below) > 0 {
		return
	}
	iv.unreadable(gone)
	iv.learnt(gone)
	for _, s := range iv.sights {
		if iv.w.byID[s.id] == nil || !gone(s.id) || iv.w.violation != nil {
			continue
		}
		iv.concluded(s)
	}
}

// tooFar: no message can wait for so long (P9a), seen from any time at which the handler has read its clock.
func (iv *invocation) tooFar(want model.Mail) bool {
	first := core.TimeOf(iv.p.Now())
	for _, r := range iv.clock {
		first = min(first, r.now)
	}
	return want.Kind == 'w' && want.WakeAt != 0 && want.WakeAt.Sub(first) > 890*core.Second
}

func (iv *invocation) concluded(s *sight) {
	w := iv.w
	must := s.must
	if s.after == nil && s.looked && !s.cut {
		var ok bool
		if must, ok = iv.spent(s); !ok {
			return
		}
	}
	w.checks.did("P8")
	w.checks.did("P13")
	for _, want := range must {
		if iv.tooFar(want) {
			continue // the Supervisor sends it
		}
		from := s
		if want.Kind == 'q' {
			from = iv.sight("")
		}
		if !from.has(want) {
			w.violate("P13", "order %s: a handling is over, and did not send %s", s.id, want)
			return
		}
	}
	if t := s.after; t != nil && t.ResendAt != 0 && !s.settled && !iv.trouble && s.sentAll(w.defOf(t), t) {
		w.violate("P11", "order %s is %s, and the handler that reported it has not settled it", s.id,
			t.ProcessState)
	}
}

// sentAll: the handling itself has sent all that the end has to report.
func (s *sight) sentAll(def *core.Definition, t *core.Task) bool {
	return (t.EndSeq == 0 || s.has(model.Mail{Kind: 't', Attempt: t.EndSeq})) &&
		(!model.Alerts(def, t) || s.has(model.Mail{Kind: 'a', WakeAt: t.Ended}))
}

// spent: the messages of an order that are deleted, although nothing was committed for them, change
// nothing. It answers what they have to send again.
func (iv *invocation) spent(s *sight) (must []model.Mail, ok bool) {
	w := iv.w
	var broken string
	version := int64(0)
	if s.base != nil {
		version = s.base.Version
	}
	for _, at := range iv.times(s) {
		m := iv.modelFor(s, s.base, at)
		broken = ""
		for i, ev := range s.events(iv) {
			m.Changed, m.Fresh = false, s.fresh(iv, i)
			rule := m.Take(ev)
			if m.Ahead {
				w.violate("P8", "order %s: %s is ahead of the document, and was deleted", s.id, say(ev))
				return nil, false
			}
			if m.Changed && broken == "" {
				broken = rule
			}
		}
		must = m.Mails
		if broken == "" {
			iv.copied(s)
			return must, true
		}
	}
	w.violate(broken, "order %s, version %d: %s changes it, and was deleted without a commit", s.id, version,
		say(s.events(iv)[0]))
	return nil, false
}

// copied: what was not handled before, and changes nothing, has its sender answered and nothing else sent,
// or copies would multiply calls (P12a).
func (iv *invocation) copied(s *sight) {
	// a decision that followed from a redelivered message is none of a fresh copy
	for i, l := range iv.letters {
		if aboutOrder(l.message) == s.id && iv.handed[i].Received > 1 {
			return
		}
	}
	for i, ev := range s.events(iv) {
		if c, ok := ev.(*message.Control); s.wrote || !s.fresh(iv, i) || ok && c.Kind == message.Settle {
			return
		}
	}
	iv.w.checks.did("P12a")
	for _, m := range s.sent {
		if slices.Contains([]byte{'r', 'w', 's', 't', 'a'}, m.Kind) {
			iv.w.violate("P12a", "order %s: a fresh copy that changes nothing sent %s", s.id, m)
		}
	}
}

// unreadable: what cannot be read goes to quarantine, what is of a newer schema stays, and nothing
// is returned to the queue without a reason (19).
func (iv *invocation) unreadable(gone func(id string) bool) {
	w := iv.w
	lost := iv.gone == nil
	for i, l := range iv.letters {
		if lost {
			break
		}
		id := aboutOrder(l.message)
		switch {
		case l.message.Value == nil && iv.gone[i] && string(l.message.Body) == newerBody:
			w.violate("19", "a message of a newer schema was deleted")
		case l.message.Value == nil && iv.gone[i] && !iv.sight("").has(model.Mail{Kind: 'q'}):
			w.violate("19", "an unreadable message was deleted, and is not in quarantine")
		case id != "" && !iv.gone[i] && !iv.broken && iv.sight(id).cut:
			w.violate("P28", "the store refused order %s for its size, and %s was returned to the queue", id,
				describe(l.message))
		case id != "" && !iv.gone[i] && !iv.trouble && !iv.stays(id):
			w.violate("19", "%s was returned to the queue, and nothing had failed", describe(l.message))
		}
	}
}

// stays: one of the messages of the order is ahead of the document (P8).
func (iv *invocation) stays(id string) bool {
	s := iv.sight(id)
	m := iv.modelFor(s, s.base, iv.times(s)[0])
	for _, ev := range s.events(iv) {
		m.Take(ev)
		if m.Ahead {
			return true
		}
	}
	return false
}

// times are the readings since the order was loaded.
func (iv *invocation) times(s *sight) []reading {
	if len(iv.clock) == s.from {
		iv.p.Now()
	}
	return iv.clock[s.from:]
}

func say(ev any) string {
	if v, ok := ev.(port.Value); ok {
		return describe(port.Message{Value: v})
	}
	return "a message"
}

// counted remembers how many messages a queue held, as the handling saw it.
func (iv *invocation) counted(queue string, d port.Depth) {
	if iv.depths == nil {
		iv.depths = map[string]port.Depth{}
	}
	iv.depths[queue] = d
}

// leased notes whether a shard is this Supervisor's; looks holds it to that.
func (iv *invocation) leased(name string, ours bool) {
	if iv.shards == nil {
		iv.shards = map[string]bool{}
	}
	iv.shards[name] = ours
}

func (iv *invocation) looks(shard int) {
	if ours, asked := iv.shards["sweep/"+strconv.Itoa(shard)]; asked && !ours {
		iv.w.violate("P16", "a Supervisor sweeps shard %d, which another one has", shard)
	}
}

// overlooked finds what stood in the index all the time, and was not looked at: with no shard left to
// others, and all pages taken, there is nothing.
func (iv *invocation) overlooked(due []dueAt) {
	for _, ours := range iv.shards {
		if !ours {
			return
		}
	}
	for _, d := range due {
		r := iv.w.store.rows[d.id]
		if r.record == nil || r.record.Version != d.version ||
			slices.ContainsFunc(iv.sights, func(s *sight) bool { return s.id == d.id }) {
			continue
		}
		iv.w.violate("5", "order %s is due, and a sweep over all has not looked at it", d.id)
	}
}

// dueAt is a task that stood in the index at some version.
type dueAt struct {
	id      string
	version int64
}

// dueBy lists what stands in the index up to a time.
func (w *simulation) dueBy(now time.Time) (all []dueAt) {
	for _, id := range w.store.ids {
		if r := w.store.rows[id].record; r != nil && r.Bucket == port.DueBucket && !r.IndexAt.After(now) {
			all = append(all, dueAt{id, r.Version})
		}
	}
	return all
}

// swept holds a sweep to what it left undone: all that was overdue in what it loaded is decided, and
// a due time that was early is pushed (P10, P16).
func (iv *invocation) swept(due []dueAt) {
	w := iv.w
	if iv.dead || iv.trouble {
		return
	}
	iv.overlooked(due)
	for _, s := range iv.sights {
		if len(w.below) > 0 {
			break
		}
		if s.after != nil {
			iv.concluded(s)
			continue
		}
		if s.base == nil || s.base.AtRest() || len(iv.clock) == s.from {
			continue
		}
		w.checks.did("P16")
		rule := ""
		for _, now := range iv.times(s) {
			m := iv.modelFor(s, s.base, now)
			if rule = m.Sweep(); rule == "" && s.base.Due != model.Live(s.base) {
				rule = "P10"
			}
			if rule == "" {
				break
			}
		}
		if rule != "" {
			w.violate(rule, "order %s, version %d: a sweep has looked at it and left it as it was", s.id,
				s.base.Version)
		}
	}
}

// restarted holds a restart to P27: all that is under way is emitted again.
func (iv *invocation) restarted(due []dueAt) {
	w := iv.w
	if iv.dead || iv.trouble {
		return
	}
	iv.overlooked(due)
	for _, s := range iv.sights {
		t := s.base
		if t == nil || t.AtRest() || len(s.extra) > 0 || len(w.below) > 0 {
			continue
		}
		w.checks.did("P27")
		last := core.Time(0)
		for _, r := range iv.times(s) {
			last = max(last, r.now)
		}
		for i := range t.Steps {
			st := &t.Steps[i]
			going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
			switch {
			case model.Stands(t, st):
				s.must = append(s.must, model.OfClaim(w.defOf(t), t, i, last)...)
			case st.State == core.Waiting && t.ProcessState == core.Compensating && st.CompleteBy != 0:
				// at once: nothing is waited for any more
				s.must = append(s.must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt})
			case going && model.Waits(st) && st.CompleteBy != 0:
				s.must = append(s.must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt,
					WakeAt: st.WakeAt})
			}
		}
		if t.ResendAt != 0 && t.EndSeq > 0 {
			s.must = append(s.must, model.Mail{Kind: 't', Attempt: t.EndSeq})
		}
		if t.ResendAt != 0 && model.Alerts(w.defOf(t), t) {
			s.must = append(s.must, model.Mail{Kind: 'a', WakeAt: t.Ended})
		}
		for _, want := range s.must {
			if !iv.tooFar(want) && !s.has(want) {
				w.violate("P27", "order %s: the restart did not send %s", s.id, want)
			}
		}
	}
}
