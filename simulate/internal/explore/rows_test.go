package explore

import (
	"fmt"
	"reflect"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/simulate/internal/check"
	"github.com/stepkeeper/stepkeeper/simulate/internal/world"
)

// rowsOf hashes what stands in the store.
func rowsOf(d *Driver, now int64) (sum Digest) {
	for _, id := range d.W.Store.Ids {
		one := EmptyDigest
		one.Text(id)
		row(d, &one, d.W.Store.Rows[id], now)
		sum += one // The sum does not depend on their order.
	}
	return sum
}

func row(d *Driver, h *Digest, r *world.Row, now int64) {
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
	undoable := t.ProcessState == core.Processed && t.Parent != nil // by its parent (P41)
	if (t.ProcessState == core.Processed || t.ProcessState == core.Cancelled ||
		t.ProcessState == core.Closed) && t.AtRest() && !undoable {
		final(d, h, t)
		return
	}
	h.Text(string(t.Phase))
	h.Text(string(t.Undo.Why))
	h.Text(t.Definition)
	h.Text(t.TokenKey)
	if len(t.Attempts.Removed) > 0 {
		h.Text(fmt.Sprint(t.Attempts.Removed))
	}
	if len(t.Commands.Refused) > 0 {
		h.Text(fmt.Sprint(t.Commands.Refused))
	}
	h.Yes(t.Undo.CancelAsked, t.Attention, t.ReplyTo != "", t.Output != nil)
	for _, n := range [...]int{
		t.Run, t.Commands.Number, t.Hops, t.StatusSeq, t.Start.Seq, t.End.Seq,
		t.End.Command,
		t.Deadline.Seq, len(t.Steps), len(t.Commands.Verdicts),
	} {
		h.Number(int64(n))
	}
	for i := range t.Commands.Verdicts {
		h.Text(t.Commands.Verdicts[i].ID)
		h.Yes(t.Commands.Verdicts[i].Accepted)
	}
	passed(h, t)
	h.Moment(t.Deadline.At, now, 0)
	h.Moment(t.End.ResendAt, now, 0)
	if t.End.ResendAt != 0 { // the next resend time depends on how long the end is ago (P11)
		h.Number(max(now-int64(t.End.At), int64(d.W.DefOf(t).ResendAfter)))
	}
	for _, u := range t.Undelivered {
		h.Text(u.ReplyTo)
		h.Number(int64(u.First))
		h.Number(int64(u.Since) - now) // the next resend time depends on how long that is ago (P12b)
		h.Moment(u.ResendAt, now, 0)
	}
	if len(d.W.Store.Ids) > 1 && t.Due != 0 { // The index may list any of them first.
		h.Number(int64(t.Due) - now)
	} else {
		h.Moment(t.Due, now, 0)
	}
	for i := range t.Steps {
		step(d, h, &t.Steps[i], now, slack)
		h.Yes(t.Steps[i].NoEffect > t.End.At)
	}
}

// passed adds the answers that a task has from its parent, or passes on (P56, answers pass through).
func passed(h *Digest, t *protocol.Task) {
	h.Number(int64(len(t.Took)))
	for _, id := range t.Took {
		h.Text(id)
	}
	for i := range t.Steps {
		p := t.Steps[i].Passing
		h.Yes(p != nil)
		if p == nil {
			continue
		}
		for _, a := range p.Answers {
			h.Text(a.ID)
			h.Yes(a.Above)
		}
		for _, id := range p.Known {
			h.Text(id)
		}
	}
}

// final is a task that nothing changes any more: messages about it may be ahead of it, have it send something
// again, or be refused.
func final(d *Driver, h *Digest, t *protocol.Task) {
	h.Text(t.Definition)
	h.Number(int64(t.Run))
	for i := range t.Commands.Verdicts {
		h.Text(t.Commands.Verdicts[i].ID)
		h.Yes(t.Commands.Verdicts[i].Accepted)
	}
	if len(t.Commands.Refused) > 0 {
		h.Text(fmt.Sprint(t.Commands.Refused))
	}
	passed(h, t)
	for i := range t.Steps {
		h.Text(string(t.Steps[i].State))
		h.Number(int64(t.Steps[i].Attempt))
		h.Text(t.Steps[i].Finish.Cause)
		answers(h, &t.Steps[i])
	}
}

