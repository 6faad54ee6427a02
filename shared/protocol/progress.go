package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// progressInterval is the shortest time between two stored reports of progress (P43, long work reports
// progress). For a timeout below 2 minutes, a quarter of the timeout applies instead.
const progressInterval = 30 * core.Second

// progressed moves the complete-by time of a step to a later time, but at most to stopBy (P43).
func (s step) progressed(ev core.Event) (string, error) {
	e := ev.(core.Progress)
	interval := min(progressInterval, s.TimeoutOf(s.d)/4)
	switch {
	case e.Operation != core.Do || !s.Long(s.d):
		return "the step has no maxDuration: progress does not give it more time", nil
	case s.Claim.StopBy.Passed(s.at.Now):
		return "the attempt's stopBy has passed", nil
	case s.Claim.Progress != nil && s.at.Now < s.Claim.Progress.At.Add(interval) &&
		e.Until <= s.CompleteBy.Add(interval):
		// A report with a much later Until is stored at once, because the next report may come late.
		return "progress was stored a moment ago", nil
	}
	until := e.Until
	if until == 0 {
		until = s.at.Now.Add(s.d.Timeout)
	}
	s.CompleteBy = max(s.CompleteBy, min(until, s.Claim.StopBy))
	s.Claim.Progress = &StepProgress{
		Percent: min(max(e.Percent, 0), 100), Note: core.ShortNote(e.Note),
		At: s.at.Now,
	}
	if s.t.notifies(s.def, core.StatusProgress) {
		s.tell(s.t.Status(core.Status{
			Kind: core.StatusProgress, At: s.at.Now, Step: s.Name,
			Percent: s.Claim.Progress.Percent,
			Note:    s.Claim.Progress.Note,
		}))
	}
	return "", nil
}
