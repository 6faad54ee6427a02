package sqs

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// maxBatchBytes limits the total size of the messages in one request. Since 2025 SQS accepts 1 MiB, but
// emulators and some partitions still accept only 256 KiB. A smaller batch costs no more, because SQS bills
// each 64 KiB of a request as one request.
const maxBatchBytes = 256 << 10

// maxPoll is the longest wait time of one ReceiveMessage request.
const maxPoll = 20 * time.Second

// Queue implements port.Queue with one SQS queue, or with two if the deployment has a queue for high
// priority.
type Queue struct {
	client    *sqs.Client
	name, url string
	high      string // URL of the queue for high priority; "" means that the deployment has none
}

// Name returns the logical name of the queue.
func (q *Queue) Name() string { return q.name }

// Send sends the messages in batches. The body of each message must be JSON in UTF-8. A message with a group
// makes the standard queue a fair queue (rule 4 in docs/reference/aws-rules.md). AWS charges more for
// requests to a fair queue.
func (q *Queue) Send(ctx context.Context, messages []port.Message) []error {
	errs := make([]error, len(messages))
	entries := make([]types.SendMessageBatchRequestEntry, 0, len(messages))
	var high []types.SendMessageBatchRequestEntry
	for i := range messages {
		body, err := bodyOf(messages[i])
		if err != nil {
			errs[i] = fmt.Errorf("queue %q: %w", q.name, err)
			continue
		}
		entry := types.SendMessageBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), MessageBody: &body, DelaySeconds: seconds(messages[i].Delay),
		}
		if group := messages[i].Group; group != "" {
			entry.MessageGroupId = &group
		}
		if messages[i].High && q.high != "" {
			high = append(high, entry)
			continue
		}
		entries = append(entries, entry)
	}
	q.send(ctx, q.high, high, errs)
	q.send(ctx, q.url, entries, errs)
	return errs
}

func (q *Queue) send(ctx context.Context, url string, entries []types.SendMessageBatchRequestEntry,
	errs []error,
) {
	for len(entries) > 0 {
		batch := entries[:fitting(entries)]
		entries = entries[len(batch):]
		out, err := q.client.SendMessageBatch(ctx, &sqs.SendMessageBatchInput{QueueUrl: &url, Entries: batch})
		if err != nil {
			for _, e := range batch {
				errs[place(e.Id)] = q.failed("send", err)
			}
			continue
		}
		q.entries(errs, "send", out.Failed)
	}
}

// fitting returns the number of entries that go into the next request, from 1 to port.MaxBatch. The total
// size of the entries is at most maxBatchBytes, unless the first entry alone is larger.
func fitting(entries []types.SendMessageBatchRequestEntry) int {
	size := 0
	for i, e := range entries {
		size += len(*e.MessageBody)
		if i > 0 && size > maxBatchBytes || i == port.MaxBatch {
			return i
		}
	}
	return len(entries)
}

func bodyOf(m port.Message) (string, error) {
	body, err := m.Bytes()
	if err != nil {
		return "", err
	}
	m.Body = body
	m.Value = nil
	return string(m.Body), port.CheckMessage(&m)
}

func (q *Queue) entries(errs []error, what string, failed []types.BatchResultErrorEntry) {
	for _, f := range failed {
		fault := smithy.FaultServer
		if f.SenderFault {
			fault = smithy.FaultClient
		}
		errs[place(f.Id)] = q.failed(what, &smithy.GenericAPIError{
			Code:    aws.ToString(f.Code),
			Message: aws.ToString(f.Message), Fault: fault,
		})
	}
}

// place returns the index that an entry's ID contains.
func place(id *string) int {
	i, _ := strconv.Atoi(aws.ToString(id)) // SQS returns only the IDs of the request
	return i
}

