package core

// TokenOf holds the claims of a token for an answer (P39, a token is an answer's permission). The token
// contains them and the order's ID, and nothing else.
type TokenOf struct {
	Run    int
	Step   string
	Person string // the only person who may answer with it; "" means everyone who has the token
}

// Tokens makes and checks the tokens of answers (P39) with its keys. The same arguments give the same token.
type Tokens interface {
	// Current returns the ID of the key for the tokens of new orders.
	Current() string
	// Holds reports whether it has the key with that ID.
	Holds(key string) bool
	// Token returns a token. It returns an error if it does not have the key, which may be newer than the
	// loaded keys.
	Token(key, order string, of TokenOf) (string, error)
	// Read checks a received token of an order. The error is a *Refusal.
	Read(order, token string, now Time) (TokenOf, error)
}

// CodeNoTokens is the code of a refusal because tokens are needed and no key exists.
const CodeNoTokens = "no-tokens"

// maxKeyID is the length of a key's ID.
const maxKeyID = 8

// ByToken replaces the person's name if the token of an answer names no person.
const ByToken = "token"

// HiddenTokens replaces tokens in a shown input, because a token is never stored or shown (P39).
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
