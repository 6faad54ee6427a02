package core

// noNumber stands for the number of an event that carries none.
const noNumber = -1

// CommandOf returns the ID and the sender of a command, and the command number that it carries. Of an answer
// it returns the ID.
func CommandOf(ev Event) (id string, from Sender, number int) {
	switch e := ev.(type) {
	case Cancel:
		return e.ID, e.Sender, noNumber
	case UndoCommand:
		return e.ID, e.Sender, e.Command
	case Resubmit:
		return e.ID, e.Sender, e.Command
	case Resolve:
		return e.ID, e.Sender, e.Command
	case Close:
		return e.ID, e.Sender, e.Command
	case Move:
		return e.ID, e.Sender, e.Command
	case Erase:
		return e.ID, e.Sender, e.Command
	case Answered:
		return e.ID, Sender{}, noNumber
	}
	return "", Sender{}, noNumber
}

// Stamped is the inverse of CommandOf: it returns the command with that ID, sender and number. Of a Cancel it
// leaves out the number, and an answer gets the ID only.
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
