package awsstub

import (
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
}

// Answers serves calls of any service of AWS: answer returns the status and the text of each response. A text
// that begins with < is XML.
func Answers(answer func(Call) (status int, text string)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		c := Call{Host: r.Host, Path: r.URL.EscapedPath(), Header: r.Header, Body: string(body)}
		c.Form, _ = url.ParseQuery(c.Body)
		// Credential=KEY/20261129/eu-central-1/sns/aws4_request
		_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=")
		operation := r.Header.Get("X-Amz-Target")
		operation = operation[strings.LastIndexByte(operation, '.')+1:]
		if operation == "" {
			operation = c.Form.Get("Action")
		}
		if operation == "" {
			operation = r.Method
		}
		if parts := strings.Split(scope, "/"); len(parts) > 4 {
			c.Region = parts[2]
			c.Action = parts[3] + ":" + operation
		}
		status, text := answer(c)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.HasPrefix(text, "<") {
			w.Header().Set("Content-Type", "text/xml")
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text)
	})
}

// Config returns a configuration of the SDK whose calls a server on loopback answers.
func Config(t testing.TB, answer func(Call) (status int, text string)) aws.Config {
	t.Helper()
	server := httptest.NewServer(Answers(answer))
	t.Cleanup(server.Close)
	return ConfigAt(t, server.URL)
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
