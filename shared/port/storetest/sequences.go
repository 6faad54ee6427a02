package storetest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Sequences runs random sequences of operations against a fresh adapter and against a small model,
// and compares their answers step by step, while single faults of the backend pass by where the
// adapter lets them be injected. A failure is shrunk to a short sequence. RAPID_CHECKS is how many
// sequences there are (default 100), RAPID_STEPS how long they are on average (30).
func Sequences(t *testing.T, options Options, make Make) {
	if options.Settle == 0 {
		options.Settle = 10 * time.Second
	}
	rapid.Check(t, func(r *rapid.T) {
		p := &pair{T: r, a: newModel(), b: make(t), options: options, ctx: t.Context(), versions: map[string]int64{}, moves: map[string]int64{}}
		defer p.close()
		steps := map[string]func(*rapid.T){
			"commit": p.commit, "load": p.load, "order": p.order, "due": p.due, "": func(*rapid.T) { p.inject() },
		}
		for name, step := range map[string]struct {
			run   func(*rapid.T)
			there bool
		}{
			"list":       {p.list, options.ListsFinished && !options.ListsNothing},
			"fault":      {p.fault, p.b.Inject != nil},
			"forget":     {p.forget, p.b.Forget != nil},
			"definition": {p.definition, p.b.Definitions != nil},
			"lease":      {p.lease, p.b.Leases != nil},
			"move":       {p.move, p.b.Ledger != nil},
		} {
			if step.there {
				steps[name] = step.run
			}
		}
		r.Repeat(steps)
	})
}

// pair is the model and the adapter that has to behave like it.
type pair struct {
	*rapid.T
	a, b     Backends
	options  Options
	ctx      context.Context
	versions map[string]int64 // stored, as far as the answers told
	moves    map[string]int64
	created  int     // so that no two tasks are of one millisecond, where the order is not defined
	faults   []Fault // that the next operation meets
}

// fault lets the next operation meet one.
func (p *pair) fault(r *rapid.T) { p.faults = []Fault{rapid.SampledFrom(allFaults).Draw(r, "fault")} }

// inject runs between two operations: a fault that was met by none is none of the next one's.
func (p *pair) inject() {
	if p.b.Inject != nil {
		p.b.Inject(p.faults...)
		p.faults = nil
	}
}

func (p *pair) close() {
	if p.b.Close != nil {
		p.b.Close()
	}
}

// class is what a caller can tell about an error.
func class(err error) string {
	if err == nil {
		return "success"
	}
	for _, sentinel := range []error{port.ErrExists, port.ErrNotFound, port.ErrConflict, port.ErrTooLarge, port.ErrUnavailable, port.ErrReceipt, port.ErrHash} {
		if errors.Is(err, sentinel) {
			return sentinel.Error()
		}
	}
	return "another error"
}

func (p *pair) same(what string, a, b any) {
	p.Helper()
	if x, y := fmt.Sprint(a), fmt.Sprint(b); x != y {
		p.Fatalf("%s:\n  the model   %s\n  the adapter %s", what, x, y)
	}
}

// sameSoon compares what may lag behind.
func (p *pair) sameSoon(what string, ask func(Backends) string) {
	p.Helper()
	a, b := ask(p.a), ask(p.b)
	for deadline := time.Now().Add(p.options.Settle); a != b && p.options.StaleIndex && time.Now().Before(deadline); {
		time.Sleep(50 * time.Millisecond)
		a, b = ask(p.a), ask(p.b)
	}
	p.same(what, a, b)
}

var (
	ids      = rapid.SampledFrom([]string{"a", "b", "c", "A", "a.b", "1", "01", strings.Repeat("z", 128)})
	states   = rapid.SampledFrom([]string{"Processing", "Error", "Processed", "Compensating"})
	buckets  = rapid.SampledFrom([]port.Bucket{port.DueBucket, port.DueBucket, port.AttentionBucket, port.NoBucket})
	seconds  = rapid.IntRange(0, 20)
	sizes    = rapid.SampledFrom([]int{2, 3, 50, 1000, 4090, 9000, port.MaxDocument, port.MaxDocument + 1})
	offsets  = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, -1})
	pageSize = rapid.IntRange(1, 5)
)

// write draws a write that often, but not always, fits what is stored.
func (p *pair) write(r *rapid.T) port.Write {
	id := ids.Draw(r, "id")
	expected := max(0, p.versions[id]+offsets.Draw(r, "off"))
	p.created++
	w := port.Write{Expected: expected, Record: port.Record{
		ID: id, Version: expected + 1, State: states.Draw(r, "state"), Workflow: "order",
		Created: epoch.Add(time.Duration(p.created) * time.Millisecond), Bucket: buckets.Draw(r, "bucket"),
		IndexAt: at(seconds.Draw(r, "at")), Document: document(sizes.Draw(r, "size")),
	}}
	if expected == 0 {
		w.Order = &port.Order{ID: id, ContentHash: fmt.Sprint(p.created), Body: []byte("{}"), Created: w.Record.Created}
		switch rapid.IntRange(0, 5).Draw(r, "kind") {
		case 0:
			w.Order = nil
		case 1:
			w.Order.Body = nil // a tombstone (P17)
		}
		return w
	}
	if stored, errs := p.a.Store.Load(p.ctx, []string{id}); errs[0] == nil && stored[0] != nil {
		w.Record.Workflow, w.Record.Created = stored[0].Workflow, stored[0].Created // they never change
	}
	return w
}

