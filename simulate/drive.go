package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
)

// driver takes the place of the heap in an exploration: it says what could happen next, and carries
// out what was chosen. Calls take no time; time passes by an action of its own, up to the next moment
// at which anything could be different.
type driver struct {
	w        *simulation
	since    int64 // something has stood still since then; -1: nothing does
	scope    *Scope
	done     int       // how many of them were done
	chosen   act       // what goes wrong at the call that goes on
	call     call      // which that is
	landings []landing // calls whose callers have given up, and that may arrive at any time
	looked   look      // the last sweep that found nothing to do
	acts     []action  // reused
	moved    int       // the handler that came to its call by the last action
	thawed   int       // the handler that was frozen until the last action
	marks    []int     // by queue: the last message before that action

	input uint64    // of the handler that begins
	mine  []*letter // those that it was given
}

// driven is what an exploration knows of a handler at work.
type driven struct {
	turn     *turn // the call that it is about to make; nil: it waits for a time
	until    int64 // that time
	begun    bool
	began    int64     // when it was given its input
	input    uint64    // hash of it
	mine     []*letter // that it handles
	receipts []int     // and their receipts
	trail    digest    // of the answers that its calls have got, with the times at which they came
	course   digest    // of whether its calls went well
	frozen   bool
	made     int              // calls
	wrote    bool             // it has stored or sent anything
	versions map[string]int64 // of the documents, as it has loaded or stored them
}

// turn is a call that a handler is about to make.
type turn struct {
	call    call
	subject string
}

// landing is a call that is still under way to its service.
type landing struct {
	what string
	call worker.Call
}

// look is the state of the index at a sweep.
type look struct {
	at, versions int64
}

// kind is a kind of action.
type kind uint8

const (
	goOn     kind = iota // a handler makes its call and comes to the next one
	bring                // one message is brought to a handler
	bringAll             // all that are visible are, as one batch
	sweeps               // a Supervisor sweeps
	submits              // the application submits, again if it has received nothing
	orders               // the next command is given
	passes               // nothing happens until the next time that means anything
	boots                // a process is there again
	thaws                // a frozen handler goes on
	// a message that was late is there at last, and is brought: alone, or (0, -1) with all others
	releases
	lands     // a call whose caller has given up arrives
	wrong     // a handler's call goes wrong
	dies      // a process dies, between two calls of its handler
	freezes   // a handler stands still
	comesLate // a message is late
	copies    // a message comes twice
	loses     // a message is lost
)

// action is something that can happen next.
type action struct {
	kind kind
	nth  uint8 // queue, process or act
	id   int32 // handler, message, or place in a list
}

// MarshalText writes an action for a tape.
func (a action) MarshalText() ([]byte, error) {
	return fmt.Appendf(nil, "%d/%d/%d", a.kind, a.nth, a.id), nil
}

// UnmarshalText reads one.
func (a *action) UnmarshalText(text []byte) error {
	if n, err := fmt.Sscanf(string(text), "%d/%d/%d", &a.kind, &a.nth, &a.id); n != 3 || a.kind > loses {
		return fmt.Errorf("%q is no step of a path: %w", text, err)
	}
	return nil
}

// costs: it is something that goes wrong. What is wrong is bounded on each path.
func (a action) costs() bool { return a.kind >= wrong }

// lazy: it ends something that went wrong before, at any time.
func (a action) lazy() bool { return a.kind >= boots && a.kind <= lands }

func (d *driver) turn(iv *invocation, c call, subject string) bool {
	if !iv.begun {
		iv.begun, iv.began, iv.input, iv.mine = true, d.w.now, d.input, d.mine
		for _, l := range d.mine {
			iv.receipts = append(iv.receipts, l.receipt)
		}
	}
	iv.driven.turn = &turn{c, subject}
	d.moved = iv.id
	ok := iv.yield(0)
	iv.driven.turn = nil
	if !ok {
		iv.dead = true
	}
	return !iv.dead
}

