package httpagent

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// class is the meaning of a range of statuses, if the field classify of the agents file does not change it.
type class struct {
	from, to  int  // first and last status
	permanent bool // no repetition can succeed
	noEffect  bool // the status proves that the call had no effect (P31, a plain service needs a ledger)
	text      string
}

// answers lists the meanings of statuses. The first matching line counts.
//
// A status 2xx is not in the table: it means that the operation was done. This includes the status 202, even
// if the service has not finished its work. An empty body is an empty output. A body is a permanent failure
// if it is not JSON, is nested too deeply, or has a number out of bounds. Later steps could not read such a
// body. With output: ignore, the agent accepts any body.
//
// A refusal (501, 505, or 4xx except 408) proves that nothing was done. A service that refuses a call after
// its effect must not be declared plain. A redirect proves nothing, because a service may redirect after it
// has accepted a request. The header Retry-After, in seconds or as a date, applies to every transient status.
var answers = []class{
	{101, 101, true, false, "the service switched to another protocol, which it was not asked for"},
	{407, 407, false, true, "the proxy does not accept its credentials; look at the agent's proxy"},
	{408, 408, false, false, "the service says it waited too long for the request"},
	{423, 423, false, true, "what it is about is locked"},
	{425, 425, false, true, "too early"},
	{429, 429, false, true, "too many requests"},
	{
		300, 399, true, false,
		"a redirect, which is never followed; configure the address where the service really is",
	},
	{
		401, 401, false, true,
		"the credentials are missing or not accepted; renew them, or look at the agent's headers",
	},
	{403, 403, true, true, "the credentials do not allow it; look at the agent's headers"},
	{400, 499, true, true, "refused"},
	{501, 501, true, true, "the service does not have this operation"},
	{505, 505, true, true, "the service does not speak this version of HTTP"},
	{500, 599, false, false, "the service failed"},
	{0, 999, true, false, "an answer without a meaning here"},
}

// classOf returns the first class of a status. The last class contains every status of three digits.
func classOf(status int) class {
	return answers[slices.IndexFunc(answers,
		func(c class) bool { return c.from <= status && status <= c.to })]
}

func (x *exchange) output(ignore bool) (json.RawMessage, error) {
	if !x.classify.done(x.status) {
		return nil, x.failure()
	}
	limit := int(x.agent.MaxResponse)
	body := bytes.TrimSpace(x.body)
	switch {
	case ignore:
		return nil, nil
	case len(x.body) > limit:
		return nil, done("response-too-large",
			"%s was done, but its answer has more than %d bytes; let the service return less, or raise "+
				"maxResponse", x.what(), limit)
	case len(body) == 0:
		return nil, nil
	}
	switch err := rawjson.Check(body, rawjson.MaxLevels); {
	case errors.Is(err, rawjson.ErrAmbiguous):
		return nil, done(core.CodeOutput, unkept, x.what(), rawjson.In("output", err))
	case errors.Is(err, rawjson.ErrNumber):
		return nil, done("response-number", unkept, x.what(), err)
	case errors.Is(err, rawjson.ErrLevels):
		return nil, done("response-too-deep", unkept, x.what(), err)
	case err != nil:
		if coding := x.header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
			err = fmt.Errorf("its Content-Encoding is %.40q, which an agent neither asks for nor reads",
				x.redact.Text(coding))
		}
		return nil, done("response-not-json", unread, x.what(), err)
	}
	return body, nil
}

const (
	unkept = "%s was done, but its answer cannot be kept: %w; or say output: ignore"
	unread = "%s was done, but its answer cannot be read: %w; let the service answer JSON, or say output: " +
		"ignore"
)

func done(code, format string, args ...any) *worker.Failure {
	f := permanent(code, false, format, args...)
	f.Happened = true
	return f
}

func (x *exchange) failure() *worker.Failure {
	c, named := x.classify.of(x.status)
	unauthorized := !named && (x.status == http.StatusUnauthorized || x.unsigned())
	if unauthorized {
		c = classOf(http.StatusUnauthorized)
	}
	f := &worker.Failure{Permanent: c.permanent, NoEffect: c.noEffect, Code: fmt.Sprintf("http-%d", x.status)}
	code, said := x.said()
	if c.permanent && x.plainCode(code) {
		f.Code = code
	}
	text := c.text
	if x.to != "" {
		text += " (it points to " + x.to + ")"
	}
	if said != "" {
		text += ": " + said
	}
	f.Err = fmt.Errorf("%s answered %d, %s", x.what(), x.status, text)
	// The credentials and not the order are the cause, so the step waits for the operator (P45, "not now"
	// is not a failure).
	if unauthorized {
		f.Code = core.CodeUnauthorized
	}
	if x.classify[strconv.Itoa(x.status)] == classNotYet {
		f.Code = core.CodeNotYet
	}
	if !c.permanent {
		f.RetryAfter = retryAfter(x.header.Get("Retry-After"), x.clock.Now())
	}
	return f
}

// unsigned reports whether the service does not accept the signature of a call by SigV4. AWS says so with the status
// 403, which otherwise means that the credentials do not allow the call. A missing token is not among the codes,
// because API Gateway also gives this code to a path that it does not have.
func (x *exchange) unsigned() bool {
	code, _, _ := strings.Cut(x.header.Get("X-Amzn-ErrorType"), ":")
	return x.auth.sign != nil && x.status == http.StatusForbidden && slices.Contains(
		[]string{"ExpiredTokenException", "InvalidSignatureException", "UnrecognizedClientException"}, code)
}

// said returns the code and the text of a failure's body, in the forms problem+json, {"error":{…}}, {"error":"…"} and
// {"message":"…"}. It ignores the rest of the body.
func (x *exchange) said() (code, text string) {
	var m struct {
		Title, Detail, Message string
		Code, Error            json.RawMessage // members of another form are ignored
	}
	if json.Unmarshal(x.body, &m) != nil {
		return "", ""
	}
	var inner struct {
		Code    json.RawMessage
		Message string
	}
	var word string
	if json.Unmarshal(m.Error, &inner) != nil {
		_ = json.Unmarshal(m.Error, &word)
	}
	if json.Unmarshal(inner.Code, &code) != nil {
		_ = json.Unmarshal(m.Code, &code)
	}
	var words []string
	for _, w := range []string{m.Title, m.Detail, m.Message, word, code, inner.Message} {
		if w != "" {
			words = append(words, w)
		}
	}
	return code, x.redact.Excerpt(strings.Join(words, ": "))
}

// saidCode is the form of a service's code that may become the failure's code.
var saidCode = regexp.MustCompile(`^[a-z0-9][a-zA-Z0-9-]{0,39}$`)

// plainCode reports whether the service's own code can be the failure's code, which workflows compare. The codes of
// Stepkeeper, http-422 and the like among them, keep their meaning, and secrets stay out.
func (x *exchange) plainCode(code string) bool {
	return saidCode.MatchString(code) && !strings.HasPrefix(code, "http-") && !core.OwnCode(code) &&
		x.redact.Text(code) == code
}

const maxRetryAfter = time.Hour

func retryAfter(value string, now time.Time) time.Duration {
	seconds, err := strconv.ParseInt(value, 10, 64)
	if err == nil || errors.Is(err, strconv.ErrRange) { // out of range, ParseInt returns the nearest number
		return time.Duration(min(max(seconds, 0), int64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	return 0
}
