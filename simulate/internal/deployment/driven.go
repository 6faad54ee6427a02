package deployment

import (
	"maps"
	"strings"

	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

func turn(d *world.Driver, iv *world.Invocation, c world.Call, subject string) bool {
	if !iv.Begun {
		iv.Begun = true
		iv.Began = d.W.Now
		iv.Input = d.Input
		iv.Mine = d.Mine
		for _, l := range d.Mine {
			iv.Receipts = append(iv.Receipts, l.Receipt)
		}
	}
	iv.Driven.Turn = &world.Turn{Call: c, Subject: subject}
	d.MoveTask = iv.Id
	ok := iv.Yield(0)
	iv.Driven.Turn = nil
	if !ok {
		iv.Dead = true
	}
	return !iv.Dead
}

// chosenFault returns the fault of a call: the chosen one, or the one that the scope is about.
func chosenFault(d *world.Driver, r world.Role, c world.Call, subject string) world.Act {
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

// answered adds what a call has answered its handler, and what went wrong at it.
func answered(d *world.Driver, iv *world.Invocation, c world.Call, subject string, wrong world.Fault,
	err error) {
	w, t := d.W, &iv.Trail
	iv.Made++
	// Earlier results do not count any more: see remembers.
	if c == world.CallLoad && iv.P.Role == world.AScheduler {
		iv.Trail, iv.Began = iv.Course, w.Now
	}
	for _, t := range []*world.Digest{&iv.Trail, &iv.Course} {
		t.Number(int64(c))
		t.Text(subject)
		t.Number(int64(wrong))
		if err != nil {
			t.Text(err.Error())
		}
	}
	t.Number(w.Now - iv.Began)
	began := d.W.Start + iv.Began
	switch c {
	case world.CallLoad:
		t.Number(int64(Rows(d, began))) //nolint:gosec // a hash
		iv.Versions = map[string]int64{}
		for _, id := range w.Store.Ids {
			iv.Versions[id] = w.Store.Version(id)
		}
	case world.CallDue:
		t.Number(int64(len(check.DueBy(w, iv.P.Now()))))
		for _, due := range check.DueBy(w, iv.P.Now()) {
			t.Text(due.Id)
		}
	case world.CallCommit:
		if iv.Wrote = true; err == nil && iv.Versions != nil {
			iv.Versions = maps.Clone(iv.Versions) // A snapshot may share the map.
			iv.Versions[subject] = w.Store.Version(subject)
		}
	case world.CallSend:
		iv.Wrote = true
	case world.CallEntry, world.CallMove, world.CallDo, world.CallUndo:
		t.Number(int64(Books(d, began, subject))) //nolint:gosec // a hash
	case world.CallDepth:
		for _, l := range w.Queues[subject].Messages {
			t.Yes(l.Visible <= w.Now)
			t.Yes(l.Received > 0)
		}
	default: // these answer nothing but whether they went well
	}
}