// Receive polls SQS until messages arrive or the wait time has passed. It returns at most ten messages, even
// if max is larger. If visibility is 0, Receive calls Extend to make the messages visible again, because the
// SDK does not send a visibility timeout of 0.
func (q *Queue) Receive(ctx context.Context, max int, wait,
	visibility time.Duration,
) ([]port.Delivery, error) {
	if err := port.CheckReceive(max, wait, visibility); err != nil {
		return nil, fmt.Errorf("queue %q: %w", q.name, err)
	}
	for {
		poll := min(wait, maxPoll)
		out, err := q.client.ReceiveMessage(wire.WithWait(ctx, poll), &sqs.ReceiveMessageInput{
			//nolint:gosec // the value is at most 10
			QueueUrl: &q.url, MaxNumberOfMessages: int32(min(max, port.MaxBatch)),
			WaitTimeSeconds: seconds(poll), VisibilityTimeout: seconds(visibility),
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{
				types.MessageSystemAttributeNameApproximateReceiveCount,
				types.MessageSystemAttributeNameSentTimestamp,
			},
		})
		if err != nil {
			if ended := ctx.Err(); ended != nil {
				return nil, ended
			}
			return nil, q.failed("receive", err)
		}
		wait -= poll
		if len(out.Messages) > 0 || wait <= 0 {
			return q.deliveries(ctx, out.Messages, visibility), nil
		}
	}
}

func (q *Queue) deliveries(ctx context.Context, messages []types.Message,
	visibility time.Duration,
) []port.Delivery {
	all := make([]port.Delivery, 0, len(messages))
	for _, m := range messages {
		d := port.Delivery{ID: aws.ToString(m.MessageId), Receipt: aws.ToString(m.ReceiptHandle), Received: 1}
		d.Body = []byte(aws.ToString(m.Body))
		if n, err := strconv.Atoi(
			m.Attributes[string(types.MessageSystemAttributeNameApproximateReceiveCount)]); err == nil {
			d.Received = n
		}
		if ms, err := strconv.ParseInt(m.Attributes[string(types.MessageSystemAttributeNameSentTimestamp)],
			10, 64); err == nil {
			d.SentAt = time.UnixMilli(ms)
		}
		all = append(all, d)
		if visibility == 0 {
			// After an error the queue's visibility timeout applies.
			_ = q.Extend(ctx, []port.Extension{{Receipt: d.Receipt}})[0]
		}
	}
	return all
}

// Delete deletes the messages in batches.
func (q *Queue) Delete(ctx context.Context, receipts []string) []error {
	errs := make([]error, len(receipts))
	entries := make([]types.DeleteMessageBatchRequestEntry, len(receipts))
	for i := range receipts {
		entries[i] = types.DeleteMessageBatchRequestEntry{
			Id:            aws.String(strconv.Itoa(i)),
			ReceiptHandle: &receipts[i],
		}
	}
	for batch := range slices.Chunk(entries, port.MaxBatch) {
		out, err := q.client.DeleteMessageBatch(ctx,
			&sqs.DeleteMessageBatchInput{QueueUrl: &q.url, Entries: batch})
		if err != nil {
			for _, e := range batch {
				errs[place(e.Id)] = q.failed("delete", err)
			}
			continue
		}
		q.entries(errs, "delete", out.Failed)
	}
	return errs
}

// Extend changes the visibility timeouts of deliveries, with at most ten deliveries in each request.
func (q *Queue) Extend(ctx context.Context, extensions []port.Extension) []error {
	errs := make([]error, len(extensions))
	var entries []types.ChangeMessageVisibilityBatchRequestEntry
	for i, e := range extensions {
		if e.For < 0 || e.For > port.MaxVisibility {
			errs[i] = fmt.Errorf("queue %q: a visibility timeout of %s is not within 0 and %s", q.name, e.For,
				port.MaxVisibility)
			continue
		}
		entries = append(entries, types.ChangeMessageVisibilityBatchRequestEntry{
			Id: aws.String(strconv.Itoa(i)), ReceiptHandle: &extensions[i].Receipt, VisibilityTimeout: seconds(e.For),
		})
	}
	for batch := range slices.Chunk(entries, port.MaxBatch) {
		out, err := q.client.ChangeMessageVisibilityBatch(ctx,
			&sqs.ChangeMessageVisibilityBatchInput{QueueUrl: &q.url, Entries: batch})
		if err != nil {
			for _, e := range batch {
				errs[place(e.Id)] = q.failed("extend", err)
			}
			continue
		}
		q.entries(errs, "extend", out.Failed)
	}
	return errs
}

