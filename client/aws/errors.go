package aws

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/smithy-go"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Codes of errors that a server does not return.
const (
	codeForbidden   = "forbidden"      // a permission is missing; Detail names it
	codeCredentials = "no-credentials" // there are no credentials, or AWS rejects them
	codeNotStarted  = "not-started"    // the order is queued, but has no task after Patience
	codeNoVerdict   = "no-verdict"     // the command was sent, but the task has no verdict yet
	codeDamaged     = "damaged"        // the stored document of one order cannot be read
	codeNotListed   = "not-listed"     // the index cannot list the requested orders
	codeNotOnStack  = "not-on-a-stack"
	codeGone        = "not-deployed" // a table or queue from the outputs does not exist
)

// busyRetry is the wait before the client repeats a call that AWS throttled, or that failed inside AWS. The
// SDK has already repeated the call without success.
const busyRetry = 300 * time.Millisecond

var refusal = client.Errorf

func unreadable(err error) *client.Error {
	var r *core.Refusal
	if !errors.As(err, &r) {
		return refusal(http.StatusBadRequest, message.CodeInvalid, "%v", err)
	}
	status := http.StatusBadRequest
	if r.Code == message.CodeTooLarge {
		status = http.StatusRequestEntityTooLarge
	}
	e := refusal(status, r.Code, "%s", r.Text)
	e.Field = r.Field
	return e
}

var (
	denied = []string{
		"AccessDenied", "AccessDeniedException", "AccessDeniedFault",
		"AWS.SimpleQueueService.AccessDenied", "KmsAccessDenied", "KMS.AccessDeniedException",
	}
	credentials = []string{
		"ExpiredToken", "ExpiredTokenException", "RequestExpired", "InvalidClientTokenId",
		"UnrecognizedClientException", "SignatureDoesNotMatch", "InvalidSignatureException",
		"MissingAuthenticationToken", "MissingAuthenticationTokenException", "AuthFailure",
		"InvalidAccessKeyId",
	}
	gone = []string{
		"ResourceNotFoundException", "QueueDoesNotExist",
		"AWS.SimpleQueueService.NonExistentQueue",
	}
)

// Use describes a call for an error text: the IAM action, the resource, and the policy that allows the
// action.
type Use struct{ Action, On, Policy string }

// Failed converts an error of AWS to an error of package client.
func Failed(ctx context.Context, u Use, err error) error {
	var api smithy.APIError
	var network net.Error // a call's own time limit is one too
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case unidentified(err):
		return refusal(http.StatusForbidden, codeCredentials, "there are no valid AWS credentials any more (%v); log "+
			"in again", err)
	case errors.Is(err, port.ErrTooLarge):
		return refusal(http.StatusRequestEntityTooLarge, message.CodeTooLarge,
			"%v; store large data elsewhere and send a reference", err)
	case !errors.As(err, &api):
		if errors.Is(err, port.ErrUnavailable) || errors.As(err, &network) {
			return disconnected("", err)
		}
		return refusal(http.StatusInternalServerError, "internal", "%v", err)
	}
	code := api.ErrorCode()
	switch {
	case slices.Contains(denied, code):
		e := refusal(http.StatusForbidden, codeForbidden, "the permission %s on %s is missing (%s)", u.Action,
			u.On, api.ErrorMessage())
		if u.Policy != "" {
			e.Detail += "; attach the policy " + u.Policy + " to your role"
		}
		return e
	case slices.Contains(credentials, code):
		return refusal(http.StatusForbidden, codeCredentials,
			"AWS does not take the credentials (%s: %s); log in again", code, api.ErrorMessage())
	case wire.Throttled(code):
		e := refusal(http.StatusTooManyRequests, "busy", "%s on %s is throttled; try again later", u.Action,
			u.On)
		e.RetryAfter = busyRetry
		return e
	case slices.Contains(gone, code):
		return refusal(http.StatusBadGateway, codeGone,
			"%s no longer exists (%s); if the stack is being deployed, try again afterwards", u.On, code)
	case api.ErrorFault() == smithy.FaultServer || errors.Is(err, port.ErrUnavailable) ||
		statusOf(err) >= http.StatusInternalServerError:
		e := refusal(http.StatusServiceUnavailable, "unavailable", "%s on %s failed (%s); it is tried again",
			u.Action, u.On, code)
		e.RetryAfter = busyRetry
		return e
	}
	return refusal(http.StatusBadRequest, code, "%s on %s: %s", u.Action, u.On, api.ErrorMessage())
}

// unidentified reports whether the call was not sent, because its credentials cannot be renewed. A session of single
// sign-on has ended, for instance. A broken connection to the service that renews them is another failure.
func unidentified(err error) bool {
	var network net.Error
	return strings.Contains(err.Error(), "get identity") && !errors.As(err, &network)
}

// disconnected returns an ErrConnection with the text of err. It does not wrap err, because err may contain
// the context.DeadlineExceeded of a single call. Callers would confuse that error with the end of their own
// context.
func disconnected(what string, err error) error {
	return fmt.Errorf("%w: %s%s", client.ErrConnection, what, err.Error())
}

// statusOf returns the HTTP status of the response in err, or 0 if there was no response. A proxy between the
// client and AWS may send a response without an error code. Only the status then shows the kind of error.
func statusOf(err error) int {
	var answer interface{ HTTPStatusCode() int }
	if errors.As(err, &answer) {
		return answer.HTTPStatusCode()
	}
	return 0
}

func unseen(ctx context.Context, name, region string, err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorCode() == "ValidationError" &&
		strings.Contains(api.ErrorMessage(), "does not exist") {
		return fmt.Errorf("%w: %s in %s, in the account of these credentials", ErrNoStack, name, region)
	}
	if !errors.As(err, &api) && ctx.Err() == nil && !unidentified(err) {
		return disconnected(fmt.Sprintf("asking for stack %s in %s: ", name, region), err)
	}
	return Failed(ctx, Use{Action: "cloudformation:DescribeStacks", On: "stack " + name}, err)
}
