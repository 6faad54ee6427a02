package httpagent

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// encodings are the ways in which a service may write what it received.
var encodings = map[string]func(text string) string{
	"as it is":     func(text string) string { return text },
	"base64":       func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
	"base64 moved": func(text string) string { return base64.StdEncoding.EncodeToString([]byte("user:" + text)) },
	"base64url":    func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte("a " + text)) },
	"base64 in a form": func(text string) string {
		return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(text)))
	},
	"form": url.QueryEscape,
	"path": url.PathEscape,
	"form, small hex": func(text string) string {
		return regexp.MustCompile("%[0-9A-F]{2}").ReplaceAllStringFunc(url.QueryEscape(text), strings.ToLower)
	},
	"component": func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") },
	"Python's quote": func(text string) string {
		return strings.NewReplacer("+", "%20", "%2F", "/").Replace(url.QueryEscape(text))
	},
	"JSON within JSON": func(text string) string { b, _ := json.Marshal(text); return string(b) },
	"Go":               strconv.Quote,
	"HTML":             html.EscapeString,
}

// echo is a service, a token endpoint and a proxy. It returns the credentials that it received, encoded, as an
// output, or one after the other as the text of an error. It returns all tokens that it has ever received.
type echo struct {
	mu       sync.Mutex
	encode   func(string) string
	fails    bool
	issued   int
	calls    int
	received []string
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.URL.Path == "/token" {
		e.issued++
		_, _ = fmt.Fprintf(w, `{"access_token":"token+%d/issued==","token_type":"Bearer","expires_in":5}`, e.issued)
		return
	}
	e.calls++
	if e.issued == 0 {
		e.received = nil // each call has credentials of its own, but a token is used again
	}
	for _, name := range []string{"Authorization", "Proxy-Authorization", "X-Amz-Security-Token", "Cookie", "X-Key"} {
		value := r.Header.Get(name)
		if value == "" {
			continue
		}
		scheme, credentials, _ := strings.Cut(value, " ")
		var login []byte
		if scheme == "Basic" {
			login, _ = base64.StdEncoding.DecodeString(credentials)
		}
		_, signature, _ := strings.Cut(value, "Signature=")
		for _, text := range []string{value, credentials, string(login), signature} {
			if text != "" {
				e.received = append(e.received, e.encode(text))
			}
		}
	}
	e.received = append(e.received, e.encode(r.URL.Path))
	body := map[string]any{"received": e.received, e.received[0]: 1}
	if e.fails {
		w.WriteHeader(http.StatusUnprocessableEntity)
		said := e.received[e.calls%len(e.received)]
		body = map[string]any{"message": said, "code": said}
	}
	_ = json.NewEncoder(w).Encode(body)
}

// Texts that occur by chance are not removed, and neither is the mark itself.
func TestShortSecretsAreNotRemoved(t *testing.T) {
	r := redact.Redactor{}.With("", "a", "ab", "abc", "hidden", "PIN4", "abcdef")
	for text, want := range map[string]string{"ababc PIN4, abcdef": "ababc [hidden], [hidden]", "[hidden]": "[hidden]"} {
		require.Equal(t, want, r.Text(text))
		require.Equal(t, want, r.Text(want))
	}
	for output, want := range map[string]string{
		`["ab","PIN4",1]`:     `["ab","PIN4",1]`,
		`{"abcdef":"hidden"}`: `{"[hidden]":"hidden"}`,
	} {
		require.Equal(t, want, string(r.Output(json.RawMessage(output))))
	}
	require.NoError(t, worker.Rewritten(nil, r.Text))
	require.Equal(t, "a secret PIN4", redact.Redactor{}.Text("a secret PIN4"))
}

