package core

// TokenOf states what a token permits: an answer to a step of a run (P39, a token is an answer's permission).
type TokenOf struct {
	Run    int
	Step   string
	Person string // the only person who may use the token; "" means anyone who has the token
}

// Tokens makes and checks the tokens of answers (P39).
type Tokens interface {
	// Current returns the ID of the current signing key. A task without a signing key gets this key.
	Current() string
	// Holds reports whether the signing key with this ID is loaded.
	Holds(key string) bool
	// Token makes a token with the signing key whose ID is key. It returns an error if the key is not loaded.
	// Calls with the same arguments return the same token.
	Token(key, order string, of TokenOf) (string, error)
	// Read checks a received token of an order, and returns what the token permits. The error is a *Refusal.
	Read(order, token string, now Time) (TokenOf, error)
}

// CodeNoTokens is the code of a refusal because no signing key exists.
const CodeNoTokens = "no-tokens"

// KeyIDLength is the length of every signing key's ID, in hexadecimal digits.
const KeyIDLength = 8

// ByToken is stored instead of a person's name if the token of an answer names no person.
const ByToken = "token"

// HiddenTokens implements Tokens for step inputs that people see. It returns a placeholder instead of each
// token, because Stepkeeper shows no token (P39).
type HiddenTokens struct{}

// Current implements Tokens.
func (HiddenTokens) Current() string { return "hidden" }

// Holds implements Tokens.
func (HiddenTokens) Holds(string) bool { return true }

// Token implements Tokens.
func (HiddenTokens) Token(string, string, TokenOf) (string, error) { return hiddenToken, nil }

// Read implements Tokens.
func (HiddenTokens) Read(string, string, Time) (TokenOf, error) {
	return TokenOf{}, Refuse(CodeNoTokens, "there is no key for tokens here")
}
