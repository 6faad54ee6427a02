package sqsproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

type fail struct {
	status int
	// query is the error code of the older query protocol, such as "InvalidParameterValue" or prefix +
	// "BatchRequestTooLong". AWS SDKs still show this code.
	query  string
	text   string
	sender bool // the error is the sender's fault
}

const (
	prefix  = "AWS.SimpleQueueService."
	unknown = prefix + "NonExistentQueue" // QueueDoesNotExist in the JSON protocol
)

func (f *fail) Error() string { return f.text }

func (f *fail) name() string {
	if f.query == unknown {
		return "QueueDoesNotExist"
	}
	return strings.TrimPrefix(f.query, prefix)
}

func failure(status int, query, format string, args ...any) *fail {
	return &fail{status: status, query: query, text: fmt.Sprintf(format, args...), sender: status < 500}
}

func bad(query, format string, args ...any) *fail {
	return failure(http.StatusBadRequest, query, format, args...)
}

func invalid(format string, args ...any) *fail { return bad("InvalidParameterValue", format, args...) }

// Invalid returns an error with which a Sink refuses a message. An AWS SDK does not retry after this error.
func Invalid(err error) error { return invalid("%v", err) }

func missing(parameter string) *fail {
	return bad("MissingParameter", "The request must contain the parameter %s.", parameter)
}

func noQueue(name string) *fail {
	return bad(unknown, "The specified queue %.100q does not exist; ListQueues lists those that do.", name)
}

func tooLong(limit int) *fail {
	return invalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.",
		limit)
}

// within returns the value of an optional parameter, or the argument otherwise if the request lacks
// it. It returns an error for a value below low or above high.
func within(parameter string, value *int, low, high, otherwise int) (int, error) {
	switch {
	case value == nil:
		return otherwise, nil
	case *value < low || *value > high:
		return 0, invalid(
			"Value %d for parameter %s is invalid. Reason: Must be >= %d and <= %d, if provided.",
			*value, parameter, low, high)
	}
	return *value, nil
}

// failOf translates the error of a queue or a Sink. AWS SDKs retry after RequestThrottled and after every
// status 503.
func failOf(err error) *fail {
	var own *fail
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, port.ErrReceipt):
		return bad("ReceiptHandleIsInvalid",
			"The receipt handle is not that of the newest delivery: the message was received again, or "+
				"deleted.")
	case errors.Is(err, port.ErrTooLarge):
		return tooLong(port.MaxBody)
	case errors.Is(err, port.ErrUnavailable):
		return failure(http.StatusServiceUnavailable, "ServiceUnavailable",
			"Nothing was stored (%v); send again.", err)
	}
	var throttled interface{ Throttled() bool }
	if errors.As(err, &throttled) {
		f := bad("RequestThrottled", "%v", err)
		f.sender = false
		return f
	}
	slog.Error("queue request failed", "error", err)
	return failure(http.StatusInternalServerError, "InternalError",
		"An internal failure; the log says more.")
}

func writeError(w http.ResponseWriter, err error) {
	f := failOf(err)
	side := "Receiver"
	if f.sender {
		side = "Sender"
	}
	h := w.Header()
	h.Set("Content-Type", contentType)
	h.Set("x-amzn-query-error", f.query+";"+side)
	w.WriteHeader(f.status)
	_ = json.NewEncoder(w).Encode(map[string]string{
		"__type":  "com.amazonaws.sqs#" + f.name(),
		"message": f.text,
	})
}