// inject is what goes wrong at a call: what was chosen, and what the scope is about.
func (d *driver) inject(r role, c call, subject string) act {
	switch {
	case d.chosen.fault != NoFault && c == d.call:
	case c == callDo && d.scope.Refuses != "" && strings.HasSuffix(subject, "/"+d.scope.Refuses):
		return act{PermanentFailure, false}
	default:
		return act{}
	}
	a := d.chosen
	d.chosen = act{}
	d.w.Hits[a.fault]++
	d.w.Cells[Cell{sites[r][c], a.String()}]++
	return a
}

// newDriver sets a world up that does nothing by itself.
func newDriver(w *simulation, s *Scope) *driver {
	w.driver = &driver{w: w, scope: s, since: -1}
	w.setUp()
	for _, p := range w.procs {
		if slices.Contains(s.Down, p.name) {
			p.up, w.driver.since = false, 0
		}
	}
	w.driver.marks = make([]int, len(w.names))
	return w.driver
}

// enabled lists all that can happen next, but for what makes no difference to do later. The list is
// good until the next call.
func (d *driver) enabled() []action {
	d.acts = d.acts[:0]
	if d.alone() {
		return d.acts
	}
	d.handlers()
	d.messages()
	d.actors()
	// What goes wrong, what ends it and what people do can wait; everything else happens before time passes.
	quiet := !slices.ContainsFunc(d.acts,
		func(a action) bool { return !a.costs() && !a.lazy() && a.kind != orders })
	if quiet && len(d.w.queues[port.Intake].messages) == 0 {
		for i, o := range d.w.orders {
			if !o.acked && !o.refused && o.seen.submitted { // it has received nothing for a long time
				d.can(submits, 0, i)
				quiet = false
			}
		}
	}
	waits := d.still()
	if t := d.next(); t >= 0 && (!waits || t <= d.since+d.standstill()) {
		if quiet {
			d.can(passes, 0, 0)
		}
	}
	return d.acts
}

// alone looks for a handler that goes on by itself: what it does next changes nothing of what any other
// handler could do now, nor that by what any other does, or the others could have done it before it began.
// Where there is one it goes first; what can go wrong with it, and with the messages of the last action, is
// all that has to be looked at here. See driver.apart for the argument.
func (d *driver) alone() bool {
	if d.scope.entangled {
		return false
	}
	for n, p := range d.w.procs {
		for _, iv := range p.running {
			if iv.frozen || iv.driven.turn == nil || !d.apart(iv) {
				continue
			}
			d.steps(n, p, iv)
			for n := range d.w.names {
				d.fresh(n)
			}
			return true
		}
	}
	return false
}

// apart: the next call of a handler need not be interleaved with what others do.
//
// Handlers are taken as blocks of calls (Lipton's reduction). To take a message, to begin a sweep and to go
// on after standing still are right movers: they touch nothing that any other handler reads, so that they may
// as well come just before the first call. An order never changes, a message that is sent can be brought at
// any later time, one that is deleted was in hand: such calls may as well come just after the call before.
//
// What is left are the calls to the state store, and those of an agent to its service and its ledger. Each
// touches one order, or one key. While no other handler at work touches the same, and no message that could
// be brought now leads to a handler that does, the handler goes on by itself. A handler that comes later
// comes of an action that does not depend on this one, which has stored and sent nothing yet: so that action
// can as well come before this handler begins, and there the two are interleaved, call by call. A handler
// that has stored or sent something may have led to that action itself; then no other may be left that could
// act on it.
func (d *driver) apart(iv *invocation) bool {
	t := iv.driven.turn
	if iv.made == 0 || iv.id == d.thawed {
		return true
	}
	switch t.call {
	case callOrder, callDelete, callExtend, callAlert:
		return true
	case callSend, callDepth:
		// A Supervisor may count what waits there (P32).
		return d.w.capacity > 1 && !strings.HasPrefix(t.subject, port.Requests(""))
	case callEntry, callMove, callDo, callUndo:
		return !d.shared(iv)
	case callLoad, callCommit, callDue, callLease:
		return !d.contended(iv)
	}
	return false
}

