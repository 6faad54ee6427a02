package deployment

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/simulate/internal/model"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// Rows hashes what stands in the store.
func Rows(d *world.Driver, now int64) (sum world.Digest) {
	for _, id := range d.W.Store.Ids {
		one := world.EmptyDigest
		one.Text(id)
		row(d, &one, d.W.Store.Rows[id], now)
		sum += one // The sum does not depend on their order.
	}
	return sum
}

func row(d *world.Driver, h *world.Digest, r *world.Row, now int64) {
	h.Yes(r.Known(), r.Record != nil, len(r.WasDue) > 0)
	if r.Record == nil {
		return
	}
	// but for Closing, the same in every Close of an exploration, and why it stopped or is undone, and its
	// attempts, which no decision reads
	t := r.Task
	slack := 2*d.W.Skew() + 2
	h.Text(string(t.ProcessState))
	h.Yes(t.Erased != nil)
	if (t.ProcessState == core.Processed || t.ProcessState == core.Cancelled ||
		t.ProcessState == core.Closed) && t.AtRest() {
		final(d, h, t)
		return
	}
	h.Text(string(t.Phase))
	h.Text(string(t.Why))
	h.Text(t.Definition)
	h.Text(t.TokenKey)
	if len(t.Removed) > 0 {
		h.Text(fmt.Sprint(t.Removed))
	}
	if len(t.Refused) > 0 {
		h.Text(fmt.Sprint(t.Refused))
	}
	h.Yes(t.CancelAsked, t.Attention, t.ReplyTo != "", t.Output != nil)
	for _, n := range [...]int{t.Run, t.Command, t.Hops, t.StatusSeq, t.StartSeq, t.EndSeq, t.EndCommand,
		t.DeadlineSeq, len(t.Steps), len(t.Verdicts)} {
		h.Number(int64(n))
	}
	for i := range t.Verdicts {
		h.Text(t.Verdicts[i].ID)
		h.Yes(t.Verdicts[i].Accepted)
	}
	h.Text(t.StartCause)
	h.Text(t.EndCause)
	h.Moment(t.Deadline, now, 0)
	h.Moment(t.ResendAt, now, 0)
	if len(d.W.Store.Ids) > 1 { // The index may list any of them first.
		h.Number(int64(t.Due) - now)
	} else {
		h.Moment(t.Due, now, 0)
	}
	for i := range t.Steps {
		step(d, h, &t.Steps[i], now, slack)
		h.Yes(t.Steps[i].NoEffect > t.Ended)
	}
}

// final is a task that nothing changes any more: messages about it may be ahead of it, have it send something
// again, or be refused.
func final(d *world.Driver, h *world.Digest, t *core.Task) {
	h.Text(t.Definition)
	h.Number(int64(t.Run))
	h.Text(t.StartCause)
	h.Text(t.EndCause)
	for i := range t.Verdicts {
		h.Text(t.Verdicts[i].ID)
		h.Yes(t.Verdicts[i].Accepted)
	}
	if len(t.Refused) > 0 {
		h.Text(fmt.Sprint(t.Refused))
	}
	for i := range t.Steps {
		h.Text(string(t.Steps[i].State))
		h.Number(int64(t.Steps[i].Attempt))
		h.Text(t.Steps[i].FinishCause)
		answers(h, &t.Steps[i])
	}
}

// answers leaves out when they came, which no rule asks for.
func answers(h *world.Digest, s *core.Step) {
	a := s.Answers
	if a == nil {
		return
	}
	for _, n := range [...]int{a.Round, a.Reminded, a.Need, len(a.Who), len(a.Votes), len(a.Verdicts)} {
		h.Number(int64(n))
	}
	h.Text(a.NotSelf)
	for _, name := range a.Who {
		h.Text(name)
	}
	for _, v := range a.Votes {
		h.Text(v.By)
		h.Text(string(v.Value))
	}
	for _, v := range a.Verdicts {
		h.Text(v.ID)
		h.Yes(v.Accepted)
	}
	if d, ok := model.DecidedOf(s); ok {
		h.Text(string(d.Value))
		h.Text(d.By)
	}
}

// step leaves out what no rule asks for: LockedBy (the name of a process), FirstAt but for services that
// forget keys, FinishedAt, Until, EndState and the error's text; ClaimedAt counts while the claim stands
// (P32).
func step(d *world.Driver, h *world.Digest, s *core.Step, now, slack int64) {
	h.Text(string(s.State))
	h.Yes(s.Undo, s.Output != nil, s.Resolved != nil, s.Resolved != nil && s.Resolved.At > s.ClaimedAt,
		s.NoEffect != 0)
	for _, n := range [...]int64{int64(s.Attempt), int64(s.First), int64(s.FailureCount),
		int64(s.UndoFailures), int64(s.FinishSeq),
		int64(s.Allowance), int64(s.Queued)} {
		h.Number(n)
	}
	h.Text(s.Cause)
	h.Text(s.Agent)
	h.Text(s.FinishCause)
	h.Text(s.FailureCode)
	h.Moment(s.CompleteBy, now, 0)
	h.Moment(s.WakeAt, now, 0)
	h.Moment(s.StopBy, now, slack)
	h.Moment(s.Quiet(), now, slack)
	h.Moment(s.LastStop(), now, slack)
	if s.InFlight() {
		h.Number(int64(s.ClaimedAt) - now)
	}
	// P37: when the next reminder is due, and whether the last is sent again
	if a := s.Answers; s.State == core.Waiting && a != nil && a.RemindedAt != 0 {
		h.Number(int64(s.ClaimedAt) - now)
		h.Number(int64(a.RemindedAt.Sub(s.ClaimedAt)))
		h.Yes(a.Moved)
	}
	if since := model.SinceOf(s); since != 0 {
		h.Number(int64(since) - now)
	}
	if d.W.Kept() > 0 && s.First > 0 {
		h.Number(int64(s.FirstClaim()) - now)
	}
	if s.Error != nil {
		h.Text(s.Error.Code)
		h.Number(int64(s.Error.Attempt))
	}
	if s.Resolved != nil {
		h.Text(string(s.Resolved.Fact))
		h.Number(int64(s.Resolved.Command))
	}
	if s.Corrected != nil {
		h.Text(string(s.Corrected.Input))
	}
	if s.Progress != nil {
		h.Number(int64(s.Progress.Percent))
		h.Number(int64(s.Progress.At) - now)
	}
	answers(h, s)
}

// Books are those of the services, and the agents' ledgers: of one key, or of all.
func Books(d *world.Driver, now int64, only string) (sum world.Digest) {
	w := d.W
	for key, s := range w.Services {
		if only != "" && key != only {
			continue
		}
		one := world.EmptyDigest
		one.Text(key)
		one.Number(int64(s.Proven<<12 | s.Applied<<8 | s.Net<<4 | s.Pending))
		one.Yes(s.Known, s.Fenced, s.Undone)
		if w.Forgets() {
			one.Number(w.Start + s.Since - now)
		}
		sum += one
	}
	for _, a := range w.Agents {
		for key, e := range w.Ledgers[a].Entries {
			if only != "" && key != only {
				continue
			}
			one := world.EmptyDigest
			one.Text(key)
			one.Text(e.State)
			one.Number(int64(e.Attempt))
			one.Number(int64(e.Command))
			one.Number(e.Version)
			sum += one
		}
	}
	return sum
}
