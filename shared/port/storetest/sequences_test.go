package storetest_test

import (
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
	rapid.Check(t, func(r *rapid.T) {
		p := &sequence{
			suite: options.suite(t, make(t)), versions: map[string]int64{},
			moves: map[string]int64{},
		}
		p.TB = r
		if p.Close != nil {
			defer p.Close()
		}
		steps := map[string]func(*rapid.T){
			"commit": p.commit, "load": p.load, "due": p.due, "": func(*rapid.T) { p.inject() },
		}
		for name, step := range map[string]struct {
			run   func(*rapid.T)
			there bool
		}{
			"list":       {p.list, listsFinished(p.suite)},
			"fault":      {p.fault, hasInject(p.suite)},
			"forget":     {func(r *rapid.T) { p.same(forgets(ids.Draw(r, "id"))) }, hasForget(p.suite)},
			"definition": {p.definition, hasDefinitions(p.suite)},
			"lease":      {p.lease, hasLeases(p.suite)},
			"move":       {p.move, hasLedger(p.suite)},
		} {
			if step.there {
				steps[name] = step.run
			}
		}
		r.Repeat(steps)
	})
}

// sequence draws operations.
type sequence struct {
	*suite
	versions map[string]int64 // stored versions, as far as the results showed
	moves    map[string]int64
	// time of the last creation; tasks of the same millisecond have no defined order, so no two share one
	created int
	faults  []Fault // faults of the next operation
}

// fault adds a fault to the next operation.
func (p *sequence) fault(r *rapid.T) {
	p.faults = []Fault{rapid.SampledFrom(allFaults).Draw(r, "fault")}
}

// inject runs between two operations. It drops an unused fault, so that the next operation does not meet it.
func (p *sequence) inject() {
	if p.Inject != nil {
		p.Inject(p.faults...)
		p.faults = nil
	}
}

var (
	ids     = rapid.SampledFrom([]string{"a", "b", "c", "A", "a.b", "1", "01", strings.Repeat("z", 128)})
	states  = rapid.SampledFrom([]string{"Processing", "Error", "Processed", "Compensating"})
	buckets = rapid.SampledFrom([]port.Bucket{
		port.DueBucket, port.DueBucket, port.AttentionBucket,
		port.NoBucket,
	})
	seconds  = rapid.IntRange(0, 20)
	sizes    = rapid.SampledFrom([]int{2, 3, 50, 1000, 4090, 9000, port.MaxDocument, port.MaxDocument + 1})
	offsets  = rapid.SampledFrom([]int64{0, 0, 0, 0, 0, 1, -1})
	pageSize = rapid.IntRange(1, 5)
)

// write draws a write that often, but not always, fits the stored records.
func (p *sequence) write(r *rapid.T) port.Write {
	id := ids.Draw(r, "id")
	expected := max(0, p.versions[id]+offsets.Draw(r, "off"))
	p.created++
	w := write(id, expected, created(epoch.Add(time.Duration(p.created)*time.Millisecond)),
		holding(document(sizes.Draw(r, "size"))),
		in(buckets.Draw(r, "bucket"), at(seconds.Draw(r, "at"))))
	w.Record.State = states.Draw(r, "state")
	switch {
	case w.Record.State == "Error" && w.Record.Bucket == port.DueBucket: // nothing of it is in flight
		w.Record.Bucket = port.AttentionBucket
	case w.Record.Bucket == port.NoBucket:
		w.Record.State = "Processed"
	}
	if expected == 0 {
		apart(fmt.Append(nil, p.created))(&w)
		switch rapid.IntRange(0, 5).Draw(r, "kind") {
		case 0, 1:
			inline(&w)
		case 2:
			tombstone(&w)
		}
		return w
	}
	if stored, errs := p.model.Store.Load(p.ctx, []string{id}); errs[0] == nil && stored[0] != nil {
		w.Record.Workflow = stored[0].Workflow
		w.Record.Created = stored[0].Created // they never change
	}
	return w
}

func (p *sequence) commit(r *rapid.T) {
	var writes []port.Write
	used := map[string]bool{} // the order of two writes for one task in a batch is not defined
	for range rapid.IntRange(1, 4).Draw(r, "writes") {
		if w := p.write(r); !used[w.Record.ID] {
			used[w.Record.ID] = true
			writes = append(writes, w)
		}
	}
	p.suite.commit(writes...)
	for id := range used {
		if stored, _ := p.model.Store.Load(p.ctx, []string{id}); stored[0] != nil {
			p.versions[id] = stored[0].Version
		}
	}
}

func (p *sequence) load(r *rapid.T) {
	if rapid.Bool().Draw(r, "content") {
		id := ids.Draw(r, "id")
		p.same(loadsContent(id, p.contentOf(id)), ended(id))
		return
	}
	p.same(loads(rapid.SliceOfN(ids, 0, 5).Draw(r, "ids")...))
}

func (p *sequence) due(r *rapid.T) {
	if bucket := buckets.Draw(r, "bucket"); bucket != port.NoBucket {
		p.soon(readsDue(bucket, at(seconds.Draw(r, "before")), pageSize.Draw(r, "page")))
	}
}

func (p *sequence) list(r *rapid.T) {
	var q port.Query
	if rapid.Bool().Draw(r, "by state") {
		q.State = states.Draw(r, "state")
	}
	if rapid.Bool().Draw(r, "by time") {
		q.After = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "after")) * time.Millisecond)
		q.Before = epoch.Add(time.Duration(rapid.IntRange(0, 100).Draw(r, "before")) * time.Millisecond)
	}
	p.soon(lists(q, pageSize.Draw(r, "page"), false))
}

func (p *sequence) definition(r *rapid.T) {
	data := []byte(states.Draw(r, "data"))
	hash := core.DefinitionHash(data)
	if rapid.IntRange(0, 4).Draw(r, "another hash") == 0 {
		hash = ids.Draw(r, "hash")
	}
	if rapid.Bool().Draw(r, "put") {
		p.same(puts(hash, data))
	}
	p.same(defines(hash))
}

func (p *sequence) lease(r *rapid.T) {
	p.same(acquires(ids.Draw(r, "lease"), rapid.SampledFrom([]string{"x", "y"}).Draw(r, "owner"),
		at(seconds.Draw(r, "now")), time.Duration(seconds.Draw(r, "ttl"))*time.Second))
}

func (p *sequence) move(r *rapid.T) {
	e := port.LedgerEntry{
		Key: ids.Draw(r, "key"), State: states.Draw(r, "state"),
		Attempt: seconds.Draw(r, "attempt"), Output: []byte(`{}`),
	}
	e.Version = max(0, p.moves[e.Key]+offsets.Draw(r, "off"))
	p.same(moves(e), entries(e.Key))
	stored, _ := p.model.Ledger.Entry(p.ctx, e.Key)
	p.moves[e.Key] = stored.Version
}