// shared: another handler touches the key of this agent's handler, or is about to.
func (d *driver) shared(iv *invocation) bool {
	w, key := d.w, iv.agency.req.Key
	for _, p := range w.procs {
		if p.role != anAgent || p.agent != iv.p.agent {
			continue
		}
		for _, other := range p.running {
			if other != iv && other.agency.req != nil && other.agency.req.Key == key {
				return true
			}
		}
	}
	for _, l := range w.queues[port.Requests(iv.p.agent)].messages {
		if r, ok := l.message.Value.(*message.Request); ok && r.Key == key && d.there(l) {
			return true
		}
	}
	return slices.ContainsFunc(d.landings, func(l landing) bool { return strings.HasSuffix(l.what, " "+key) })
}

// there: the message can be brought without time passing.
func (d *driver) there(l *letter) bool { return l.late || l.visible <= d.w.now }

// contended: another handler is at work on the orders of this one, or could begin to be.
func (d *driver) contended(iv *invocation) bool {
	w := d.w
	if d.sweeper() >= 0 || iv.wrote && d.done < len(d.scope.People) {
		return true
	}
	about := func(l *letter) bool {
		return iv.p.role == aSupervisor || slices.ContainsFunc(iv.mine, func(own *letter) bool {
			return aboutOrder(own.message) == aboutOrder(l.message)
		})
	}
	for _, p := range w.procs {
		if p.role == anAgent && !iv.wrote {
			continue
		}
		for _, other := range p.running {
			if other != iv && (other.p.role == aSupervisor || slices.ContainsFunc(other.mine, about)) {
				return true
			}
		}
	}
	for _, name := range w.names {
		q := w.queues[name]
		if slices.ContainsFunc(w.agents, func(a string) bool {
			return name == port.Requests(a)
		}) && !iv.wrote || d.idle(q.consumers) == nil {
			continue
		}
		if slices.ContainsFunc(q.messages, func(l *letter) bool { return d.there(l) && about(l) }) {
			return true
		}
	}
	return false
}

// label names an action that goes wrong, by what it happens to.
func (d *driver) label(state uint64, a action) uint64 {
	h := digest(state)
	h.number(int64(a.kind))
	h.number(int64(a.nth))
	switch w := d.w; a.kind {
	case dies:
		h = digest(state)
		h.number(int64(a.kind))
		h.number(int64(d.process(w.procs[a.nth], w.start+w.now))) //nolint:gosec // a hash
	case wrong, freezes:
		h.number(int64(d.handler(w.handler(a.id)))) //nolint:gosec // a hash
	default:
		q := w.queues[w.names[a.nth]]
		i := slices.IndexFunc(q.messages, func(l *letter) bool { return l.id == int(a.id) })
		h.number(int64(d.letter(q.messages[i]))) //nolint:gosec // a hash
	}
	return uint64(h)
}

func (d *driver) can(k kind, nth, id int) {
	d.acts = append(d.acts, action{k, uint8(nth), int32(id)}) //nolint:gosec // small
}

// handlers: each one makes its call, or it goes wrong, or it dies before it, which is after the one
// before; or it stands still.
func (d *driver) handlers() {
	w := d.w
	for n, p := range w.procs {
		if !p.up {
			d.can(boots, n, 0)
			continue
		}
		for _, iv := range p.running {
			switch {
			case iv.frozen:
				d.can(thaws, 0, iv.id)
			case iv.driven.turn != nil:
				d.steps(n, p, iv)
			case iv.until <= w.now:
				d.can(goOn, 0, iv.id)
			}
		}
	}
	for i := range d.landings {
		d.can(lands, 0, i)
	}
}

// steps are what a handler can do that is about to make a call.
func (d *driver) steps(n int, p *process, iv *invocation) {
	d.can(goOn, 0, iv.id)
	if iv.id == d.moved { // later is the same
		d.can(dies, n, 0)
		d.can(freezes, 0, iv.id)
	}
	t := iv.driven.turn
	for i, a := range actsAt[t.call] {
		if _, everywhere := find(compute, a); !everywhere && d.w.possible(p.role, t.call, a) {
			d.can(wrong, i, iv.id)
		}
	}
}

