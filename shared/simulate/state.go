package simulate

import (
	"encoding/binary"
	"reflect"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
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

// memory is what a Scheduler has learnt: how long the last request of a step had waited (P32).
type memory map[string]int64

// state is the hash of everything that decides what can happen next: the store with its index, the
// queues, the services and ledgers, the processes, the handlers at work, the people, and what the
// checks remember. A handler is its input and the answers that its calls have got so far.
func (d *driver) state() uint64 {
	w, h := d.w, emptyDigest
	now := start + w.now
	for _, id := range w.store.ids {
		h.text(id)
		h.row(w.store.rows[id], now)
	}
	for n, name := range w.names {
		sum := digest(0)
		for _, l := range w.queues[name].messages {
			sum += d.letter(l, l.id > d.marks[n]) // whatever their order: any of them can be brought
		}
		h.number(int64(sum)) //nolint:gosec // a hash
		h.number(int64(len(w.queues[name].dead)))
	}
	for _, o := range w.orders {
		h.yes(o.acked, o.refused, o.early, o.seen.submitted)
		s := &o.seen
		for _, n := range []int{o.commands, len(s.told), len(s.alerts), len(s.requests), len(s.verdicts), len(s.cancels)} {
			h.number(int64(n))
		}
		h.value(reflect.ValueOf(s.counted), 0)
	}
	h.books(w, now)
	for _, p := range w.procs {
		h.yes(p.up)
		h.value(reflect.ValueOf(p.memory), 0)
		sum := digest(0)
		for _, iv := range p.running {
			sum += d.handler(iv)
		}
		h.number(int64(sum)) //nolint:gosec // a hash
	}
	for name, l := range w.leases { // there is one shard
		h.text(name)
		h.text(l.owner)
		h.number(max(l.until.UnixMilli()-now, 0))
	}
	sum := digest(0)
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

func (d *digest) row(r *row, now int64) {
	d.yes(r.order != nil, r.record != nil)
	if r.record == nil {
		return
	}
	d.value(reflect.ValueOf(r.task), now)
	d.text(string(r.record.Bucket))
	d.value(reflect.ValueOf(r.record.IndexAt), now)
	if n := len(r.wasDue); n > 0 {
		d.value(reflect.ValueOf(r.wasDue[n-1]), now)
	}
}

// books are those of the services, and the agents' ledgers.
func (d *digest) books(w *World, now int64) {
	sum := digest(0)
	for key, s := range w.services {
		one := emptyDigest
		one.text(key)
		one.number(int64(s.applied<<8 | s.net<<4 | s.pending))
		one.yes(s.known, s.fenced, s.undone)
		if w.forgets() {
			one.number(start + s.since - now)
		}
		sum += one
	}
	d.number(int64(sum)) //nolint:gosec // a hash
	for _, a := range w.agents {
		d.value(reflect.ValueOf(w.ledgers[a].entries), now)
	}
}

func (d *driver) letter(l *letter, fresh bool) digest {
	h := emptyDigest
	h.number(max(l.visible-d.w.now, 0))
	h.number(int64(l.received))
	h.yes(l.late, l.copied, fresh)
	h.content(l.message, start+d.w.now)
	h.number(d.age(l, 0))
	return h
}

// age is how long a reply that was taken so many times has waited: the Scheduler learns from one that
// it takes for the first time (P32).
func (d *driver) age(l *letter, taken int) int64 {
	if _, ok := l.message.Value.(*message.Reply); !ok || l.received != taken {
		return 0
	}
	return d.w.now - l.sent
}

func (d *digest) content(m port.Message, now int64) {
	if m.Value == nil {
		d.text(string(m.Body))
		return
	}
	v := reflect.ValueOf(m.Value)
	d.text(v.Type().String())
	d.value(v, now)
}

// handler is one at work. Its answers were hashed with the times at which they came, as they lie to
// its beginning; so lies the present.
func (d *driver) handler(iv *invocation) digest {
	h := emptyDigest
	h.text(iv.what)
	h.number(int64(iv.input)) //nolint:gosec // a hash
	h.number(int64(iv.trail)) //nolint:gosec // a hash
	h.number(d.w.now - iv.began)
	h.yes(iv.frozen, iv.driven.turn == nil, iv.id == d.moved)
	if iv.driven.turn == nil {
		h.number(max(iv.until-d.w.now, 0))
	}
	for i, l := range iv.mine {
		h.yes(l.receipt == iv.receipts[i], l.late)
	}
	return h
}

// answered adds what a call has told its handler.
func (d *driver) answered(iv *invocation, c call, subject string, err error) {
	w, t := d.w, &iv.trail
	t.number(int64(c))
	t.text(subject)
	t.number(w.now - iv.began)
	t.number(int64(d.last.fault))
	d.last = act{}
	if err != nil {
		t.text(err.Error())
	}
	began := start + iv.began
	switch c {
	case callLoad, callDue:
		for _, id := range w.store.ids {
			t.row(w.store.rows[id], began)
		}
	case callEntry, callDo, callUndo:
		t.books(w, began)
	case callDepth:
		for _, l := range w.queues[subject].messages {
			t.yes(l.visible <= w.now)
		}
	default: // these answer nothing but whether they went well
	}
}
