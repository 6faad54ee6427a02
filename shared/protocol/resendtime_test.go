package protocol_test

import (
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// An end that is reported at once shall not move its index entry first: the resend time is the due time
// that stands there, unless that is later than twice tellAfter (P9, P11). A usual claim lasts 30 s.
func TestResendTimeLeavesTheIndex(t *testing.T) {
	for _, tt := range []struct {
		name            string
		tellAfter, want core.Duration // want: after noon
	}{
		{"the due time is a little later", 20 * core.Second, 30 * core.Second},
		{"it is later than twice as long", 5 * core.Second, 6 * core.Second},
		{"it is earlier", core.Minute, 61 * core.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			def := workflow(step("a"))
			def.ResendAfter = tt.tellAfter
			d := newDesk(t, def)
			d.decide(d.submit)
			_, due := protocol.Index(d.task)
			d.wait(core.Second)
			end := d.decide(done("a", 1))
			if d.task.ProcessState != core.Processed || d.task.End.ResendAt != noon.Add(tt.want) {
				t.Errorf("%s, to be reported again %s after noon, want %s", d.task.ProcessState,
					d.task.End.ResendAt.Sub(noon), tt.want)
			}
			if _, at := protocol.Index(d.task); at != min(due, d.task.End.ResendAt) {
				t.Errorf("indexed at %s, was at %s", at, due)
			}
			d.settle(end)
		})
	}
}
