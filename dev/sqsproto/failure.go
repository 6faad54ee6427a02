package sqsproto

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

var systemClock = port.ClockFunc(time.Now)

// fail is an error as SQS reports it. Its name has two forms: that of the JSON protocol, and that of
// the older query protocol, which SDKs still show to their users.
type fail struct {
	status int
	name   string // "QueueDoesNotExist"
	query  string // "AWS.SimpleQueueService.NonExistentQueue"
	text   string
	sender bool // the sender's fault
}

func (f *fail) Error() string { return f.text }

func failure(status int, name, query, format string, args ...any) *fail {
	return &fail{status: status, name: name, query: query, text: fmt.Sprintf(format, args...),
		sender: status < 500}
}

func invalid(format string, args ...any) *fail {
	return failure(http.StatusBadRequest, "InvalidParameterValue", "InvalidParameterValue", format, args...)
}

// Invalid is for a Sink: the message is refused to its sender, which must not send it again as it is.
func Invalid(err error) error { return invalid("%v", err) }

func missing(parameter string) *fail {
	return failure(http.StatusBadRequest, "MissingParameter", "MissingParameter",
		"The request must contain the parameter %s.", parameter)
}

func noQueue(name string) *fail {
	return failure(http.StatusBadRequest, "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue",
		"The specified queue %.100q does not exist; ListQueues lists those that do.", name)
}

// failOf translates what a queue or a sink answers. Codes that an SDK retries: RequestThrottled,
// and every status 503.
func failOf(err error) *fail {
	var own *fail
	switch {
	case errors.As(err, &own):
		return own
	case errors.Is(err, port.ErrReceipt):
		return failure(http.StatusBadRequest, "ReceiptHandleIsInvalid", "ReceiptHandleIsInvalid",
			"The receipt handle is not that of the newest delivery: the message was received again, or "+
				"deleted.")
	case errors.Is(err, port.ErrTooLarge):
		return invalid("One or more parameters are invalid. Reason: Message must be shorter than %d bytes.",
			port.MaxMessage)
	case errors.Is(err, port.ErrUnavailable):
		return failure(http.StatusServiceUnavailable, "ServiceUnavailable", "ServiceUnavailable",
			"Nothing was stored (%v); send again.", err)
	}
	var throttled interface{ Throttled() bool }
	if errors.As(err, &throttled) {
		f := failure(http.StatusBadRequest, "RequestThrottled", "RequestThrottled", "%v", err)
		f.sender = false
		return f
	}
	slog.Error("queue request failed", "error", err)
	return failure(http.StatusInternalServerError, "InternalError", "InternalError",
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
	_ = json.NewEncoder(w).Encode(map[string]string{"__type": "com.amazonaws.sqs#" + f.name,
		"message": f.text})
}