// A secret from a file often ends with a line break, which no service accepts. A certificate may have one.
func TestALineBreakAtTheEndOfASecretIsNamed(t *testing.T) {
	chain, key := certificate(t)
	values := map[string]string{"TOKEN": "s3cr3t\n", "WINDOWS": "s3cr3t\r\n", "CHAIN": chain, "KEY": key}
	const oauth = "auth: {oauth2: {tokenURL: 'https://a.example', clientID: a, clientSecret: '${env:TOKEN}'}}"
	for entry, want := range map[string]string{
		"headers: {A: 'Bearer ${env:TOKEN}'}": "TOKEN", "headers: {A: '${env:WINDOWS}'}": "WINDOWS",
		oauth: "TOKEN",
		"proxy: 'http://a:${env:TOKEN}@b.example'":                        "TOKEN",
		"auth: {certificate: {chain: '${env:CHAIN}', key: '${env:KEY}'}}": "",
	} {
		_, err := agentOf("url: 'https://a.example', "+entry, values)
		if want == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "the value of "+want+" ends with a line break")
		require.NotContains(t, err.Error(), "s3cr3t")
	}
}

// No credential of a call, of any kind and in any encoding, is in its output or in its error.
func TestNoCredentialIsStored(t *testing.T) {
	const key, secret, session = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPx", "IQoJb3JpZ2luX2VjE+/Ym9ndXM="
	values := map[string]string{
		"SECRET": `s3cr3t/"<v+lue &`, "BASIC": "c2hvcDpzM2NyM3QtcGFzc3dvcmQ=",
		"TOKEN": "t0ken/part+two==", "WORD": "s3cret-w0rd",
	}
	kinds := map[string]struct {
		entry   string
		secrets []string
	}{
		"header": {`headers: {X-Key: "a ${env:SECRET}"}`, []string{values["SECRET"], "s3cr3t"}},
		"bearer": {`headers: {Authorization: "Bearer ${env:TOKEN}"}`, []string{values["TOKEN"], "t0ken"}},
		"basic":  {`headers: {Authorization: "Basic ${env:BASIC}"}`, []string{values["BASIC"], "s3cr3t-password"}},
		"cookie": {`headers: {Cookie: "a=${env:TOKEN}; b=c"}`, []string{values["TOKEN"], "t0ken"}},
		"oauth2": {
			`auth: {oauth2: {tokenURL: "%[1]s/token", clientID: shop, clientSecret: "${env:TOKEN}"}}`,
			[]string{"/issued", "token+"},
		},
		"sigv4": {
			`auth: {sigv4: {service: execute-api}}`,
			[]string{key, session, "IQoJb3JpZ2lu", secret, "Signature=0", "Signature=a"},
		},
		"proxy": {
			`proxy: "http://shop:${env:WORD}@%[2]s", insecure: true`,
			[]string{values["WORD"], "c2hvcDpzM2NyZXQtdzByZA"},
		},
		"address": {`operations: {"*": {path: /x}}, url: "%[1]s/${env:WORD}"`, []string{values["WORD"]}},
	}
	for kind, c := range kinds {
		for encoding, encode := range encodings {
			for _, fails := range []bool{false, true} {
				t.Run(fmt.Sprintf("%s, %s, fails %v", kind, encoding, fails), func(t *testing.T) {
					e := &echo{encode: encode, fails: fails}
					srv := httptest.NewServer(e)
					defer srv.Close()
					host := strings.TrimPrefix(srv.URL, "http://")
					entry := strings.NewReplacer("%[1]s", srv.URL, "%[2]s", host).Replace(c.entry)
					if !strings.Contains(entry, "url: ") {
						address := srv.URL
						if kind == "proxy" {
							address = "http://service.example"
						}
						entry += `, url: "` + address + `"`
					}
					charge := charging(t, entry, values, Options{AWS: aws.Config{
						Region:      "eu-west-3",
						Credentials: credentials.NewStaticCredentialsProvider(key, secret, session),
					}})
					shown := ""
					for range 4 { // with OAuth2 each call has a token of its own
						out, err := charge()
						require.Equal(t, fails, err != nil, "%v", err)
						shown += fmt.Sprintf("%s %v\n", out, err)
						if f := (*worker.Failure)(nil); errors.As(err, &f) {
							shown += f.Code + "\n"
						}
					}
					require.Contains(t, shown, redact.Hidden)
					for _, s := range c.secrets {
						for _, w := range encodings {
							require.NotContains(t, shown, strings.Trim(w(s), `"=`))
						}
					}
				})
			}
		}
	}
}