// fresh is what can go wrong with the messages of the last action; later it is the same.
func (d *driver) fresh(n int) {
	for _, l := range d.w.queues[d.w.names[n]].messages {
		if l.id > d.marks[n] && !l.late {
			d.can(comesLate, n, l.id)
			d.can(loses, n, l.id)
			if !l.copied {
				d.can(copies, n, l.id)
			}
		}
	}
}

// messages: each one that is visible is brought, whatever its place; with others as a batch or alone.
func (d *driver) messages() {
	w := d.w
	for n, name := range w.names {
		q := w.queues[name]
		idle := d.idle(q.consumers) != nil
		d.fresh(n)
		ready, late := 0, 0
		for _, l := range q.messages {
			switch {
			case l.late && idle:
				d.can(releases, n, l.id)
				late++
			case l.visible <= w.now && !l.late:
				ready++
				if idle {
					d.can(bring, n, l.id)
				}
			}
		}
		if q.batch == 1 || !idle {
			continue
		}
		if ready > 1 {
			d.can(bringAll, n, 0)
			d.can(bringAll, n, 1)
		}
		if late > 0 && ready+late > 1 {
			d.can(releases, n, 0)
			d.can(releases, n, -1)
		}
	}
}

// actors: a Supervisor sweeps where there is anything to find; people do what they have to do.
func (d *driver) actors() {
	w := d.w
	if n := d.sweeper(); n >= 0 {
		d.can(sweeps, n, 0)
	}
	for i, o := range w.orders {
		if !o.seen.submitted {
			d.can(submits, 0, i)
		}
	}
	if d.done < len(d.scope.People) && d.sensible(d.scope.People[d.done]) {
		d.can(orders, 0, 0)
	}
}

// sweeper is a Supervisor that would find something to do in the index; -1: there is none.
func (d *driver) sweeper() int {
	w := d.w
	if first, any := w.store.earliest(); !any || first.UnixMilli()-w.start > w.now ||
		d.looked == d.looking() {
		return -1
	}
	return slices.IndexFunc(w.procs, func(p *process) bool {
		return p.role == aSupervisor && p.up && len(p.running) == 0 && w.mayHold(p)
	})
}

// sensible: a command that would be refused whatever the course is not tried at every moment.
func (d *driver) sensible(k message.ControlKind) bool {
	if k == message.Cancel || k == message.Answer {
		return true
	}
	t := d.w.store.task(d.w.orders[0].id)
	switch {
	case t == nil:
		return false
	case k == message.Resolve:
		_, fact := d.w.fact(t)
		return fact != ""
	}
	return t.ProcessState == core.Error || t.ProcessState == core.Compensated
}

func (d *driver) looking() look {
	l := look{at: d.w.now}
	for _, id := range d.w.store.ids {
		if r := d.w.store.rows[id].record; r != nil {
			l.versions += r.Version
		}
	}
	return l
}

// mayHold reports that a Supervisor would get the lease.
func (w *simulation) mayHold(p *process) bool {
	for _, l := range w.leases {
		if l.owner != p.name && p.Now().Before(l.until) {
			return false
		}
	}
	return true
}

// idle is a consumer that is there and has nothing to do. Of several it is one that does not depend on
// their names, which are no part of a state.
func (d *driver) idle(consumers []*process) (found *process) {
	least := digest(0)
	for _, p := range consumers {
		if !p.up || len(p.running) > 0 {
			continue
		}
		if k := d.knows(p); found == nil || k < least {
			found, least = p, k
		}
	}
	return found
}

// next is the next time at which anything can be different; -1: none.
func (d *driver) next() int64 {
	w, next := d.w, int64(-1)
	at := func(t int64) {
		if t > w.now && (next < 0 || t < next) {
			next = t
		}
	}
	for _, name := range w.names {
		for _, l := range w.queues[name].messages {
			if !l.late {
				at(l.visible)
			}
		}
	}
	for _, p := range w.procs {
		for _, iv := range p.running {
			if iv.driven.turn == nil && !iv.frozen {
				at(iv.until)
			}
		}
	}
	// which is refused before
	if d.done < len(d.scope.People) && (d.scope.People[d.done] == message.Resolve ||
		d.scope.People[d.done] == message.Close) {
		if t := w.store.task(w.orders[0].id); t != nil && t.ProcessState == core.Error {
			for i := range t.Steps {
				at(int64(t.Steps[i].LastStop()) - w.start + 2*w.skew() + 1)
			}
		}
	}
	if first, any := w.store.earliest(); any {
		due := first.UnixMilli() - w.start
		at(due)
		if due <= w.now { // a Supervisor could not sweep, or has found nothing
			at(w.now + tick)
			for _, l := range w.leases {
				at(l.until.UnixMilli() - w.start)
			}
		}
	}
	return next
}

