// Package redact removes the credentials of a call from what is stored, logged or shown about the call.
package redact

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// Hidden stands in the place of a secret.
const Hidden = "[hidden]"

// Lengths of the shortest texts that a Redactor removes. Shorter texts occur in any text by chance. The limit
// is higher for outputs, because a removal changes the workflow's data.
const (
	minSecret       = 4
	minOutputSecret = 6
)

// Redactor removes the secrets of a call from what is stored or logged about the call. It finds a secret as
// it is, in base64, and escaped for a URL, JSON, HTML or Go. The zero value knows no secrets.
//
// Functions hold the secrets, because fmt would print values in unexported fields without a call of String.
type Redactor struct {
	secrets      func() []string
	text, output func() *strings.Replacer
}

func newRedactor(secrets []string) Redactor {
	written := sync.OnceValue(func() []string { return writings(secrets) })
	return Redactor{
		secrets: func() []string { return secrets },
		text:    sync.OnceValue(func() *strings.Replacer { return replacer(written(), minSecret) }),
		output:  sync.OnceValue(func() *strings.Replacer { return replacer(written(), minOutputSecret) }),
	}
}

// With returns a Redactor that removes more secrets.
func (r Redactor) With(more ...string) Redactor {
	var all []string
	if r.secrets != nil {
		all = r.secrets()
	}
	known := len(all)
	for _, s := range more {
		if len(s) >= minSecret && !slices.Contains(all, s) && !strings.Contains(Hidden, s) {
			all = append(slices.Clip(all), s)
		}
	}
	if len(all) == known {
		return r
	}
	return newRedactor(all)
}

// And returns a Redactor that removes the secrets of both.
func (r Redactor) And(other Redactor) Redactor {
	if other.secrets == nil {
		return r
	}
	return r.With(other.secrets()...)
}

// signed matches the secret parts of a signature of AWS: the ID of the key and the signature itself.
var signed = regexp.MustCompile(`(?:Credential|Signature)=([^/,\s]+)`)

// WithHeader returns a Redactor that also removes the credentials in the header of a request.
func (r Redactor) WithHeader(h http.Header) Redactor {
	more := []string{h.Get("X-Amz-Security-Token")}
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		value := h.Get(name)
		if parts := signed.FindAllStringSubmatch(value, -1); parts != nil {
			for _, part := range parts {
				more = append(more, part[1])
			}
			continue
		}
		_, credentials, schemed := strings.Cut(value, " ")
		if !schemed {
			credentials = value
		}
		more = append(more, credentials)
		if login, err := base64.StdEncoding.DecodeString(credentials); err == nil {
			_, password, _ := strings.Cut(string(login), ":")
			more = append(more, password)
		}
	}
	return r.With(more...)
}

// Text returns a text without the secrets.
func (r Redactor) Text(text string) string {
	if r.text == nil {
		return text
	}
	return r.text().Replace(text)
}

const maxExcerpt = 200 // characters

// Excerpt returns the beginning of a service's text for people, without the secrets and control characters.
func (r Redactor) Excerpt(text string) string {
	text = core.Printable(r.Text(text))
	if cut := []rune(text); len(cut) > maxExcerpt {
		text = string(cut[:maxExcerpt]) + "…"
	}
	return text
}

var jsonToken = regexp.MustCompile(`"(?:[^"\\]|\\.)*"|[-+.0-9A-Za-z]+`)

// Output removes the secrets from all strings and keys of a valid JSON document. It replaces a number that
// equals a secret. A document that contains no secret stays unchanged.
func (r Redactor) Output(document json.RawMessage) json.RawMessage {
	if r.output == nil {
		return document
	}
	cut := r.output().Replace
	if !bytes.Contains(document, []byte(`\`)) && cut(string(document)) == string(document) {
		return document
	}
	return jsonToken.ReplaceAllFunc(document, func(token []byte) []byte {
		text := string(token)
		if token[0] == '"' && json.Unmarshal(token, &text) != nil {
			return token
		}
		clean := cut(text)
		if clean == text || token[0] != '"' && clean != Hidden {
			return token
		}
		escaped, _ := json.Marshal(clean) // encoding a string cannot fail
		return escaped
	})
}

// replacer returns a replacer of the texts of a least length.
func replacer(texts []string, least int) *strings.Replacer {
	var pairs []string
	for _, text := range texts {
		if len(text) >= least {
			pairs = append(pairs, text, Hidden)
		}
	}
	return strings.NewReplacer(pairs...)
}

// writings returns the ways in which services write secrets, the longest first, because one may contain
// another one.
func writings(secrets []string) (all []string) {
	for _, secret := range secrets {
		for _, text := range append(inBase64(secret), secret) {
			all = append(all, text)
			if strings.ContainsFunc(text, isReserved) {
				all = append(all, escaped(text)...)
			}
		}
	}
	slices.SortFunc(all, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(all)
}

// inBase64 returns the characters that a secret has in base64, whatever text is before and after it.
func inBase64(secret string) (all []string) {
	for before := range 3 {
		text := base64.RawStdEncoding.EncodeToString([]byte(strings.Repeat("x", before) + secret))
		from := (before*8 + 5) / 6
		to := (before + len(secret)) * 8 / 6
		text = text[from:to]
		all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return all
}

// isReserved reports whether some programs escape a character.
func isReserved(c rune) bool {
	return !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9') &&
		!strings.ContainsRune("-._~", c)
}

var percent = regexp.MustCompile(`%[0-9A-F]{2}`)

// escaped returns the ways in which texts are escaped.
func escaped(text string) []string {
	inGo := strconv.Quote(text)
	inJSON, _ := json.Marshal(text) // encoding a string cannot fail
	shortJSON, _ := jsontext.AppendQuote(nil, text)
	all := []string{
		inGo[1 : len(inGo)-1], string(inJSON[1 : len(inJSON)-1]),
		string(shortJSON[1 : len(shortJSON)-1]), html.EscapeString(text),
	}
	form := url.QueryEscape(text)
	component := strings.ReplaceAll(form, "+", "%20")
	// The characters that Python, JavaScript and paths in Go keep.
	for _, kept := range []string{"", "/", "!'()*", "$&+=:@"} {
		address := component
		for _, c := range kept {
			address = strings.ReplaceAll(address, url.QueryEscape(string(c)), string(c))
		}
		all = append(all, address)
	}
	all = append(all, form)
	for _, address := range all[4:] {
		all = append(all, percent.ReplaceAllStringFunc(address, strings.ToLower))
	}
	return all
}
