package protocol

import (
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// enough evaluates how many of the children must end well (P54, the first of several decides). It returns 0 for a step
// that needs all of them. Its errors contain no data of the order.
func (s step) enough(count int) (int, error) {
	if s.d.Each.Enough == nil || !s.orderKnown() {
		return 0, nil
	}
	if count == 0 {
		return 0, &core.Fail{Code: core.CodeNoneLeft, Message: "each is an empty list, so no child can end well"}
	}
	text, err := s.def.Expr.Value(core.PartEnough, s.i, s.environment(false))
	if err != nil {
		return 0, err
	}
	var n core.Whole
	if n.UnmarshalJSON(text) != nil || n < 1 || int(n) > count {
		return 0, fmt.Errorf("enough must be a whole number from 1 to %d, the number of elements of each", count)
	}
	return int(n), nil
}

// decideChildren decides a list of which enough children have ended well. No more start, and the open ones have lost:
// they are undone, while the steps after this one begin. A Move keeps how many are enough, as the claim has stored it.
func (s step) decideChildren() {
	c := s.Children
	mode := modeOf(s.t)
	ended := c.Next - len(c.Open) - c.Failed
	if c.Enough == 0 || ended < c.Enough || c.Stopped || s.Withdrawn != 0 || mode != going && mode != errForward {
		return
	}
	output := c.Output(s.d.Each.Collect)
	c.Results = nil
	c.Rounds = 0
	if !s.outputFits(output) {
		s.stopChildren(tooMuchCollected)
		return
	}
	s.finish(output)
	s.State = core.Settling
}

// settleChildren asks the children that have lost for their undo, and again when the time has come. The step ends when
// the last of them is undone.
func (s step) settleChildren() {
	c := s.OwnChildren()
	switch {
	case len(c.Open) == 0:
		s.release()
		s.State = core.Processed
		return
	case !s.due(s.at.Now):
		return
	case s.Wait.At == 0: // decided by this event, or taken up by a Resubmit
		for n := range c.Open {
			c.Open[n] = OpenChild{Index: c.Open[n].Index, Cause: s.cause}
		}
	default:
		c.Rounds++
	}
	s.askOpen("")
	if s.err == nil {
		s.wait(s.at.Now.Add(c.Pause()))
	}
}
