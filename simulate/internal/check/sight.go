package check

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
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// mayDo: a do is sent while its task goes forward, or by a batch in which it did so before its last
// message: what that claimed is under way, and what it met in hand may be sent again (P12, P13).
func mayDo(iv *world.Invocation, r *message.Request) bool {
	s := iv.Sight(r.OrderID)
	forward := func(t *core.Task) bool { return t.ProcessState == core.Processing && t.Run == r.Run }
	seen := s.Now()
	return seen == nil || forward(seen) ||
		slices.Contains(s.Claims, model.Mail{Kind: 'r', Step: r.Step, Attempt: r.Attempt}) ||
		s.Base != nil && forward(s.Base) && len(events(iv, r.OrderID)) > 1
}

// Loaded: the handling decides on this from now on.
func Loaded(iv *world.Invocation, id string, t *core.Task) {
	s := iv.Sight(id)
	s.Base, s.After, s.Must, s.Looked = t, nil, nil, true
	if len(s.Refused) > 0 {
		s.Extra, s.Refused = s.Refused, nil
	}
	if len(s.Extra) == 0 {
		s.ExpectedWaits = nil
	}
	s.From, iv.Anew = len(iv.Clock), true
}

// inQueue is how long a message has waited for the handler, by the clock that it read when it was begun,
// or should have read; one that comes again was returned to the queue, and says nothing of its queue.
func inQueue(iv *world.Invocation, i int) core.Duration {
	if iv.Handed[i].Received > 1 {
		return 0
	}
	now := core.Time(iv.W.Start + iv.W.Now + iv.P.Offset)
	if len(iv.Clock) > 0 {
		now = iv.Clock[0].Now
	}
	return max(0, now.Sub(core.TimeOf(iv.Handed[i].SentAt)))
}

// events are the messages of one order that the handling is about.
func events(iv *world.Invocation, id string) (all []any) {
	for _, l := range iv.Letters {
		if world.AboutOrder(l.Message) == id {
			all = append(all, l.Message.Value)
		}
	}
	if iv.Direct != nil && iv.About == id {
		all = append(all, iv.Direct)
	}
	return all
}

// orders is how many orders the handling is about.
func orders(iv *world.Invocation) int {
	n, last := 0, ""
	for _, l := range iv.Letters {
		if id := world.AboutOrder(l.Message); id != last {
			n, last = n+1, id
		}
	}
	return n
}

