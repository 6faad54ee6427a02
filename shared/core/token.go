package core

// TokenOf is the content of a token for an answer (P39). The token holds it and the order, and nothing else.
type TokenOf struct {
	Run    int
	Step   string
	Person string // person who may answer with it; "" means everyone who has the token
}

// Tokens computes and reads the tokens of answers (P39): the same arguments give the same token. It holds the
// keys.
type Tokens interface {
	// Current is the ID of the key that a new order's tokens are made with.
	Current() string
	// Holds reports whether the key of that ID is among them.
	Holds(key string) bool
	// Token makes one. An error where the key is not held: perhaps it is newer than what is known here.
	Token(key, order string, of TokenOf) (string, error)
	// Read checks a token that came in for an order. The error is a *Refusal.
	Read(order, token string, now Time) (TokenOf, error)
}

// CodeNoTokens is the code of a refusal where tokens are needed and there is no key.
const CodeNoTokens = "no-tokens"

// maxKeyID is the length of the ID of a key.
const maxKeyID = 8

// ByToken stands for a person where an answer came by a token that names none.
const ByToken = "token"

// HiddenTokens stand where an input is shown: a token is never stored or shown (P39).
type HiddenTokens struct{}

// Current of Tokens.
func (HiddenTokens) Current() string { return "hidden" }

// Holds of Tokens.
func (HiddenTokens) Holds(string) bool { return true }

// Token of Tokens.
func (HiddenTokens) Token(string, string, TokenOf) (string, error) { return hiddenToken, nil }

// Read of Tokens.
func (HiddenTokens) Read(string, string, Time) (TokenOf, error) {
	return TokenOf{}, Refuse(CodeNoTokens, "there is no key for tokens here")
}