func (p *pair) commit(r *rapid.T) {
	var writes []port.Write
	used := map[string]bool{} // the order of two writes for one task in a batch is not defined
	for range rapid.IntRange(1, 4).Draw(r, "writes") {
		if w := p.write(r); !used[w.Record.ID] {
			used[w.Record.ID] = true
			writes = append(writes, w)
		}
	}
	a, b := p.a.Store.Commit(p.ctx, writes), p.b.Store.Commit(p.ctx, writes)
	for i, w := range writes {
		p.same(fmt.Sprintf("commit of %.20q on version %d", w.Record.ID, w.Expected), class(a[i]), class(b[i]))
		if a[i] == nil {
			p.versions[w.Record.ID] = w.Record.Version
		}
	}
}

func (p *pair) load(r *rapid.T) {
	list := rapid.SliceOfN(ids, 0, 5).Draw(r, "ids")
	a, errsA := p.a.Store.Load(p.ctx, list)
	b, errsB := p.b.Store.Load(p.ctx, list)
	for i := range list {
		p.same("load", class(errsA[i]), class(errsB[i]))
		if (a[i] == nil) != (b[i] == nil) {
			p.Fatalf("load of %q: %v and %v", list[i], a[i], b[i])
		}
		if a[i] != nil {
			if diff := difference(*b[i], *a[i]); diff != "" {
				p.Fatalf("load of %q: the adapter's %s", list[i], diff)
			}
		}
	}
}

func (p *pair) order(r *rapid.T) {
	id := ids.Draw(r, "id")
	a, errA := p.a.Store.LoadOrder(p.ctx, id)
	b, errB := p.b.Store.LoadOrder(p.ctx, id)
	p.same("order", class(errA), class(errB))
	if errA == nil && (a.ContentHash != b.ContentHash || !bytes.Equal(a.Body, b.Body) || !a.Created.Equal(b.Created)) {
		p.Fatalf("order %q: %+v and %+v", id, a, b)
	}
}

// due compares a bucket, shards put together, since the adapters may have other numbers of them.
func (p *pair) due(r *rapid.T) {
	bucket, before, size := buckets.Draw(r, "bucket"), at(seconds.Draw(r, "before")), pageSize.Draw(r, "page")
	if bucket == port.NoBucket {
		return
	}
	p.sameSoon("due", func(b Backends) string {
		all := map[string]time.Time{}
		for shard := range b.Store.Shards() {
			var after *port.Due
			for {
				page, err := b.Store.Due(p.ctx, bucket, shard, before, after, size)
				if err != nil {
					return "error " + err.Error()
				}
				for _, d := range page {
					all[d.ID] = d.At.UTC()
				}
				if len(page) < size {
					break
				}
				after = &page[len(page)-1]
			}
		}
		return fmt.Sprint(all) // maps print in the order of their keys
	})
}

func (p *pair) list(r *rapid.T) {
	q := port.Query{Limit: pageSize.Draw(r, "page")}
	if rapid.Bool().Draw(r, "by state") {
		q.State = states.Draw(r, "state")
	}
	if rapid.Bool().Draw(r, "by time") {
		q.After = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "after")) * time.Millisecond)
		q.Before = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "before")) * time.Millisecond)
	}
	p.sameSoon("list", func(b Backends) string {
		var all []string
		for q := q; ; {
			page, err := b.Store.List(p.ctx, q)
			if err != nil {
				return "error " + err.Error()
			}
			for _, record := range page.Records {
				all = append(all, fmt.Sprint(record.ID, " ", record.Version))
			}
			if q.Cursor = page.Next; q.Cursor == "" {
				return strings.Join(all, ", ")
			}
		}
	})
}

func (p *pair) forget(r *rapid.T) {
	id := ids.Draw(r, "id")
	p.same("forget", class(p.a.Forget(p.ctx, []string{id})), class(p.b.Forget(p.ctx, []string{id})))
}

func (p *pair) definition(r *rapid.T) {
	data := []byte(states.Draw(r, "data"))
	hash := core.DefinitionHash(data)
	if rapid.IntRange(0, 4).Draw(r, "another hash") == 0 {
		hash = ids.Draw(r, "hash")
	}
	if rapid.Bool().Draw(r, "put") {
		p.same("put definition", class(p.a.Definitions.PutDefinition(p.ctx, hash, data)), class(p.b.Definitions.PutDefinition(p.ctx, hash, data)))
	}
	a, errA := p.a.Definitions.Definition(p.ctx, hash)
	b, errB := p.b.Definitions.Definition(p.ctx, hash)
	p.same("definition", string(a)+class(errA), string(b)+class(errB))
}

func (p *pair) lease(r *rapid.T) {
	name, owner := ids.Draw(r, "lease"), rapid.SampledFrom([]string{"x", "y"}).Draw(r, "owner")
	now, ttl := at(seconds.Draw(r, "now")), time.Duration(seconds.Draw(r, "ttl"))*time.Second
	a, errA := p.a.Leases.Acquire(p.ctx, name, owner, now, ttl)
	b, errB := p.b.Leases.Acquire(p.ctx, name, owner, now, ttl)
	p.same("lease", fmt.Sprint(a, class(errA)), fmt.Sprint(b, class(errB)))
}

func (p *pair) move(r *rapid.T) {
	key := ids.Draw(r, "key")
	e := port.LedgerEntry{Key: key, State: states.Draw(r, "state"), Attempt: seconds.Draw(r, "attempt"), Version: max(0, p.moves[key]+offsets.Draw(r, "off")), Output: []byte(`{}`)}
	err := p.a.Ledger.Move(p.ctx, e)
	p.same("move", class(err), class(p.b.Ledger.Move(p.ctx, e)))
	if err == nil {
		p.moves[key] = e.Version + 1
	}
	a, errA := p.a.Ledger.Entry(p.ctx, key)
	b, errB := p.b.Ledger.Entry(p.ctx, key)
	p.same("entry", fmt.Sprintf("%+v %s", a, class(errA)), fmt.Sprintf("%+v %s", b, class(errB)))
}
