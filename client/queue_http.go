package client

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// serverQueue is a queue of a server. A server speaks the JSON protocol of SQS at its queues, and needs no
// signature. The errors of the methods are those of this package.
type serverQueue struct {
	h    *overHTTP
	name string
}

var _ port.Queue = (*serverQueue)(nil)

const (
	queuesType    = "application/x-amz-json-1.0"
	queueAccount  = "/000000000000/"
	queueAttempts = 3
)

func (q *serverQueue) Name() string { return q.name }

// Send sends the messages, each by itself.
func (q *serverQueue) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	for i, m := range messages {
		m.Body, errs[i] = m.Bytes()
		m.Value = nil
		if errs[i] == nil {
			errs[i] = port.CheckMessage(&m)
		}
		if errors.Is(errs[i], port.ErrTooLarge) {
			errs[i] = Errorf(http.StatusRequestEntityTooLarge, message.CodeTooLarge, "%v", errs[i])
		}
		if errs[i] == nil {
			_, errs[i] = queueCall[struct{}](ctx, q, "SendMessage", map[string]any{
				"MessageBody": string(m.Body), "DelaySeconds": wholeSeconds(m.Delay),
			})
		}
	}
	return errs
}

// Receive returns visible messages without a wait: a server returns all of them at once, unlike SQS.
func (q *serverQueue) Receive(ctx context.Context, most int, _, visibility time.Duration) ([]port.Delivery, error) {
	got, err := queueCall[struct {
		Messages []struct {
			MessageId, ReceiptHandle, Body string //nolint:revive // the names of SQS
			Attributes                     struct {
				ApproximateReceiveCount, SentTimestamp string
			}
		}
	}](ctx, q, "ReceiveMessage", map[string]any{
		"MaxNumberOfMessages": min(most, port.MaxBatch), "VisibilityTimeout": wholeSeconds(visibility),
		"MessageSystemAttributeNames": []string{"ApproximateReceiveCount", "SentTimestamp"},
	})
	all := make([]port.Delivery, len(got.Messages))
	for i, m := range got.Messages {
		received, _ := strconv.Atoi(m.Attributes.ApproximateReceiveCount)
		sent, _ := strconv.ParseInt(m.Attributes.SentTimestamp, 10, 64)
		all[i] = port.Delivery{
			Message: port.Message{Body: []byte(m.Body)}, ID: m.MessageId, Receipt: m.ReceiptHandle,
			Received: max(1, received), SentAt: time.UnixMilli(sent),
		}
	}
	return all, err
}

// Delete deletes the messages, each by itself.
func (q *serverQueue) Delete(ctx context.Context, receipts []string) []error {
	errs := make([]error, len(receipts))
	for i, receipt := range receipts {
		_, errs[i] = queueCall[struct{}](ctx, q, "DeleteMessage", map[string]any{"ReceiptHandle": receipt})
	}
	return errs
}

func (q *serverQueue) Extend(ctx context.Context, extensions []port.Extension) []error {
	errs := make([]error, len(extensions))
	for i, e := range extensions {
		errs[i] = q.hide(ctx, e.Receipt, e.For)
	}
	return errs
}

func (q *serverQueue) hide(ctx context.Context, receipt string, d time.Duration) error {
	_, err := queueCall[struct{}](ctx, q, "ChangeMessageVisibility", map[string]any{
		"ReceiptHandle": receipt, "VisibilityTimeout": wholeSeconds(d),
	})
	return err
}

func (q *serverQueue) Depth(ctx context.Context) (depth port.Depth, err error) {
	counts := map[string]*int{
		"ApproximateNumberOfMessages":           &depth.Visible,
		"ApproximateNumberOfMessagesNotVisible": &depth.InFlight,
		"ApproximateNumberOfMessagesDelayed":    &depth.Delayed,
	}
	got, err := queueCall[struct{ Attributes map[string]string }](ctx, q, "GetQueueAttributes",
		map[string]any{"AttributeNames": []string{"All"}})
	for name, count := range counts {
		if err == nil {
			*count, err = strconv.Atoi(got.Attributes[name])
		}
	}
	return depth, err
}

// queueCall calls an action of a queue. It repeats a call that another attempt may help.
func queueCall[T any](ctx context.Context, q *serverQueue, action string, in map[string]any) (out T, err error) {
	if q.name != "" {
		in["QueueUrl"] = q.h.base + queueAccount + q.name
	}
	body, err := rawjson.Marshal(in)
	if err != nil {
		return out, err
	}
	header := contentType(queuesType)
	header.Set("X-Amz-Target", "AmazonSQS."+action)
	for attempt := 1; ; attempt++ {
		out, err = call[T](ctx, q.h, http.MethodPost, "/", header, bytes.NewReader(body))
		var e *Error
		if errors.As(err, &e) {
			queue := cmp.Or(strings.TrimPrefix(q.name, port.Dead("")), "dead letters")
			e.Detail = fmt.Sprintf("%s of %s: %s", action, queue, e.Error())
		}
		if !repeatable(err) || attempt == queueAttempts {
			return out, err
		}
		if err := port.Sleep(ctx, firstPause<<attempt); err != nil {
			return out, err
		}
	}
}

func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }
