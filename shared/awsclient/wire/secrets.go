package wire

import (
	"context"
	"errors"

	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/stepkeeper/stepkeeper/shared/redact"
)

// HideSecrets adds a middleware that removes the credentials of a request from the text of its error. AWS repeats
// the headers of a request whose signature it refuses, and logs print errors.
func HideSecrets(stack *middleware.Stack) error {
	return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("StepkeeperHideSecrets",
		func(ctx context.Context, in middleware.DeserializeInput, next middleware.DeserializeHandler) (
			middleware.DeserializeOutput, middleware.Metadata, error,
		) {
			out, metadata, err := next.HandleDeserialize(ctx, in)
			req, isHTTP := in.Request.(*smithyhttp.Request)
			if err == nil || !isHTTP {
				return out, metadata, err
			}
			hiding := withoutSecrets{err, redact.Redactor{}.WithHeader(req.Header)}
			if hiding.Error() == err.Error() {
				return out, metadata, err
			}
			var api smithy.APIError
			if errors.As(err, &api) {
				return out, metadata, &reply{hiding, api}
			}
			return out, metadata, &hiding
		}), middleware.Before)
}

// withoutSecrets is an error whose text shows no secrets.
type withoutSecrets struct {
	err      error
	redactor redact.Redactor
}

func (e *withoutSecrets) Error() string { return e.redactor.Text(e.err.Error()) }
func (e *withoutSecrets) Unwrap() error { return e.err }

// reply is an error that AWS has returned.
type reply struct {
	withoutSecrets
	api smithy.APIError
}

func (e *reply) ErrorCode() string             { return e.api.ErrorCode() }
func (e *reply) ErrorMessage() string          { return e.redactor.Text(e.api.ErrorMessage()) }
func (e *reply) ErrorFault() smithy.ErrorFault { return e.api.ErrorFault() }
