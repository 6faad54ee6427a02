// Package token makes and reads the tokens with which people answer a step (P39, a token is an answer's
// permission). A token holds the ID of a key, the run, the step and the person. It also holds an HMAC over
// the order, the run, the step and the person. Stepkeeper computes each token when needed, and stores no
// token.
package token

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Codes of refused tokens.
const (
	CodeMalformed = "token-malformed"
	CodeUnknown   = "token-unknown"
	CodeExpired   = "token-expired"
	CodeForeign   = "token-foreign"
)

// Readable is the time for which Read accepts the tokens of a replaced key.
const Readable = 400 * core.Day

// Bounds of keys and tokens.
const (
	secretSize = 32
	macSize    = 16
	maxToken   = 512
	maxKeys    = 64
)

var keyID = regexp.MustCompile(`^[0-9a-f]{8}$`)

type key struct {
	ID     string `json:"id"`
	Secret []byte `json:"secret"` // base64 in the file
	// time at which the key stopped being the current key; 0 for the current key
	Replaced core.Time `json:"replaced,omitempty"`
}

// Keys holds the current key and the previous keys. The current key is the first. Keys is immutable and safe
// for concurrent use.
type Keys struct{ all []key }

var _ core.Tokens = (*Keys)(nil)

// New returns Keys with one new key.
func New() *Keys { return (&Keys{}).Replace(0) }

// Fixed returns two publicly known keys for tests and simulations, so that tokens are the same in each run.
// The current key is the second key if later is true, and the first key otherwise.
func Fixed(later bool) *Keys {
	all := []key{
		{ID: "00000000", Secret: make([]byte, secretSize)},
		{ID: "00000001", Secret: bytes.Repeat([]byte{1}, secretSize)},
	}
	if later {
		slices.Reverse(all)
	}
	all[1].Replaced = core.Time(core.Day) * 36_500 // a time in the future
	return &Keys{all}
}

// Replace returns Keys with a new current key. Read accepts the tokens of the previous key for the time
// Readable.
func (k *Keys) Replace(now core.Time) *Keys {
	random := make([]byte, 4+secretSize)
	_, _ = rand.Read(random) // rand.Read always fills the slice
	all := []key{{ID: hex.EncodeToString(random[:4]), Secret: random[4:]}}
	for n, old := range k.all {
		if n == 0 {
			old.Replaced = now
		}
		// The list includes keys that Read no longer accepts, because the tokens of their orders must stay
		// the same.
		if old.ID != all[0].ID && len(all) < maxKeys {
			all = append(all, old)
		}
	}
	return &Keys{all}
}

// minGenerated is the smallest length of a random text from which Parse makes a key. A random text of 48
// letters and digits has more than 256 random bits.
const minGenerated = 48

// generated derives a key from a random text. Secrets Manager can generate such a text.
func generated(text string) key {
	id := sha256.Sum256([]byte("stepkeeper key id\n" + text))
	secret := sha256.Sum256([]byte("stepkeeper key\n" + text))
	return key{ID: hex.EncodeToString(id[:4]), Secret: secret[:]}
}

// Parse reads the stored form of keys. It accepts the output of Encode, and the form {"generated": "random
// text"}. From the random text it derives one key. The errors contain no secret.
func Parse(data []byte) (*Keys, error) {
	var stored struct {
		Keys      []key  `json:"keys"`
		Generated string `json:"generated"`
	}
	if err := json.Unmarshal(data, &stored); err != nil {
		return nil, errors.New("the keys of tokens are not in the form that they are written in")
	}
	if len(stored.Keys) == 0 && len(stored.Generated) >= minGenerated {
		return &Keys{[]key{generated(stored.Generated)}}, nil
	}
	if len(stored.Keys) == 0 || len(stored.Keys) > maxKeys {
		return nil, fmt.Errorf("there are %d keys of tokens, 1 to %d can be used", len(stored.Keys), maxKeys)
	}
	for n, k := range stored.Keys {
		switch {
		case !keyID.MatchString(k.ID):
			return nil, fmt.Errorf("key %d of tokens has no ID of 8 hexadecimal digits", n+1)
		case len(k.Secret) != secretSize:
			return nil, fmt.Errorf("the secret of key %s has %d bytes and not %d", k.ID, len(k.Secret),
				secretSize)
		case (k.Replaced == 0) != (n == 0):
			return nil, errors.New("the first key of tokens is the current one, and all others say when " +
				"they were replaced")
		case slices.ContainsFunc(stored.Keys[:n], func(o key) bool { return o.ID == k.ID }):
			return nil, fmt.Errorf("the key %s stands there twice", k.ID)
		}
	}
	return &Keys{stored.Keys}, nil
}