// Depth returns SQS's estimates for the queue, and adds the estimates for the queue of high priority. It does
// not return the age of the oldest message, because SQS publishes the age only as a CloudWatch metric.
func (q *Queue) Depth(ctx context.Context) (port.Depth, error) {
	depth, err := q.depth(ctx, q.url)
	if err != nil || q.high == "" {
		return depth, err
	}
	high, err := q.depth(ctx, q.high)
	return port.Depth{
		Visible: depth.Visible + high.Visible, InFlight: depth.InFlight + high.InFlight,
		Delayed: depth.Delayed + high.Delayed,
	}, err
}

func (q *Queue) depth(ctx context.Context, url string) (port.Depth, error) {
	names := []types.QueueAttributeName{
		types.QueueAttributeNameApproximateNumberOfMessages,
		types.QueueAttributeNameApproximateNumberOfMessagesNotVisible,
		types.QueueAttributeNameApproximateNumberOfMessagesDelayed,
	}
	out, err := q.client.GetQueueAttributes(ctx,
		&sqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: names})
	if err != nil {
		return port.Depth{}, q.failed("depth", err)
	}
	var counts [3]int
	for i, name := range names {
		counts[i], err = strconv.Atoi(out.Attributes[string(name)])
		if err != nil {
			return port.Depth{}, fmt.Errorf("queue %q: %s is no number: %w", q.name, name, err)
		}
	}
	return port.Depth{Visible: counts[0], InFlight: counts[1], Delayed: counts[2]}, nil
}

// seconds rounds a duration up to whole seconds, so that no message arrives too early.
func seconds(d time.Duration) int32 {
	return int32((d + time.Second - 1) / time.Second) //nolint:gosec // the value is at most 12 hours
}

// failed translates an error of the SDK into an error of package port.
func (q *Queue) failed(what string, err error) error {
	return fmt.Errorf("queue %q: %s: %w", q.name, what, meaning(err))
}

func meaning(err error) error {
	var api smithy.APIError
	if !errors.As(err, &api) {
		return unavailable(err)
	}
	if strings.Contains(api.ErrorMessage(), "Message must be shorter than") { // the queue has a limit of its own
		return fmt.Errorf("%w: %w", port.ErrTooLarge, err)
	}
	switch api.ErrorCode() {
	case "ReceiptHandleIsInvalid", "MessageNotInflight", "AWS.SimpleQueueService.MessageNotInflight",
		"InvalidParameterValue":
		return fmt.Errorf("%w: %w", port.ErrReceipt, err)
	case "QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue":
		return fmt.Errorf("%w: %w", port.ErrNotFound, err)
	case "BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong":
		return fmt.Errorf("%w: %w", port.ErrTooLarge, err)
	case "AccessDenied", "AccessDeniedException", "InvalidClientTokenId", "UnrecognizedClientException",
		"SignatureDoesNotMatch":
		return fmt.Errorf("%w: %w", port.ErrForbidden, err)
	}
	key := strings.HasPrefix(api.ErrorCode(), "KMS.") || strings.HasPrefix(api.ErrorCode(), "Kms")
	switch {
	case wire.Throttled(api.ErrorCode()):
		return unavailable(err)
	case key: // it cannot be used: it is disabled, or deleted, or does not allow the caller
		return fmt.Errorf("%w: %w", port.ErrForbidden, err)
	case api.ErrorFault() == smithy.FaultClient:
		return err
	}
	return unavailable(err)
}

// unavailable wraps an error after which nobody knows whether the call took effect. It returns a cancellation
// by the caller unchanged.
func unavailable(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%w: %w", port.ErrUnavailable, err)
}
