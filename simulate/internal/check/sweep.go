package check

import (
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Counted records a queue depth that the invocation has read.
func Counted(iv *world.Invocation, queue string, d port.Depth) {
	if iv.Depths == nil {
		iv.Depths = map[string]port.Depth{}
	}
	iv.Depths[queue] = d
}

// Leased records whether this Supervisor got the lease of a shard. The function Looks reads the record.
func Leased(iv *world.Invocation, name string, ours bool) {
	if iv.Shards == nil {
		iv.Shards = map[string]bool{}
	}
	iv.Shards[name] = ours
}

// Looks checks that a Supervisor without the lease of a shard does not read the index of the shard (P16, the
// Supervisor hands back and gives up).
func Looks(iv *world.Invocation, shard int) {
	if ours, asked := iv.Shards["sweep/"+strconv.Itoa(shard)]; asked && !ours {
		iv.W.Violate("P16", "a Supervisor sweeps shard %d, which another one has", shard)
	}
}

// overlooked checks that a sweep or a restart has loaded every due task. It checks nothing if another
// Supervisor has the lease of a shard. A task that was committed in the meantime does not count.
func overlooked(iv *world.Invocation, due []DueAt) {
	for _, ours := range iv.Shards {
		if !ours {
			return
		}
	}
	for _, d := range due {
		r := iv.W.Store.Rows[d.Id]
		if r.Record == nil || r.Record.Version != d.version ||
			slices.ContainsFunc(iv.Sights, func(s *world.Sight) bool { return s.Id == d.Id }) {
			continue
		}
		iv.W.Violate("5", "order %s is due, and a sweep over all has not looked at it", d.Id)
	}
}

// DueAt is the index entry of a task, with the version of the task at the time of the listing.
type DueAt struct {
	Id      string
	version int64
}

// DueBy lists the tasks that are due at the given time.
func DueBy(w *world.Simulation, now time.Time) (all []DueAt) {
	for _, id := range w.Store.Ids {
		if r := w.Store.Rows[id].Record; r != nil && r.Bucket == port.DueBucket && !r.IndexAt.After(now) {
			all = append(all, DueAt{id, r.Version})
		}
	}
	return all
}

// Swept checks the tasks that a sweep has loaded. The sweep must have decided everything that is overdue
// (P16). If a due time was too early, the sweep must have moved it (P10, moving a due time is conditional).
func Swept(iv *world.Invocation, due []DueAt) {
	w := iv.W
	if iv.Dead || iv.Trouble {
		return
	}
	overlooked(iv, due)
	for _, s := range iv.Sights {
		if len(w.Below) > 0 {
			break
		}
		if s.After != nil {
			concluded(iv, s)
			continue
		}
		if s.Base == nil || s.Base.AtRest() || len(iv.Clock) == s.From {
			continue
		}
		w.Checks.Did("P16")
		rule := ""
		for _, now := range times(iv, s) {
			m := modelFor(iv, s, s.Base, now)
			if rule = m.Sweep(); rule == "" && s.Base.Due != model.Live(s.Base) {
				rule = "P10"
			}
			if rule == "" {
				break
			}
		}
		if rule != "" {
			w.Violate(rule, "order %s, version %d: a sweep has looked at it and left it as it was", s.Id,
				s.Base.Version)
		}
	}
}

// Restarted checks a restart of the Scheduler in embedded mode. The Scheduler must send again all messages
// that the tasks still need (P27, the embedded runtime survives its queues).
func Restarted(iv *world.Invocation, due []DueAt) {
	w := iv.W
	if iv.Dead || iv.Trouble {
		return
	}
	overlooked(iv, due)
	for _, s := range iv.Sights {
		t := s.Base
		if t == nil || t.AtRest() || len(s.Extra) > 0 || len(w.Below) > 0 {
			continue
		}
		w.Checks.Did("P27")
		last := core.Time(0)
		for _, r := range times(iv, s) {
			last = max(last, r.Now)
		}
		for i := range t.Steps {
			st := &t.Steps[i]
			going := t.ProcessState == core.Processing || t.ProcessState == core.Compensating
			switch {
			case model.Stands(t, st):
				s.Must = append(s.Must, model.OfClaim(w.DefOf(t), t, i, last)...)
			case st.State == core.Waiting && t.ProcessState == core.Compensating && st.CompleteBy != 0:
				// The Wake has no delay, because the undo has ended the wait.
				s.Must = append(s.Must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt})
			case going && model.Waits(st) && st.CompleteBy != 0:
				s.Must = append(s.Must, model.Mail{Kind: 'w', Step: st.Name, Attempt: st.Attempt,
					WakeAt: st.Wait.At})
			}
		}
		if t.End.ResendAt != 0 {
			s.Must = append(s.Must, model.OfEnd(w.DefOf(t), t)...)
		}
		for n := t.Told + 1; n <= t.StatusSeq && t.ReplyTo != "" && !model.Postponed(t, t.ReplyTo); n++ {
			if n != t.End.Seq {
				s.Must = append(s.Must, model.Mail{Kind: 't', Attempt: n})
			}
		}
		for _, want := range s.Must {
			if !tooFar(iv, want) && !has(s, want) {
				w.Violate("P27", "order %s: the restart did not send %s", s.Id, want)
			}
		}
	}
}
