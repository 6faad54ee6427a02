package simulate

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// digest hashes what the world is like, but for its times: of those only what has come and what has not.
type digest uint64

func (d *digest) number(n int) {
	const prime = 1099511628211
	*d = (*d ^ digest(uint32(n))) * prime //nolint:gosec // a hash
	*d ^= *d >> 29
}

func (d *digest) text(s string) {
	for i := 0; i < len(s); i++ {
		d.number(int(s[i]))
	}
	d.number(-1)
}

func (d *digest) yes(b bool) {
	if b {
		d.number(1)
		return
	}
	d.number(0)
}

// state is the hash of everything that decides what can happen next. A handler at work is its input
// and the answers that its calls have got so far.
func (w *World) state() uint64 {
	d := digest(14695981039346656037)
	now := core.Time(start + w.now)
	for _, id := range w.store.ids {
		r := w.store.rows[id]
		d.text(id)
		d.yes(r.order != nil)
		if r.task != nil {
			d.task(r.task, now)
		}
	}
	for _, name := range w.names {
		q := w.queues[name]
		d.text(name)
		for _, l := range q.messages {
			d.letter(l, w.now)
		}
	}
	for _, o := range w.orders {
		d.yes(o.acked)
		for i := range w.def.Steps {
			key := core.Key(o.id, 0, w.def.Steps[i].Name)
			if s := w.services[key]; s != nil {
				d.number(s.applied<<8 | s.net<<4 | s.pending)
				d.yes(s.fenced)
				d.yes(s.undone)
			}
			if e, ok := w.ledgers[w.def.Steps[i].Agent].entries[key]; ok {
				d.text(e.State)
				d.number(e.Attempt)
			}
		}
	}
	for _, p := range w.procs {
		d.yes(p.up)
		for _, iv := range p.running {
			d.text(iv.what)
			d.number(int(iv.trail)) //nolint:gosec // a hash
		}
	}
	return uint64(d)
}

func (d *digest) task(t *core.Task, now core.Time) {
	d.text(string(t.ProcessState))
	d.text(string(t.Phase))
	d.number(t.Run<<16 | t.Command<<8 | t.StatusSeq)
	d.yes(t.CancelAsked)
	d.yes(t.Tell != 0)
	for i := range t.Steps {
		s := &t.Steps[i]
		d.text(string(s.State))
		d.number(s.Attempt<<16 | s.FailureCount<<8 | s.UndoFailures)
		d.yes(s.Undo)
		d.yes(s.WakeAt > now)
		d.yes(s.CompleteBy > now)
		d.yes(s.StopBy > now)
	}
}

func (d *digest) letter(l *letter, now int64) {
	d.yes(l.visible <= now)
	d.number(min(l.received, 2))
	switch v := l.message.Value.(type) {
	case *message.Request:
		d.text(v.Step)
		d.number(v.Attempt<<1 | len(v.Operation)&1)
	case *message.Reply:
		d.text(v.Step)
		d.text(string(v.Outcome))
		d.number(v.Attempt)
	case *message.Control:
		d.text(string(v.Kind))
		d.text(v.Step)
		d.number(v.Attempt)
	case *message.Status:
		d.number(v.Seq)
	}
}
