package awsstub

import (
	"cmp"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// Call is one signed call that arrived.
type Call struct {
	// Action is the service of the signature with the operation, such as "sns:Publish". For a call that has no
	// name of an operation, the method stands in its place, such as "lambda:GET".
	Action string
	Region string // Region of the signature
	Host   string
	Path   string // escaped
	Header http.Header
	Form   url.Values // fields of the query protocol
	Body   string

	gone <-chan struct{} // closed when the caller has gone
}

// Answers is what AWS responds to a call of any service: the status and the text. A text that begins with < is XML.
// The status 0 means that no response comes before the context of the call ends.
type Answers func(Call) (status int, text string)

// ServeHTTP implements http.Handler.
func (a Answers) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := Call{Host: cmp.Or(r.Host, r.URL.Host), Path: r.URL.EscapedPath(), Header: r.Header, gone: r.Context().Done()}
	if r.Body != nil { // a client's request may have none
		body, _ := io.ReadAll(r.Body)
		c.Body = string(body)
	}
	c.Form, _ = url.ParseQuery(c.Body)
	// Credential=KEY/20261129/eu-central-1/sns/aws4_request
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
	operation := r.Header.Get("X-Amz-Target")
	operation = cmp.Or(operation[strings.LastIndexByte(operation, '.')+1:], c.Form.Get("Action"), r.Method)
	if parts := strings.Split(scope, "/"); len(parts) > 4 {
		c.Region = parts[2]
		c.Action = parts[3] + ":" + operation
	}
	status, text := a(c)
	if status == 0 {
		<-r.Context().Done()
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	if strings.HasPrefix(text, "<") {
		w.Header().Set("Content-Type", "text/xml")
	}
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}

// RoundTrip implements http.RoundTripper without a network, so that time can be that of testing/synctest.
func (a Answers) RoundTrip(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	w.Header().Set("Date", time.Now().UTC().Format(http.TimeFormat)) // as a server does
	a.ServeHTTP(w, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return w.Result(), nil
}

// Config returns a configuration of the SDK whose calls a test answers. No network is used.
func Config(t testing.TB, answers Answers) aws.Config {
	t.Helper()
	c := ConfigAt(t, "http://127.0.0.1:9")
	c.HTTPClient = &http.Client{Transport: answers}
	return c
}

// ConfigAt returns a configuration of the SDK with an endpoint for all services, or with AWS itself if the
// endpoint is "". Attempts follow each other at once; the SDK's backoff is drawn at random.
func ConfigAt(t testing.TB, endpoint string) aws.Config {
	t.Helper()
	c, err := wire.Environment(func(name string) (string, bool) {
		value, set := map[string]string{
			"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "stub",
			"AWS_SECRET_ACCESS_KEY": "stub", "AWS_ENDPOINT_URL": endpoint,
		}[name]
		return value, set
	})
	if err != nil {
		t.Fatal(err)
	}
	c.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts = wire.DefaultMaxAttempts
			o.MaxBackoff = time.Millisecond
		})
	}
	return c
}

// Denied is a response of the query protocol that refuses a call.
func Denied(text string) (status int, body string) {
	return http.StatusForbidden, `<ErrorResponse><Error><Type>Sender</Type><Code>AccessDenied</Code><Message>` + text +
		`</Message></Error></ErrorResponse>`
}