// answers leaves out when they came, which no rule asks for.
func answers(h *Digest, s *protocol.Step) {
	a := s.Answers
	if a == nil {
		return
	}
	for _, n := range [...]int{a.Round, a.Refused, a.Need, len(a.Who), len(a.Votes), len(a.Verdicts)} {
		h.Number(int64(n))
	}
	h.Text(a.NotSelf)
	for _, name := range a.Who {
		h.Text(name)
	}
	for _, v := range a.Votes {
		h.Text(v.By)
		h.Text(string(v.Value))
		h.Text(v.Passed + v.ID)
	}
	for _, v := range a.Verdicts {
		h.Text(v.ID)
		h.Yes(v.Accepted)
	}
	if d, ok := check.DecidedOf(s); ok {
		h.Text(string(d.Value))
		h.Text(d.By)
	}
}

// step leaves out what no rule asks for: LockedBy (the name of a process), FirstAt but for services that
// forget keys, FinishedAt, Until, EndState and the error's text; ClaimedAt counts while the claim stands
// (P32).
func step(d *Driver, h *Digest, s *protocol.Step, now, slack int64) {
	h.Text(string(s.State))
	h.Yes(s.Claim.Undo, s.Output != nil, s.Resolved != nil, s.Resolved != nil && s.Resolved.At > s.Claim.At,
		s.NoEffect != 0, s.Withdrawn != 0)
	for _, name := range s.Won {
		h.Text(name)
	}
	h.Moment(s.Late.At, now, 0)
	h.Number(int64(s.Late.Seq))
	for _, n := range [...]int64{
		int64(s.Attempt), int64(s.First.Nth), int64(s.Failures.Do),
		int64(s.Failures.Undo), int64(s.Finish.Seq),
		int64(s.Claim.Allowance), int64(s.Failures.Queued),
	} {
		h.Number(n)
	}
	h.Text(s.Claim.Cause)
	h.Text(s.Claim.Agent)
	h.Text(s.Finish.Cause)
	h.Text(s.FailureCode)
	h.Moment(s.CompleteBy, now, 0)
	h.Moment(s.Wait.At, now, 0)
	h.Moment(s.Claim.StopBy, now, slack)
	h.Moment(s.Quiet(), now, slack)
	h.Moment(s.LastStop(), now, slack)
	if s.InFlight() {
		h.Number(int64(s.Claim.At) - now)
	}
	// P59: when the next reminder is due, and whether the last is sent again
	if m := s.Reminded; m != (protocol.Reminded{}) {
		h.Number(int64(s.FirstClaim()) - now)
		h.Number(int64(s.Claim.At) - now)
		h.Number(int64(m.N))
		h.Number(int64(m.At) - now)
		h.Yes(m.Moved, m.Unsent != "")
		h.Moment(s.RemindAt(), now, 0)
	}
	if s.Error != nil && s.Error.Since != 0 {
		h.Number(int64(s.Error.Since) - now)
	}
	if d.W.Kept() > 0 && s.First.Nth > 0 {
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
	if s.Claim.Progress != nil {
		h.Number(int64(s.Claim.Progress.Percent))
		h.Number(int64(s.Claim.Progress.At) - now)
	}
	answers(h, s)
	children(h, s.Children, now)
}

// children hashes the record of child orders. The pause before they are asked again grows in the first rounds only. The
// ends of iterations are for people only.
func children(h *Digest, c *protocol.Children, now int64) {
	if c == nil {
		return
	}
	known := *c
	known.Ends = nil
	for known.Rounds > 0 && (&protocol.Children{Rounds: known.Rounds - 1}).Pause() == c.Pause() {
		known.Rounds--
	}
	h.Value(reflect.ValueOf(known), now)
}

// booksOf hashes the books those of the services, and the agents' ledgers: of one key, or of all.
func booksOf(d *Driver, now int64, only string) (sum Digest) {
	w := d.W
	for key, s := range w.Services {
		if only != "" && key != only {
			continue
		}
		one := EmptyDigest
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
			one := EmptyDigest
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
