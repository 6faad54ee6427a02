package awsagent

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/smithy-go"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/eventbus"
)

// reported is the error of a function or an execution that has run. The effect of the call is in doubt.
type reported struct {
	name, text string
	status     string // status of the execution; "" for a function
	ended      bool   // a repeated call would find the same failed execution
}

func (r *reported) Error() string {
	words := slices.DeleteFunc([]string{r.status, r.name, r.text}, func(w string) bool { return w == "" })
	return strings.Join(words, ": ")
}

// Error codes with a special meaning. A call that returned one of these codes had no effect.
var (
	// AWS does not accept the credentials. The step waits until the credentials are renewed.
	unauthorized = []string{
		"ExpiredToken",
		"ExpiredTokenException",
		"InvalidClientTokenId",
		"InvalidSignature",
		"InvalidSignatureException",
		"MissingAuthenticationToken",
		"MissingAuthenticationTokenException",
		"RequestExpired",
		"SignatureDoesNotMatch",
		"UnrecognizedClientException",
		"IncompleteSignature",
	}
	denied = []string{
		"AccessDenied",
		"AccessDeniedException",
		"AuthorizationError",
		"AuthorizationErrorException",
		"NotAuthorizedForSourceException",
	}
	// The resource is changing, or a limit is temporarily reached.
	later = []string{"ResourceNotReadyException", "ExecutionLimitExceeded"}
)

// internal lists error codes of failures within a service. The HTTP status of such a failure can be
// below 500. PutEvents can also return such a code for a single event.
var internal = []string{"InternalFailure", "InternalException", "RequestTimeout", "RequestTimeoutException"}

// failure classifies the error of a call:
//
//	what happened                                      class         proven without effect
//	no credentials, or credentials that are refused    unauthorized  yes
//	throttled, the resource is changing                transient     yes
//	access denied, not found, not valid (other 4xx)    permanent     yes
//	5xx, a timeout at the service                      transient     no
//	no connection                                      transient     yes
//	timeout or broken connection after connecting      transient     no
//	the function or an express execution failed        transient     no; classify changes the class
//	a standard execution failed                        permanent     no; classify can only set done
func (o *operation) failure(err error, x *exchange) error {
	if f := (*worker.Failure)(nil); errors.As(err, &f) {
		return err
	}
	sent := x.sent.Load()
	f := &worker.Failure{NoEffect: !sent, Code: "network"}
	text := "was not sent, because the service could not be reached"
	var api smithy.APIError
	var own *reported
	var entry *eventbus.Refused
	switch {
	case errors.As(err, &own):
		return o.failed(own, x)
	case errors.As(err, &entry):
		text = o.classify(f, entry.Code, http.StatusBadRequest)
	// This case must be before the case of API errors. Getting credentials can fail with an API error of
	// another service.
	case !sent && strings.Contains(err.Error(), "get identity"):
		return worker.Unauthorized(
			fmt.Errorf("%s was not called, because the agent has no credentials for AWS: %s",
				o.what, x.redact.Excerpt(err.Error())),
		)
	case errors.As(err, &api):
		status := 0
		if res := (*awshttp.ResponseError)(nil); errors.As(err, &res) {
			status = res.HTTPStatusCode()
			f.RetryAfter = retryAfter(res.Response.Header)
		}
		text = o.classify(f, api.ErrorCode(), status)
		err = errors.New(api.ErrorCode() + ": " + api.ErrorMessage())
	case errors.Is(err, context.DeadlineExceeded) && sent:
		f.Code = "timeout"
		text = "was not answered in time, and may have had its effect"
	case sent:
		text = "broke off, and may have had its effect"
	}
	f.Err = fmt.Errorf("%s %s: %s", o.what, text, x.redact.Excerpt(err.Error()))
	return f
}

func (o *operation) classify(f *worker.Failure, code string, status int) string {
	f.Code = "aws-" + code
	f.NoEffect = true
	switch {
	case slices.Contains(unauthorized, code):
		f.Code = core.CodeUnauthorized
		return "was refused, because the agent's credentials are not accepted; renew them"
	case wire.Throttled(code) || status == http.StatusTooManyRequests:
		return "was refused, because there are too many calls"
	case slices.Contains(later, code) || status == http.StatusConflict:
		return "was refused for now"
	case status >= http.StatusInternalServerError || status == 0 || status == http.StatusRequestTimeout ||
		slices.Contains(internal, code):
		f.NoEffect = false
		return "failed at the service, and may have had its effect"
	}
	f.Permanent = true
	switch {
	case slices.Contains(denied, code):
		need := o.config.Target.Permissions()[0]
		return fmt.Sprintf(
			"is not allowed for the agent; grant its role %s on %s",
			need.Action,
			need.Resource,
		)
	case code == "StateMachineTypeNotSupported":
		return "is of the other type of state machine; write express: true for an express one, or remove it"
	case status == http.StatusNotFound || strings.Contains(code, "NotFound") ||
		strings.Contains(code, "DoesNotExist") || strings.Contains(code, "NonExistentQueue"):
		return "was refused, because the resource is not there; check its name, account and Region"
	}
	return "was refused"
}

func (o *operation) failed(r *reported, x *exchange) error {
	f := &worker.Failure{Code: "failed", Permanent: r.ended}
	if r.name != "" {
		f.Code = x.redact.Excerpt(r.name)
	}
	if o.config.Classify[r.name] == "permanent" {
		f.Permanent = true
	}
	f.Err = fmt.Errorf("%s failed: %s", o.what, x.redact.Excerpt(r.Error()))
	return f
}

func retryAfter(h http.Header) time.Duration {
	seconds, _ := strconv.Atoi(h.Get("Retry-After")) // 0 if the header is missing
	return time.Duration(min(max(seconds, 0), 3600)) * time.Second
}
