package core

const noNumber = -1

// CommandNames lists the names of all commands. The reserve of a document has a place for each refused one.
var CommandNames = []string{"cancel", "undo", "resubmit", "resolve", "close", "move", "erase", "answer"}

// Command holds the common fields of commands and answers.
type Command struct {
	Name   string // "cancel", "undo", "answer" and so on; "" if the event is no command
	ID     string
	Number int    // command number, or noNumber
	From   Sender // zero for an answer
}

// CommandOf returns the common fields of a command or an answer. For any other event, only Number is set, to
// noNumber.
func CommandOf(ev Event) Command {
	switch e := ev.(type) {
	case Cancel:
		return Command{"cancel", e.ID, noNumber, e.Sender}
	case UndoCommand:
		return Command{"undo", e.ID, e.Command, e.Sender}
	case Resubmit:
		return Command{"resubmit", e.ID, e.Command, e.Sender}
	case Resolve:
		return Command{"resolve", e.ID, e.Command, e.Sender}
	case Close:
		return Command{"close", e.ID, e.Command, e.Sender}
	case Move:
		return Command{"move", e.ID, e.Command, e.Sender}
	case Erase:
		return Command{"erase", e.ID, e.Command, e.Sender}
	case Answered:
		return Command{Name: "answer", ID: e.ID, Number: noNumber}
	}
	return Command{Number: noNumber}
}

// Stamped returns the command with the ID, the sender and the number. A Cancel gets no number. An answer gets
// only the ID.
func Stamped(ev Event, id string, from Sender, number int) Event {
	switch e := ev.(type) {
	case Cancel:
		e.ID, e.Sender = id, from
		return e
	case UndoCommand:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Resubmit:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Resolve:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Close:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Move:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Erase:
		e.ID, e.Command, e.Sender = id, number, from
		return e
	case Answered:
		e.ID = id
		return e
	}
	return ev
}