// do carries out an action.
func (d *driver) do(a action) {
	w := d.w
	if w.tracing {
		d.say(a)
	}
	d.moved, d.thawed = 0, 0
	for n, name := range w.names {
		d.marks[n] = w.queues[name].next
	}
	switch a.kind {
	case goOn:
		w.resume(w.handler(a.id))
	case wrong:
		iv := w.handler(a.id)
		d.call = iv.driven.turn.call
		d.chosen = actsAt[d.call][a.nth]
		w.resume(iv)
		d.chosen = act{}
	case freezes:
		w.handler(a.id).frozen = true
	case thaws:
		w.handler(a.id).frozen = false
		d.thawed = int(a.id)
	case dies:
		w.procs[a.nth].kill()
	case boots:
		w.procs[a.nth].boot()
	case sweeps:
		d.looked = d.looking()
		w.procs[a.nth].equip()
		w.invoke(w.procs[a.nth], "sweep", func(iv *invocation) { _, _ = iv.p.supervisor.Sweep(ctx) })
	case submits:
		o := w.orders[a.id]
		o.seen.submitted = true
		w.submit(o)
	case orders:
		d.command()
	case passes:
		w.now = d.next()
	case lands:
		l := d.landings[a.id]
		d.landings = slices.Delete(slices.Clone(d.landings), int(a.id), int(a.id)+1)
		w.lands(w.services[l.call.Key], l.call)
	default:
		d.mail(a)
	}
	w.bury()
	d.receive()
	w.check()
	switch still := d.still(); {
	case !still:
		d.since = -1
	case d.since < 0:
		d.since = w.now
	}
}

// standstill is for how long some work may be without a process that does it, in milliseconds: all that it
// could be too late for has happened by then. A process that comes late comes sooner, after a message that
// was taken is there again.
func (d *driver) standstill() int64 {
	if len(d.scope.Down) > 0 {
		return visibility + 5_000
	}
	return 4 * visibility
}

// still: some work is not done, since all processes that could do it are down or stand still. That is
// bounded, for what waits for them could grow for ever. A message that is late, or a handler that stands
// still while others work, needs no bound: the others come to a rest.
func (d *driver) still() bool {
	for i, p := range d.w.procs {
		if p.role == aClient || slices.ContainsFunc(d.w.procs[:i],
			func(o *process) bool { return o.role == p.role && o.agent == p.agent }) {
			continue
		}
		if !slices.ContainsFunc(d.w.procs,
			func(o *process) bool { return o.role == p.role && o.agent == p.agent && o.up && !o.frozen() }) {
			return true
		}
	}
	return false
}

func (p *process) frozen() bool {
	return slices.ContainsFunc(p.running, func(iv *invocation) bool { return iv.frozen })
}

// mail is what happens to messages.
func (d *driver) mail(a action) {
	q := d.w.queues[d.w.names[a.nth]]
	i := slices.IndexFunc(q.messages, func(l *letter) bool { return l.id == int(a.id) })
	switch a.kind {
	case bringAll:
		d.batch(q, a.id == 1)
	case bring, releases:
		if a.id <= 0 {
			for _, l := range q.messages {
				l.release(d.w.now)
			}
			d.batch(q, a.id < 0)
			return
		}
		l := q.messages[i]
		if l.release(d.w.now); q.take(l) {
			d.deliver(q, []*letter{l})
		}
	case copies:
		q.messages[i].copied = true
		q.put(q.messages[i].message, 0).copied = true
	case comesLate:
		q.messages[i].late = true
	case loses:
		q.messages = slices.Delete(q.messages, i, i+1)
	}
}

