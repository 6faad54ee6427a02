package protocol

import (
	"github.com/stepkeeper/stepkeeper/shared/core"
)

// redacted returns an event without the tokens of answers that services and people have put into it (P39). A
// token is recognised by its shape, whichever order and key it is of. So the result is the same each time,
// and needs no key (P12). A Resubmit keeps its input, which is refused if it holds a token.
func redacted(ev core.Event) core.Event {
	switch e := ev.(type) {
	case core.Reply:
		e.Output, e.Code, e.Message = core.RedactJSON(e.Output), core.RedactText(e.Code),
			core.RedactText(e.Message)
		return e
	case core.Progress:
		e.Note = core.RedactText(e.Note)
		return e
	case core.ChildEnded:
		e.Output, e.Code, e.Message = core.RedactJSON(e.Output), core.RedactText(e.Code),
			core.RedactText(e.Message)
		return e
	case core.Answered:
		e.Value, e.By, e.Note = core.RedactJSON(e.Value), core.RedactText(e.By), core.RedactText(e.Note)
		return e
	case core.Cancel:
		e.Sender = redactedSender(e.Sender)
		return e
	case core.UndoCommand:
		e.Sender = redactedSender(e.Sender)
		return e
	case core.Resubmit:
		e.Sender = redactedSender(e.Sender)
		return e
	case core.Resolve:
		e.Output, e.Sender = core.RedactJSON(e.Output), redactedSender(e.Sender)
		return e
	case core.Close:
		e.Sender = redactedSender(e.Sender)
		return e
	case core.Move:
		e.Sender = redactedSender(e.Sender)
		return e
	case core.Erase:
		e.Sender = redactedSender(e.Sender)
		return e
	}
	return ev
}

func redactedSender(s core.Sender) core.Sender {
	return core.Sender{By: core.RedactText(s.By), Reason: core.RedactText(s.Reason)}
}
