package explore

import (
	"errors"
	"strings"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Turn lets a handler wait until it is chosen to make its call.
func (d *Driver) Turn(iv *world.Invocation, c world.Call, subject string) bool {
	if !on(iv).Begun {
		on(iv).Begun = true
		on(iv).Began = d.W.Now
		on(iv).Input = d.Input
		on(iv).Mine = d.Mine
		for _, l := range d.Mine {
			on(iv).Receipts = append(on(iv).Receipts, l.Receipt)
		}
	}
	on(iv).Turn = &Turn{Call: c, Subject: subject}
	d.MoveTask = iv.Id
	ok := iv.Yield(0)
	on(iv).Turn = nil
	if !ok {
		iv.Dead = true
	}
	return !iv.Dead
}

// Fault returns the fault of a call: the chosen one, or the one that the scope is about.
func (d *Driver) Fault(r world.Role, c world.Call, subject string) world.Act {
	switch {
	case d.Chosen.Fault != world.NoFault && c == d.Call:
	case c == world.CallDo && d.Scope.Refuses != "" && strings.HasSuffix(subject, "/"+d.Scope.Refuses):
		return world.Act{Fault: world.PermanentFailure, After: false}
	default:
		return world.Act{}
	}
	a := d.Chosen
	d.Chosen = world.Act{}
	d.W.Hits[a.Fault]++
	d.W.Cells[world.Cell{Site: world.Sites[r][c], Act: a.String()}]++
	return a
}

// Answered adds what a call has answered its handler, and what went wrong at it.
func (d *Driver) Answered(iv *world.Invocation, c world.Call, subject string, wrong world.Fault,
	err error,
) {
	w := d.W
	t := &on(iv).Trail
	on(iv).Made++
	if errors.Is(err, port.ErrConflict) {
		err = port.ErrConflict // its text names versions, which no handler compares
	}
	// Earlier results do not count any more: see remembers.
	if c == world.CallLoad && iv.P.Role == world.AScheduler {
		on(iv).Trail, on(iv).Began = on(iv).Course, w.Now
	}
	for _, t := range []*Digest{&on(iv).Trail, &on(iv).Course} {
		t.Number(int64(c))
		t.Text(subject)
		t.Number(int64(wrong))
		if err != nil {
			t.Text(err.Error())
		}
	}
	t.Number(w.Now - on(iv).Began)
	began := d.W.Start + on(iv).Began
	switch c {
	case world.CallLoad:
		t.Number(int64(rowsOf(d, began))) //nolint:gosec // a hash
		on(iv).Versions = map[string]int64{}
		for _, id := range w.Store.Ids {
			on(iv).Versions[id] = w.Store.Version(id)
		}
	case world.CallDue:
		for _, id := range w.Store.Ids {
			if r := w.Store.Rows[id].Record; r != nil && r.Bucket == port.DueBucket && !r.IndexAt.After(iv.P.Now()) {
				t.Text(id)
			}
		}
	case world.CallCommit:
		on(iv).Wrote = true
		if err == nil && on(iv).Versions != nil {
			on(iv).Versions[subject] = w.Store.Version(subject)
		}
	case world.CallSend:
		on(iv).Wrote = true
	case world.CallEntry, world.CallMove, world.CallDo, world.CallUndo:
		t.Number(int64(booksOf(d, began, subject))) //nolint:gosec // a hash
	case world.CallDepth:
		for _, l := range w.Queues[subject].Messages {
			t.Yes(l.Visible <= w.Now)
			t.Yes(l.Received > 0)
		}
	default: // these answer nothing but whether they went well
	}
}

// Adrift lets a call whose caller has given up arrive at any time.
func (d *Driver) Adrift(c worker.Call) {
	d.Landings = append(d.Landings, Landing{What: string(c.Operation) + " " + c.Key, Call: c})
}

// Ready reports whether the world is set up, so that nothing is drawn any more.
func (d *Driver) Ready() bool { return d.Marks != nil }
