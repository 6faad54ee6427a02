// Package lambdaevent turns the SQS events of Lambda into the port's deliveries, and verdicts into
// partial batch responses.
package lambdaevent

import (
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Deliveries are the event's messages, at their places.
func Deliveries(e events.SQSEvent) []port.Delivery {
	all := make([]port.Delivery, len(e.Records))
	for i, m := range e.Records {
		all[i] = port.Delivery{Message: port.Message{Body: []byte(m.Body)}, ID: m.MessageId, Receipt: m.ReceiptHandle, Received: 1}
		if n, err := strconv.Atoi(m.Attributes["ApproximateReceiveCount"]); err == nil {
			all[i].Received = n
		}
		if ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64); err == nil {
			all[i].SentAt = time.UnixMilli(ms)
		}
	}
	return all
}

// Response tells Lambda which messages are to come again; all others are deleted. Its list is
// never nil: some emulators stumble over null.
func Response(again []port.Delivery) events.SQSEventResponse {
	r := events.SQSEventResponse{BatchItemFailures: make([]events.SQSBatchItemFailure, 0, len(again))}
	for _, d := range again {
		r.BatchItemFailures = append(r.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: d.ID})
	}
	return r
}
