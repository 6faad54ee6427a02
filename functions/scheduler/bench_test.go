package scheduler_test

import (
	"fmt"
	"testing"

	"github.com/stepkeeper/stepkeeper/functions/internal/world"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// One order of three steps through the Scheduler, with store and queues in memory: what the actor
// itself costs.
func BenchmarkOrder(b *testing.B) {
	def := world.Definition()
	def.Notify, def.Output = nil, nil
	w := world.New(b, def)
	w.CacheFor = 10_000
	w.Boot()
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		id := fmt.Sprint("o-", i)
		o := *world.Order(id)
		o.ReplyTo = ""
		if r := w.Scheduler.Submit(ctx, []message.SubmitOrder{o}); r[0].Err != nil {
			b.Fatal(r[0].Err)
		}
		for _, steps := range [][]string{{"a", "b"}, {"c"}} {
			for _, step := range steps {
				for _, d := range w.Take("requests-agent-" + step) {
					r := d.Value.(*message.Request)
					if failed := w.Scheduler.Handle(ctx, port.Replies, deliver(world.Done(r))); len(failed) > 0 {
						b.Fatal("given back")
					}
				}
			}
		}
		if i == 0 && w.Task(id).ProcessState != core.Processed {
			b.Fatal("not done")
		}
	}
}
