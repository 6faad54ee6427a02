package core_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// benchmark decides the same event on the same document, as a shell does between load and commit.
func benchmark(b *testing.B, prepare func(d *desk) core.Event) {
	d := newDesk(b, workflow(step("a"), step("b", after("a")), step("c", after("b")), step("d", after("c"))))
	for i := range d.def.Steps { // the expressions are not the core's
		d.def.Steps[i].Input, d.def.Steps[i].Undo.Input = nil, nil
	}
	ev := prepare(d)
	def, order, task, at := d.def, d.order, d.task, d.at()
	b.ReportAllocs()
	for b.Loop() {
		if _, err := core.Decide(def, order, task, ev, at); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
}

func BenchmarkSubmitted(b *testing.B) {
	benchmark(b, func(d *desk) core.Event { return d.submit })
}

func BenchmarkReplyDone(b *testing.B) {
	benchmark(b, func(d *desk) core.Event {
		d.decide(d.submit)
		return done("a", 1)
	})
}

func BenchmarkLastReplyDone(b *testing.B) {
	benchmark(b, func(d *desk) core.Event {
		d.decideAll(d.submit, done("a", 1), done("b", 1), done("c", 1))
		return done("d", 1)
	})
}

func BenchmarkOverdue(b *testing.B) {
	benchmark(b, func(d *desk) core.Event {
		d.decide(d.submit)
		d.wait(core.Minute)
		return overdue("a", 1)
	})
}
