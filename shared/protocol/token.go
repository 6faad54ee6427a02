package protocol

import (
	"errors"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// pinKey assigns a signing key to a task whose workflow makes tokens. The task keeps the key, so that a
// repeated request contains the same token (P12, effects are emitted again).
func (r *decision) pinKey() error {
	switch {
	case !r.def.Tokens: // a key from before a Move is removed (P49, move pins another definition)
		r.t.TokenKey = ""
	case r.t.TokenKey != "":
	case r.at.Tokens == nil:
		return core.Refuse(core.CodeNoTokens, "the workflow %s makes tokens, and this deployment has no key "+
			"for them; deploy one, then send it again", r.def.Name)
	default:
		r.t.TokenKey = r.at.Tokens.Current()
	}
	return nil
}

// token returns a token for an answer to a step (P39, a token is an answer's permission).
func (r *decision) token(step, person string) (string, error) {
	switch {
	case r.at.Tokens == nil:
		return "", errors.New("this deployment has no key for tokens; deploy one, as " +
			"docs/how-to/answer-links.md shows")
	case person != "" && !core.PersonName(person):
		return "", errors.New("the person of a token is not a name of 1 to 128 bytes without control " +
			"characters and < > & \" \\; correct the data that the workflow passes")
	}
	text, err := r.at.Tokens.Token(r.t.TokenKey, r.t.OrderID,
		core.TokenOf{Run: r.t.Run, Step: step, Person: person})
	if err != nil { // the step does not fail, because the queue delivers the message again
		r.err = err
	}
	return text, err
}
