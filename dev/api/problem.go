package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"net/http"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// Codes of problems, for programs. The packages message, core and scheduler define the codes of their own
// refusals.
const (
	CodeInvalid     = "invalid-request"
	CodeNotFound    = "not-found"
	CodeMethod      = "method-not-allowed"
	CodeMediaType   = "unsupported-media-type"
	CodeForbidden   = "forbidden"
	CodeBusy        = "busy"
	CodeUnavailable = "unavailable"
	CodeRefused     = "command-refused"
	CodeInternal    = "internal"

	CodeStoreDamaged = "store-damaged" // the whole store is damaged; a person has to restore it
	codeOtherContent = "other-content"
)

const unavailableRetry = 2 * time.Second

// Problem is an error as application/problem+json (RFC 9457).
type Problem struct {
	Title      string            `json:"title" doc:"the kind of problem"`
	Status     int               `json:"status" doc:"HTTP status"`
	Code       string            `json:"code" doc:"a short, stable word for programs"`
	Detail     string            `json:"detail" doc:"text that states what happened, to what, and what to do"`
	Field      string            `json:"field,omitempty" doc:"the wrong field of the order"`
	Errors     []ProblemPlace    `json:"errors,omitempty" nullable:"false" doc:"the places to correct, if there are several"`
	RetryAfter int               `json:"retryAfter,omitempty" doc:"seconds to wait before sending again; same as the header Retry-After"`
	Verdict    *protocol.Verdict `json:"verdict,omitempty" doc:"verdict on the refused command"`
	RequestID  string            `json:"requestId,omitempty" doc:"ID of an internal failure in the log"`
	headers    map[string]string // additional response headers
}

// ProblemPlace is a part of a request that the sender has to correct.
type ProblemPlace struct {
	Where   string `json:"where" doc:"location, such as path.id, query.limit or body.command"`
	Message string `json:"message"`
}

func (p *Problem) Error() string { return p.Detail }

// Throttled reports whether a client with the protocol of SQS gets an error that AWS SDKs retry.
func (p *Problem) Throttled() bool { return p.Status == http.StatusTooManyRequests }

// GetStatus returns the HTTP status. The methods GetStatus, GetHeaders and ContentType make Problem the error
// type of the HTTP library huma.
func (p *Problem) GetStatus() int { return p.Status }

// GetHeaders returns the response headers of the problem.
func (p *Problem) GetHeaders() http.Header {
	h := http.Header{}
	if p.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(p.RetryAfter))
	}
	for k, v := range p.headers {
		h.Set(k, v)
	}
	return h
}

// ContentType returns the media type of problems. It ignores the types that the client accepts.
func (p *Problem) ContentType(string) string { return problemType }

const problemType = "application/problem+json"

func problem(status int, code, format string, args ...any) *Problem {
	return &Problem{
		Title: http.StatusText(status), Status: status, Code: code,
		Detail: fmt.Sprintf(format, args...),
	}
}

func problemOf(err error) *Problem {
	var asked *Problem
	var refused *core.Refusal
	var full *BusyError
	switch {
	case errors.As(err, &asked):
		return asked
	case errors.As(err, &refused):
		p := problem(statusOf(refused.Code), refused.Code, "%s", refused.Text)
		p.Field = refused.Field
		return p
	case errors.As(err, &full):
		p := problem(http.StatusTooManyRequests, CodeBusy, "%v", full)
		p.RetryAfter = seconds(full.RetryAfter)
		return p
	case errors.Is(err, core.ErrStale):
		return problem(http.StatusConflict, CodeRefused,
			"the command names a run that the order has not begun; read the order again and send it with "+
				"the run that it has")
	case errors.Is(err, port.ErrCursor):
		return problem(http.StatusBadRequest, CodeInvalid, "query.cursor: %v", err)
	case errors.Is(err, port.ErrStoreDamaged):
		return problem(http.StatusServiceUnavailable, CodeStoreDamaged, "%v", err)
	case errors.Is(err, port.ErrUnavailable), errors.Is(err, context.Canceled),
		errors.Is(err, context.DeadlineExceeded):
		p := problem(http.StatusServiceUnavailable, CodeUnavailable,
			"nothing is known to be stored (%v); send it again later, that is harmless", err)
		p.RetryAfter = seconds(unavailableRetry)
		return p
	case errors.Is(err, state.ErrSchema):
		return problem(http.StatusInternalServerError, core.CodeDamaged, "%v", err)
	case errors.Is(err, core.ErrUnfit):
		return problem(http.StatusInternalServerError, core.CodeDamaged,
			"its stored document cannot be read, other orders are not affected (%v)", err)
	case errors.Is(err, port.ErrNotFound):
		return problem(http.StatusNotFound, CodeNotFound,
			"%v; check the ID, or look for it with GET /v1/orders", err)
	}
	return internalProblem(err)
}

// statusOf returns the HTTP status for the code of a refusal.
func statusOf(code string) int {
	switch code {
	case message.CodeTooLarge:
		return http.StatusRequestEntityTooLarge
	case core.CodeUnknownTask:
		return http.StatusNotFound
	case codeOtherContent, message.CodeExpired, core.CodeDamaged:
		return http.StatusConflict
	}
	return http.StatusBadRequest
}

// requests counts internal failures. The count is a part of the request ID, which is in the response and in
// the log.
var requests atomic.Int64

func internalProblem(err error) *Problem {
	p := problem(http.StatusInternalServerError, CodeInternal, "")
	p.RequestID = strconv.FormatInt(time.Now().Unix(), 36) + "-" + strconv.FormatInt(requests.Add(1), 36)
	p.Detail = "an internal failure; the log says more under request " + p.RequestID
	slog.Error("request failed", "request", p.RequestID, "error", err)
	return p
}

func seconds(d time.Duration) int { return max(1, int(math.Ceil(d.Seconds()))) }

func writeProblem(w http.ResponseWriter, p *Problem) {
	h := w.Header()
	maps.Copy(h, p.GetHeaders())
	h.Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	_ = json.NewEncoder(w).Encode(p) // a failure means that the client has disconnected
}

// useProblems makes huma return a Problem for each of its own errors. The Problem for invalid parameters has
// status 400 and lists the places to correct.
var useProblems = sync.OnceFunc(func() {
	huma.NewError = func(status int, msg string, errs ...error) huma.StatusError {
		if status == http.StatusUnprocessableEntity {
			status = http.StatusBadRequest
		}
		p := problem(status, codeOf(status), "%s", msg)
		for _, err := range errs {
			if err == nil {
				continue
			}
			var d huma.ErrorDetailer
			if errors.As(err, &d) {
				p.Errors = append(p.Errors, ProblemPlace{d.ErrorDetail().Location, d.ErrorDetail().Message})
			} else {
				p.Errors = append(p.Errors, ProblemPlace{"request", err.Error()})
			}
		}
		if len(p.Errors) > 0 {
			p.Detail = fmt.Sprintf("%s: %s; see /openapi.json for what is meant", p.Errors[0].Where,
				p.Errors[0].Message)
		}
		return p
	}
})

func codeOf(status int) string {
	switch status {
	case http.StatusRequestEntityTooLarge:
		return message.CodeTooLarge
	case http.StatusUnsupportedMediaType:
		return CodeMediaType
	case http.StatusInternalServerError:
		return CodeInternal
	}
	return CodeInvalid
}