// release: a message that was late is there.
func (l *letter) release(now int64) {
	if l.late {
		l.late, l.visible = false, min(l.visible, now)
	}
}

// batch brings all that is visible.
func (d *driver) batch(q *queue, backwards bool) {
	var all []*letter
	for _, l := range d.ordered(q, backwards) {
		if !l.late && l.visible <= d.w.now && len(all) < q.batch && q.take(l) {
			all = append(all, l)
		}
	}
	if len(all) > 0 {
		d.deliver(q, all)
	}
}

// ordered lists the messages of a queue by what they are, and not by when they were sent: states that
// differ in that count as one. Two messages come in both orders.
func (d *driver) ordered(q *queue, backwards bool) []*letter {
	all := slices.Clone(q.messages)
	slices.SortStableFunc(all, func(a, b *letter) int { return cmp.Compare(d.letter(a), d.letter(b)) })
	if backwards {
		slices.Reverse(all)
	}
	return all
}

func (d *driver) deliver(q *queue, letters []*letter) {
	p := d.idle(q.consumers)
	h := emptyDigest
	for _, l := range letters {
		d.content(&h, l, 1)
		h.number(int64(l.received))
	}
	p.equip()
	d.input, d.mine = uint64(h), letters
	d.w.deliver(p, q, letters)
	d.input, d.mine = 0, nil
}

// command gives the next command of the people; it counts as done once it was given.
func (d *driver) command() {
	o := d.w.orders[0]
	if c := d.w.command(o, d.w.store.task(o.id), d.scope.People[d.done]); c != nil {
		if c.Kind == message.Resubmit && d.scope.Corrects != "" {
			c.Step, c.Input = d.scope.Corrects, json.RawMessage(`{"given":1}`)
		}
		d.w.instruct(o, *c, false)
	}
	d.done++
}

// receive lets the application receive its statuses: what it does with it changes nothing else.
func (d *driver) receive() {
	for _, name := range []string{model.Shop, port.Quarantine} {
		q := d.w.queues[name]
		for _, l := range q.messages {
			d.w.received(nil, q, l, q.delivery(l))
		}
		q.messages = nil
	}
}

func (w *simulation) handler(id int32) *invocation {
	for _, p := range w.procs {
		for _, iv := range p.running {
			if iv.id == int(id) {
				return iv
			}
		}
	}
	panic(fmt.Sprintf("simulate: there is no handler %d", id)) // a path of another program
}

// atEnd: every order rests, and nothing is under way that would change that by itself.
func (d *driver) atEnd() bool {
	for _, o := range d.w.orders {
		t := d.w.store.task(o.id)
		if t == nil && !o.refused || t != nil && (!t.AtRest() || t.ResendAt != 0) {
			return false
		}
	}
	return true
}

// say traces an action that traces nothing else.
func (d *driver) say(a action) {
	w := d.w
	switch a.kind {
	case wrong:
		iv := w.handler(a.id)
		t := iv.driven.turn
		w.trace(iv.p.name, "", actsAt[t.call][a.nth].String()+" at "+callNames[t.call]+" "+t.subject)
	case freezes, thaws:
		w.trace(w.handler(a.id).p.name, "",
			map[kind]string{freezes: "stands still", thaws: "goes on"}[a.kind])
	case boots:
		w.trace(w.procs[a.nth].name, "", "is there again")
	case dies:
		w.trace(w.procs[a.nth].name, "", "dies")
	case passes:
		w.trace("world", "", fmt.Sprintf("time passes, %s", seconds(d.next()-w.now)))
	case copies, comesLate, releases, loses:
		q := w.queues[w.names[a.nth]]
		if a.id <= 0 {
			w.trace("world", q.name, "all late messages are there at last")
			return
		}
		i := slices.IndexFunc(q.messages, func(l *letter) bool { return l.id == int(a.id) })
		word := map[kind]string{copies: "comes twice: ", comesLate: "is late: ",
			releases: "is there at last: ", loses: "is lost: "}[a.kind]
		w.trace("world", q.name, word+describe(q.messages[i].message))
	}
}