// sentBy remembers what a handling has sent of an order.
func sentBy(iv *world.Invocation, id string, m model.Mail) {
	s := iv.Sight(id)
	if !slices.Contains(s.Sent, m) {
		s.Sent = append(s.Sent, m)
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
func has(s *world.Sight, want model.Mail) bool {
	return slices.ContainsFunc(s.Sent, func(m model.Mail) bool {
		return m.Kind == want.Kind && m.Step == want.Step && m.Attempt == want.Attempt &&
			(want.Kind != 'a' && want.Kind != 'u' || want.WakeAt == 0 || m.WakeAt == want.WakeAt)
	})
}

// modelFor prepares the model for a decision that a handling makes at a time.
func modelFor(iv *world.Invocation, s *world.Sight, t *core.Task, at world.Reading) *model.Model {
	w := iv.W
	m := &model.Model{Def: w.Def, Defs: w.Defs, Latest: w.Def, T: model.CopyOf(t), Now: at.Now, By: iv.P.Name,
		Waits: at.Waits, Loose: orders(iv) > 1, Room: w.Room}
	m.Key = model.FirstKeys.Current()
	if iv.P.Deploy > 0 {
		m.Latest, m.Key = w.Newer, model.LaterKeys.Current()
	}
	switch {
	case t != nil:
		m.Def = w.DefOf(t)
	default:
		m.Def = m.Latest
	}
	if r := w.Store.Rows[s.Id]; r.Known() {
		m.Content = r.Order()
		m.Expired = r.Ended
	}
	m.Direct = iv.Direct != nil
	m.Backlog = func(queue string) bool {
		d, asked := iv.Depths[queue]
		if !asked {
			m.Unasked = queue
		}
		absent := strings.HasPrefix(queue, port.Requests("")) && d.Visible > 0 && d.InFlight == 0
		return absent || d.Visible+d.InFlight > w.Capacity
	}
	return m
}

// decided holds a commit against the model. settling commits have their own rule.
func (m *move) decided() {
	iv := m.w.Cur
	if iv == nil {
		return
	}
	s := iv.Sight(m.after.OrderID)
	s.Wrote = true
	if m.before != nil && settling(m.o, m) {
		m.settledHere(s)
		return
	}
	s.Claims = s.Claims[:0]
	for i := range m.after.Steps {
		st, attempt := &m.after.Steps[i], 0
		if m.before != nil {
			attempt = m.was(st.Name).Attempt
		}
		for attempt < st.Attempt { // a batch may claim a step, and then its undo
			attempt++
			s.Claims = append(s.Claims, model.Mail{Kind: 'r', Step: st.Name, Attempt: attempt})
		}
	}
	if len(m.w.Below) > 0 {
		s.After = m.after
		m.children()
		return
	}
	times := times(iv, s)
	rule, diff := "", ""
	for _, now := range times {
		want := modelFor(iv, s, m.before, now)
		want.Real = m.after
		if rule, diff = m.predict(iv, s, want); diff == "" {
			if len(times) > 1 && len(EventsOf(s, iv)) > 1 {
				want.UnpinAlerts(m.after)
			}
			s.After, s.Must = m.after, append(s.Must, want.Mails...)
			for i := range s.ExpectedWaits {
				s.ExpectedWaits[i].Vague = max(s.ExpectedWaits[i].Vague,
					times[len(times)-1].Now.Sub(times[0].Now))
			}
			m.did(rule)
			return
		}
	}
	if rule == "" || len(times) > 1 && len(EventsOf(s, iv)) > 1 {
		s.After, s.ExpectedWaits = m.after, []world.ExpectedWait{{Order: s.Id}}
		return // each event had a time of its own
	}
	m.fail(rule, "%s", diff)
}

// predict runs the model, and answers how what was committed differs from it.
func (m *move) predict(iv *world.Invocation, s *world.Sight, want *model.Model) (rule, diff string) {
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
	events := EventsOf(s, iv)
	if len(events) == 0 {
		return "P8", "no event is known that led to this commit"
	}
	if len(s.Extra) == 0 {
		s.ExpectedWaits = nil
	}
	for i, ev := range events {
		before, taught := want.Changed, expectedWait(iv, s, want, i, ev)
		want.Changed, want.Fresh = false, fresh(s, iv, i)
		if r := want.Take(ev); want.Changed || rule == "" {
			rule = r
		}
		if want.Changed && taught != nil {
			s.ExpectedWaits = append(s.ExpectedWaits, *taught)
		}
		want.Changed = want.Changed || before
		want.Ahead = false
	}
	return rule, want.Differs(m.after)
}

// EventsOf are those of the handling, as the Scheduler has to take them.
func EventsOf(s *world.Sight, iv *world.Invocation) []any {
	all := events(iv, s.Id)
	if len(s.Extra) > 0 {
		return s.Extra // requests that no queue takes: a decision of their own
	}
	return all
}

// fresh: the n-th event was not handled before, so that it has nothing to send again (P12a).
func fresh(s *world.Sight, iv *world.Invocation, n int) bool {
	if s.Doubt {
		return false
	}
	i := letterOf(iv, s, n)
	return i < 0 || iv.Handed[i].Received <= 1
}

// letterOf is the place of the n-th event among the messages; -1: it is not one of them.
func letterOf(iv *world.Invocation, s *world.Sight, n int) int {
	for i, l := range iv.Letters {
		if len(s.Extra) == 0 && world.AboutOrder(l.Message) == s.Id {
			if n == 0 {
				return i
			}
			n--
		}
	}
	return -1
}

// settledHere: only a handling that itself sent all of it settles an end (P11).
func (m *move) settledHere(s *world.Sight) {
	m.did("P11")
	s.Settled = true
	t := m.after
	if t.EndSeq > 0 && !has(s, model.Mail{Kind: 't', Attempt: t.EndSeq}) {
		m.fail("P11", "%s is settled by a handling that did not send its status %d", t.ProcessState, t.EndSeq)
	}
	if model.Alerts(m.def, t) && !has(s, model.Mail{Kind: 'a', WakeAt: t.Ended}) {
		m.fail("P11", "%s is settled by a handling that did not raise its alert", t.ProcessState)
	}
}

// Finished holds a handling to what it left undone: a message that is deleted has nothing more to
// say (P8, P15), and all that its commit led to was sent (P12, P13).
func Finished(iv *world.Invocation, gone func(id string) bool) {
	if iv.Dead || len(iv.W.Below) > 0 {
		return
	}
	unreadable(iv, gone)
	learnt(iv, gone)
	for _, s := range iv.Sights {
		if iv.W.ByID[s.Id] == nil || !gone(s.Id) || iv.W.Violation != nil {
			continue
		}
		concluded(iv, s)
	}
}

// tooFar: no message can wait for so long (P9a), seen from any time at which the handler has read its clock.
func tooFar(iv *world.Invocation, want model.Mail) bool {
	first := core.TimeOf(iv.P.Now())
	for _, r := range iv.Clock {
		first = min(first, r.Now)
	}
	return want.Kind == 'w' && want.WakeAt != 0 && want.WakeAt.Sub(first) > 890*core.Second
}

func concluded(iv *world.Invocation, s *world.Sight) {
	w := iv.W
	must := s.Must
	if s.After == nil && s.Looked && !s.Cut {
		var ok bool
		if must, ok = spent(iv, s); !ok {
			return
		}
	}
	w.Checks.Did("P8")
	w.Checks.Did("P13")
	for _, want := range must {
		if tooFar(iv, want) {
			continue // the Supervisor sends it
		}
		from := s
		if want.Kind == 'q' {
			from = iv.Sight("")
		}
		if !has(from, want) {
			w.Violate("P13", "order %s: a handling is over, and did not send %s", s.Id, want)
			return
		}
	}
	if t := s.After; t != nil && t.ResendAt != 0 && !s.Settled && !iv.Trouble && sentAll(s, w.DefOf(t), t) {
		w.Violate("P11", "order %s is %s, and the handler that reported it has not settled it", s.Id,
			t.ProcessState)
	}
}

// sentAll: the handling itself has sent all that the end has to report.
func sentAll(s *world.Sight, def *core.Definition, t *core.Task) bool {
	return (t.EndSeq == 0 || has(s, model.Mail{Kind: 't', Attempt: t.EndSeq})) &&
		(!model.Alerts(def, t) || has(s, model.Mail{Kind: 'a', WakeAt: t.Ended}))
}

// spent: the messages of an order that are deleted, although nothing was committed for them, change
// nothing. It answers what they have to send again.
func spent(iv *world.Invocation, s *world.Sight) (must []model.Mail, ok bool) {
	w := iv.W
	var broken string
	version := int64(0)
	if s.Base != nil {
		version = s.Base.Version
	}
	for _, at := range times(iv, s) {
		m := modelFor(iv, s, s.Base, at)
		broken = ""
		for i, ev := range EventsOf(s, iv) {
			m.Changed, m.Fresh = false, fresh(s, iv, i)
			rule := m.Take(ev)
			if m.Ahead {
				w.Violate("P8", "order %s: %s is ahead of the document, and was deleted", s.Id, say(ev))
				return nil, false
			}
			if m.Changed && broken == "" {
				broken = rule
			}
		}
		must = m.Mails
		if broken == "" {
			copied(iv, s)
			return must, true
		}
	}
	w.Violate(broken, "order %s, version %d: %s changes it, and was deleted without a commit", s.Id, version,
		say(EventsOf(s, iv)[0]))
	return nil, false
}

// copied: what was not handled before, and changes nothing, has its sender answered and nothing else sent,
// or copies would multiply calls (P12a).
func copied(iv *world.Invocation, s *world.Sight) {
	// a decision that followed from a redelivered message is none of a fresh copy
	for i, l := range iv.Letters {
		if world.AboutOrder(l.Message) == s.Id && iv.Handed[i].Received > 1 {
			return
		}
	}
	for i, ev := range EventsOf(s, iv) {
		if c, ok := ev.(*message.Control); s.Wrote || !fresh(s, iv, i) || ok && c.Kind == message.Settle {
			return
		}
	}
	iv.W.Checks.Did("P12a")
	for _, m := range s.Sent {
		if slices.Contains([]byte{'r', 'w', 's', 't', 'a'}, m.Kind) {
			iv.W.Violate("P12a", "order %s: a fresh copy that changes nothing sent %s", s.Id, m)
		}
	}
}

// unreadable: what cannot be read goes to quarantine, what is of a newer schema stays, and nothing
// is returned to the queue without a reason (19).
func unreadable(iv *world.Invocation, gone func(id string) bool) {
	w := iv.W
	lost := iv.Gone == nil
	for i, l := range iv.Letters {
		if lost {
			break
		}
		id := world.AboutOrder(l.Message)
		switch {
		case l.Message.Value == nil && iv.Gone[i] && string(l.Message.Body) == world.NewerBody:
			w.Violate("19", "a message of a newer schema was deleted")
		case l.Message.Value == nil && iv.Gone[i] && !has(iv.Sight(""), model.Mail{Kind: 'q'}):
			w.Violate("19", "an unreadable message was deleted, and is not in quarantine")
		case id != "" && !iv.Gone[i] && !iv.Broken && iv.Sight(id).Cut:
			w.Violate("P28", "the store refused order %s for its size, and %s was returned to the queue", id,
				world.Describe(l.Message))
		case id != "" && !iv.Gone[i] && !iv.Trouble && !stays(iv, id):
			w.Violate("19", "%s was returned to the queue, and nothing had failed", world.Describe(l.Message))
		}
	}
}

// stays: one of the messages of the order is ahead of the document (P8).
func stays(iv *world.Invocation, id string) bool {
	s := iv.Sight(id)
	m := modelFor(iv, s, s.Base, times(iv, s)[0])
	for _, ev := range EventsOf(s, iv) {
		m.Take(ev)
		if m.Ahead {
			return true
		}
	}
	return false
}

// times are the readings since the order was loaded.
func times(iv *world.Invocation, s *world.Sight) []world.Reading {
	if len(iv.Clock) == s.From {
		iv.P.Now()
	}
	return iv.Clock[s.From:]
}

func say(ev any) string {
	if v, ok := ev.(port.Value); ok {
		return world.Describe(port.Message{Value: v})
	}
	return "a message"
}

// Counted remembers how many messages a queue held, as the handling saw it.
func Counted(iv *world.Invocation, queue string, d port.Depth) {
	if iv.Depths == nil {
		iv.Depths = map[string]port.Depth{}
	}
	iv.Depths[queue] = d
}

// Leased notes whether a shard is this Supervisor's; looks holds it to that.
func Leased(iv *world.Invocation, name string, ours bool) {
	if iv.Shards == nil {
		iv.Shards = map[string]bool{}
	}
	iv.Shards[name] = ours
}

func Looks(iv *world.Invocation, shard int) {
	if ours, asked := iv.Shards["sweep/"+strconv.Itoa(shard)]; asked && !ours {
		iv.W.Violate("P16", "a Supervisor sweeps shard %d, which another one has", shard)
	}
}

// overlooked finds what stood in the index all the time, and was not looked at: with no shard left to
// others, and all pages taken, there is nothing.
func overlooked(iv *world.Invocation, due []dueAt) {
	for _, ours := range iv.Shards {
		if !ours {
			return
		}
	}
	for _, d := range due {
		r := iv.W.Store.Rows[d.Id]
		if r.Record == nil || r.Record.Version != d.version ||
			slices.ContainsFunc(iv.Sights, func(s *world.Sight) bool { return s.Id == d.Id }) {
			continue
		}
		iv.W.Violate("5", "order %s is due, and a sweep over all has not looked at it", d.Id)
	}
}

// dueAt is a task that stood in the index at some version.
type dueAt struct {
	Id      string
	version int64
}

// DueBy lists what stands in the index up to a time.
func DueBy(w *world.Simulation, now time.Time) (all []dueAt) {
	for _, id := range w.Store.Ids {
		if r := w.Store.Rows[id].Record; r != nil && r.Bucket == port.DueBucket && !r.IndexAt.After(now) {
			all = append(all, dueAt{id, r.Version})
		}
	}
	return all
}

// Swept holds a sweep to what it left undone: all that was overdue in what it loaded is decided, and
// a due time that was early is pushed (P10, P16).
func Swept(iv *world.Invocation, due []dueAt) {
	w := iv.W
	if iv.Dead || iv.Trouble {
		return
	}
	overlooked(iv, due)
	for _, s := range iv.Sights {
		if len(w.Below) > 0 {
			break
		}
		if s.After != nil {
			concluded(iv, s)
			continue
		}
		if s.Base == nil || s.Base.AtRest() || len(iv.Clock) == s.From {
			continue
		}
		w.Checks.Did("P16")
		rule := ""
		for _, now := range times(iv, s) {
			m := modelFor(iv, s, s.Base, now)
			if rule = m.Sweep(); rule == "" && s.Base.Due != model.Live(s.Base) {
				rule = "P10"
			}
			if rule == "" {
				break
			}
		}
		if rule != "" {
			w.Violate(rule, "order %s, version %d: a sweep has looked at it and left it as it was", s.Id,
				s.Base.Version)
		}
	}
}

// Restarted holds a restart to P27: all that is under way is emitted again.
func Restarted(iv *world.Invocation, due []dueAt) {
	w := iv.W
	if iv.Dead || iv.Trouble {
		return
	}
	overlooked(iv, due)
	for _, s := range iv.Sights {
		t := s.Base
		if t == nil || t.AtRest() || len(s.Extra) > 0 || len(w.Below) > 0 {
			continue
		}
		w.Checks.Did("P27")
		last := core.Time(0)
		for _, r := range times(iv, s) {
			last = max(last, r.Now)
		}
		for i := range t.Steps {
			st := &t.Steps[i]
			going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
			switch {
			case model.Stands(t, st):
				s.Must = append(s.Must, model.OfClaim(w.DefOf(t), t, i, last)...)
			case st.State == core.Waiting && t.ProcessState == core.Compensating && st.CompleteBy != 0:
				// at once: nothing is waited for any more
				s.Must = append(s.Must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt})
			case going && model.Waits(st) && st.CompleteBy != 0:
				s.Must = append(s.Must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt,
					WakeAt: st.WakeAt})
			}
		}
		if t.ResendAt != 0 && t.EndSeq > 0 {
			s.Must = append(s.Must, model.Mail{Kind: 't', Attempt: t.EndSeq})
		}
		if t.ResendAt != 0 && model.Alerts(w.DefOf(t), t) {
			s.Must = append(s.Must, model.Mail{Kind: 'a', WakeAt: t.Ended})
		}
		for _, want := range s.Must {
			if !tooFar(iv, want) && !has(s, want) {
				w.Violate("P27", "order %s: the restart did not send %s", s.Id, want)
			}
		}
	}
}
