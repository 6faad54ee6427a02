package simulate

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// driver takes the place of the heap in an exploration: it says what could happen next, and carries
// out what was chosen. Calls take no time; time passes by an action of its own, up to the next moment
// at which anything could be different.
type driver struct {
	w        *World
	since    int64 // something has stood still since then; -1: nothing does
	scope    *Scope
	done     int       // how many of them were done
	chosen   act       // what goes wrong at the call that goes on
	call     call      // which that is
	landings []landing // calls that nobody waits for, and that may arrive at any time
	looked   look      // the last sweep that found nothing to do
	acts     []action  // reused
	moved    int       // the handler that came to its call by the last action
	marks    []int     // by queue: the last message before that action

	last  act       // what went wrong at the call that was made last
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
	frozen   bool
}

// turn is a call that a handler is about to make.
type turn struct {
	call    call
	subject string
}

// landing is a call that is still under way to its service.
type landing struct {
	what string
	land func()
}

// look is the state of the index at a sweep.
type look struct {
	at, versions int64
}

// kind is a kind of action.
type kind uint8

const (
	goOn      kind = iota // a handler makes its call and comes to the next one
	bring                 // one message is brought to a handler
	bringAll              // all that are visible are, as one batch
	sweeps                // a Supervisor sweeps
	submits               // the application submits, again if it has heard nothing
	orders                // somebody gives the next command
	passes                // nothing happens until the next time that means anything
	boots                 // a process is there again
	thaws                 // a frozen handler goes on
	releases              // a message that was late is there
	lands                 // a call that nobody waits for arrives
	wrong                 // a handler's call goes wrong
	dies                  // a process dies, between two calls of its handler
	freezes               // a handler stands still
	comesLate             // a message is late
	copies                // a message comes twice
	loses                 // a message is lost
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

// strike is what goes wrong at a call: what was chosen, and what the scope is about.
func (d *driver) strike(r role, c call, subject string) act {
	switch {
	case d.chosen.fault != NoFault && c == d.call:
	case c == callDo && d.scope.Refuses != "" && strings.HasSuffix(subject, "/"+d.scope.Refuses):
		return act{PermanentFailure, false}
	default:
		return act{}
	}
	a := d.chosen
	d.chosen, d.last = act{}, a
	d.w.Hits[a.fault]++
	d.w.Cells[Cell{sites[r][c], a.String()}]++
	return a
}

// newDriver sets a world up that does nothing by itself.
func newDriver(w *World, s *Scope) *driver {
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
	quiet := !slices.ContainsFunc(d.acts, func(a action) bool { return !a.costs() && !a.lazy() && a.kind != orders })
	if quiet && len(d.w.queues[port.Intake].messages) == 0 {
		for i, o := range d.w.orders {
			if !o.acked && !o.refused && o.seen.submitted { // it has heard nothing for a long time
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

// alone looks for a call that changes nothing of what anybody else does now, nor that by what
// anybody else does: an order that is read never changes, a message that is sent can be brought at
// any later time, one that is deleted was in hand. Where there is one it is made first; what can go
// wrong with it, and with the messages of the last action, is all that has to be looked at here.
func (d *driver) alone() bool {
	w := d.w
	for n, p := range w.procs {
		for _, iv := range p.running {
			if iv.frozen || iv.driven.turn == nil {
				continue
			}
			switch iv.driven.turn.call {
			case callSend:
				if w.capacity == 1 { // a Supervisor may count what waits (P32)
					continue
				}
			case callLoadOrder, callDelete, callExtend, callAlert:
			default:
				continue
			}
			d.steps(n, p, iv)
			for n := range w.names {
				d.fresh(n)
			}
			return true
		}
	}
	return false
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
		ready := 0
		for _, l := range q.messages {
			switch {
			case l.late:
				d.can(releases, n, l.id)
				continue
			case l.visible > w.now:
				continue
			}
			ready++
			if idle {
				d.can(bring, n, l.id)
			}
		}
		if ready > 1 && q.batch > 1 && idle {
			d.can(bringAll, n, 0)
			d.can(bringAll, n, 1)
		}
	}
}

// actors: a Supervisor sweeps where there is anything to find; people do what they have to do.
func (d *driver) actors() {
	w := d.w
	if first, any := w.store.earliest(); any && first.UnixMilli()-start <= w.now && d.looked != d.looking() {
		for n, p := range w.procs {
			if p.role == aSupervisor && p.up && len(p.running) == 0 && w.mayHold(p) {
				d.can(sweeps, n, 0)
				break
			}
		}
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

// sensible: a command that would be refused whatever the course is not tried at every moment.
func (d *driver) sensible(k message.ControlKind) bool {
	if k == message.Cancel {
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
func (w *World) mayHold(p *process) bool {
	for _, l := range w.leases {
		if l.owner != p.name && p.Now().Before(l.until) {
			return false
		}
	}
	return true
}

// idle is the first consumer that is there and has nothing to do.
func (d *driver) idle(consumers []*process) *process {
	for _, p := range consumers {
		if p.up && len(p.running) == 0 {
			return p
		}
	}
	return nil
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
	if d.done < len(d.scope.People) && d.scope.People[d.done] == message.Resolve { // which is refused before
		if t := w.store.task(w.orders[0].id); t != nil && t.ProcessState == core.Error {
			for i := range t.Steps {
				at(int64(t.Steps[i].LastStopBy) - start + 2*w.skew() + 1)
			}
		}
	}
	if first, any := w.store.earliest(); any {
		due := first.UnixMilli() - start
		at(due)
		if due <= w.now { // somebody could not sweep, or has found nothing
			at(w.now + tick)
			for _, l := range w.leases {
				at(l.until.UnixMilli() - start)
			}
		}
	}
	return next
}

// do carries out an action.
func (d *driver) do(a action) {
	w := d.w
	if w.telling {
		d.say(a)
	}
	d.moved = 0
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
	case freezes, thaws:
		w.handler(a.id).frozen = a.kind == freezes
	case dies:
		w.procs[a.nth].kill()
		w.procs[a.nth].memory = nil
	case boots:
		w.procs[a.nth].boot()
	case sweeps:
		d.looked = d.looking()
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
		l.land()
	default:
		d.mail(a)
	}
	w.bury()
	d.hear()
	w.check()
	switch still := d.still(); {
	case !still:
		d.since = -1
	case d.since < 0:
		d.since = w.now
	}
}

// standstill is for how long anything stands still at most, in milliseconds: all that it could be too
// late for has happened by then. A process that comes late comes sooner, after a message that was
// taken is there again.
func (d *driver) standstill() int64 {
	if len(d.scope.Down) > 0 {
		return visibility + 5_000
	}
	return 4 * visibility
}

// still: a process is down, a handler or a message stands still, or a call is under way for ever.
func (d *driver) still() bool {
	if len(d.landings) > 0 {
		return true
	}
	for _, p := range d.w.procs {
		if !p.up || slices.ContainsFunc(p.running, func(iv *invocation) bool { return iv.frozen }) {
			return true
		}
	}
	for _, name := range d.w.names {
		if slices.ContainsFunc(d.w.queues[name].messages, func(l *letter) bool { return l.late }) {
			return true
		}
	}
	return false
}

// mail is what happens to messages.
func (d *driver) mail(a action) {
	q := d.w.queues[d.w.names[a.nth]]
	i := slices.IndexFunc(q.messages, func(l *letter) bool { return l.id == int(a.id) })
	switch a.kind {
	case bring:
		if l := q.messages[i]; q.take(l) {
			d.deliver(q, []*letter{l})
		}
	case bringAll:
		var all []*letter
		for _, l := range d.ordered(q, a.id == 1) {
			if !l.late && l.visible <= d.w.now && len(all) < q.batch && q.take(l) {
				all = append(all, l)
			}
		}
		if len(all) > 0 {
			d.deliver(q, all)
		}
	case copies:
		q.messages[i].copied = true
		q.put(q.messages[i].message, 0).copied = true
	case comesLate:
		q.messages[i].late = true
	case releases:
		q.messages[i].late = false
	case loses:
		q.messages = slices.Delete(q.messages, i, i+1)
	}
}

// ordered lists the messages of a queue by what they are, and not by when they were sent: states that
// differ in that count as one. Two messages come in both orders.
func (d *driver) ordered(q *queue, backwards bool) []*letter {
	all := slices.Clone(q.messages)
	slices.SortStableFunc(all, func(a, b *letter) int { return cmp.Compare(d.letter(a, false), d.letter(b, false)) })
	if backwards {
		slices.Reverse(all)
	}
	return all
}

func (d *driver) deliver(q *queue, letters []*letter) {
	p := d.idle(q.consumers)
	h := emptyDigest
	for _, l := range letters {
		if r, ok := l.message.Value.(*message.Reply); ok && p.role == aScheduler {
			if p.memory == nil {
				p.memory = memory{}
			}
			p.memory[r.Step] = int64(r.Waited) + d.age(l, 1)
			h.number(p.memory[r.Step])
		}
		h.content(l.message, start+d.w.now)
		h.number(int64(l.received))
	}
	d.input, d.mine = uint64(h), letters
	d.w.deliver(p, q, letters)
	d.input, d.mine = 0, nil
}

// command gives the next command of the people; it counts as done once it was given.
func (d *driver) command() {
	o := d.w.orders[0]
	if c := d.w.command(o, d.w.store.task(o.id), d.scope.People[d.done]); c != nil {
		d.w.instruct(o, *c, false)
	}
	d.done++
}

// hear lets the application take what it is told: what it does with it changes nothing else.
func (d *driver) hear() {
	for _, name := range []string{shop, port.Quarantine} {
		q := d.w.queues[name]
		for _, l := range q.messages {
			d.w.heard(nil, q, l, l.delivery())
		}
		q.messages = nil
	}
}

func (w *World) handler(id int32) *invocation {
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
		if t == nil && !o.refused || t != nil && (!t.AtRest() || t.Tell != 0) {
			return false
		}
	}
	return true
}

// say tells the story of an action where nothing else would.
func (d *driver) say(a action) {
	w := d.w
	switch a.kind {
	case wrong:
		iv := w.handler(a.id)
		t := iv.driven.turn
		w.tell(iv.p.name, "", actsAt[t.call][a.nth].String()+" at "+callNames[t.call]+" "+t.subject)
	case freezes, thaws:
		w.tell(w.handler(a.id).p.name, "", map[kind]string{freezes: "stands still", thaws: "goes on"}[a.kind])
	case boots:
		w.tell(w.procs[a.nth].name, "", "is there again")
	case dies:
		w.tell(w.procs[a.nth].name, "", "dies")
	case passes:
		w.tell("world", "", fmt.Sprintf("time passes, %s", seconds(d.next()-w.now)))
	case copies, comesLate, releases, loses:
		q := w.queues[w.names[a.nth]]
		i := slices.IndexFunc(q.messages, func(l *letter) bool { return l.id == int(a.id) })
		word := map[kind]string{copies: "comes twice: ", comesLate: "is late: ", releases: "is there at last: ", loses: "is lost: "}[a.kind]
		w.tell("world", q.name, word+describe(q.messages[i].message))
	}
}