// Encode returns the stored form that Parse reads. The stored form contains the secrets.
func (k *Keys) Encode() []byte {
	data, _ := json.MarshalIndent(map[string]any{"keys": k.all}, "", "  ") // strings always encode
	return append(data, '\n')
}

// String returns the number of keys. It prevents log lines that contain the secrets.
func (k *Keys) String() string { return fmt.Sprintf("%d keys", len(k.all)) }

// Current returns the ID of the current key, which new orders use.
func (k *Keys) Current() string { return k.all[0].ID }

// Holds reports whether k contains the key with the given ID.
func (k *Keys) Holds(id string) bool { return k.index(id) >= 0 }

// Derive returns a secret for the given purpose. It computes the secret from the current key, so a new
// current key changes the secret.
func (k *Keys) Derive(purpose string) []byte {
	h := hmac.New(sha256.New, k.all[0].Secret)
	fmt.Fprintf(h, "stepkeeper derived 1\n%s", purpose)
	return h.Sum(nil)
}

// Token returns the token with which a person answers a step of an order. It uses the key with the given ID.
func (k *Keys) Token(id, order string, of core.TokenOf) (string, error) {
	i := k.index(id)
	if i < 0 {
		return "", fmt.Errorf("the key %.8s of the order's tokens is not held here; restore the keys", id)
	}
	claims := strconv.Itoa(of.Run) + "/" + of.Step + "/" + of.Person
	return id + "." + encoding.EncodeToString([]byte(claims)) + "." +
		encoding.EncodeToString(k.all[i].mac(order, claims)), nil
}

// encoding is strict, so that each value has only one encoded text. A token with a changed last character is
// therefore refused.
var encoding = base64.RawURLEncoding.Strict()

// mac returns the authentication code over the order and the claims. The length of the order in the hashed
// text separates the order from the claims.
func (k *key) mac(order, claims string) []byte {
	h := hmac.New(sha256.New, k.Secret)
	fmt.Fprintf(h, "stepkeeper answer 1\n%d\n%s\n%s", len(order), order, claims)
	return h.Sum(nil)[:macSize]
}

func (k *Keys) index(id string) int {
	return slices.IndexFunc(k.all, func(k key) bool { return k.ID == id })
}

// Read checks a received token of an order. It compares the authentication code in constant time. Its errors
// reveal nothing about orders or keys.
func (k *Keys) Read(order, token string, now core.Time) (core.TokenOf, error) {
	p, ok := split(token)
	if !ok {
		return core.TokenOf{}, refuse(CodeMalformed,
			"the token is not complete; use the whole link as it was sent")
	}
	i := k.index(p.key)
	switch {
	case i < 0:
		return core.TokenOf{}, refuse(CodeUnknown,
			"the token was made with a key that is not known here; ask for a new link")
	case k.all[i].Replaced != 0 && k.all[i].Replaced.Add(Readable) <= now:
		return core.TokenOf{}, refuse(CodeExpired,
			"the token was made with a key that was replaced long ago; ask for a new link")
	case !hmac.Equal(p.mac, k.all[i].mac(order, p.claims)):
		return core.TokenOf{}, refuse(CodeForeign,
			"the token is not one of this order; use the link as it was sent")
	}
	return p.of, nil
}

// StepOf returns the step that a token names, without checking the token. It returns "" if the text does not
// have the form of a token.
func StepOf(token string) string {
	p, _ := split(token)
	return p.of.Step
}

// parsed is a token whose authentication code has not been checked.
type parsed struct {
	key    string // ID of the key, as written in the token
	claims string
	mac    []byte
	of     core.TokenOf
}

func split(token string) (p parsed, ok bool) {
	parts := strings.Split(token, ".")
	if len(token) > maxToken || len(parts) != 3 || !keyID.MatchString(parts[0]) {
		return p, false
	}
	text, err := encoding.DecodeString(parts[1])
	if err != nil {
		return p, false
	}
	mac, err := encoding.DecodeString(parts[2])
	said := strings.SplitN(string(text), "/", 3)
	if err != nil || len(mac) != macSize || len(said) != 3 {
		return p, false
	}
	run, err := strconv.Atoi(said[0])
	if err != nil || run < 0 || said[1] == "" || said[2] != "" && !core.PersonName(said[2]) {
		return p, false
	}
	of := core.TokenOf{Run: run, Step: said[1], Person: said[2]}
	return parsed{parts[0], string(text), mac, of}, true
}

func refuse(code, text string) error { return &core.Refusal{Code: code, Field: "token", Text: text} }
