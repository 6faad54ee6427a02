package protocol

import (
	"encoding/hex"
	"hash/fnv"
	"strconv"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Causes are logical, not a queue's message ID, so that a redelivery is recognised (P4).
func causeReply(r core.Reply) string {
	return "reply/" + r.Step + "/" + strconv.Itoa(r.Attempt) + "/" + string(r.Outcome)
}

func causeOf(ev core.Event, t *core.Task) string {
	switch e := ev.(type) {
	case core.Submitted:
		return "submit"
	case core.Reply:
		return causeReply(e)
	case core.Overdue:
		return "overdue/" + e.Step + "/" + strconv.Itoa(e.Attempt)
	case core.Wake:
		return "wake/" + e.Step + "/" + strconv.Itoa(e.Attempt)
	case core.DeadlinePassed:
		return "deadline/" + strconv.Itoa(e.Run) + "/" + strconv.Itoa(t.Deadline.Seq)
	case core.Cancel:
		return "cancel/" + strconv.Itoa(e.Run)
	case core.UndoCommand:
		return "undo/" + strconv.Itoa(e.Command)
	case core.Resubmit:
		return "resubmit/" + strconv.Itoa(e.Command)
	case core.Resolve:
		return "resolve/" + strconv.Itoa(e.Command)
	case core.Close:
		return "close/" + strconv.Itoa(e.Command)
	case core.Move:
		return "move/" + strconv.Itoa(e.Command)
	case core.Erase:
		return "erase/" + strconv.Itoa(e.Command)
	case core.Answered:
		return causeAnswer(e)
	case core.AskChild:
		return "parent/" + strconv.Itoa(e.Parent.Attempt) + "/" + string(e.Ask)
	case core.ChildEnded:
		return "child/" + e.Parent.Step + "/" + strconv.Itoa(e.Parent.Attempt) + "/" +
			strconv.Itoa(e.Parent.Index)
	}
	return ""
}

// causeAnswer holds a hash of the answer's ID, so that no cause is longer than that of a reply.
func causeAnswer(e core.Answered) string {
	h := fnv.New64a()
	_, _ = h.Write([]byte(e.Name + "/" + strconv.Itoa(e.Run) + "/" + strconv.Itoa(e.Round) + "/" + e.ID))
	return "answer/" + e.Step + "/" + hex.EncodeToString(h.Sum(nil))
}
