package cost_test

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
)

// Chunk is the unit by which SQS and SNS bill a request, in bytes.
const Chunk = 64 << 10

// Key names a line of the bill. Resource is a table's or a queue's name.
type Key struct {
	Service   string `json:"service"`
	Operation string `json:"operation"`
	Resource  string `json:"resource"`
}

// Count is the content of one line of the bill.
type Count struct {
	Calls float64 `json:"calls"` // tries of the SDK's, repeats included
	// Requests counts billed requests of SQS and SNS: the started chunks of each call.
	Requests float64 `json:"requests,omitempty"`
	// Request units of DynamoDB, separate for the table and its index.
	Writes      float64 `json:"wru,omitempty"`
	IndexWrites float64 `json:"index_wru,omitempty"`
	Reads       float64 `json:"rru,omitempty"`
	IndexReads  float64 `json:"index_rru,omitempty"`
}

func (c *Count) add(d Count) {
	c.Calls += d.Calls
	c.Requests += d.Requests
	c.Writes += d.Writes
	c.IndexWrites += d.IndexWrites
	c.Reads += d.Reads
	c.IndexReads += d.IndexReads
}

// Line is a Count with its name.
type Line struct {
	Key
	Count
}

// Meter counts the billed parts of calls: request units of DynamoDB from its responses, and requests of SQS
// and SNS by started 64 KiB. It is safe for concurrent use.
type Meter struct {
	mu    sync.Mutex
	lines map[Key]*Count
}

// Lines returns all lines, sorted by their names.
func (m *Meter) Lines() []Line {
	m.mu.Lock()
	defer m.mu.Unlock()
	lines := make([]Line, 0, len(m.lines))
	for k, c := range m.lines {
		lines = append(lines, Line{k, *c})
	}
	slices.SortFunc(lines, func(a, b Line) int {
		return cmp.Or(strings.Compare(a.Service, b.Service), strings.Compare(a.Operation, b.Operation),
			strings.Compare(a.Resource, b.Resource))
	})
	return lines
}

// Reset sets all counts to zero.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lines = nil
}

// Add adds to a line. It is for costs that no call of the SDK shows.
func (m *Meter) Add(k Key, c Count) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.lines == nil {
		m.lines = map[Key]*Count{}
	}
	if m.lines[k] == nil {
		m.lines[k] = &Count{}
	}
	m.lines[k].add(c)
}

// Into adds the meter to all clients that are made from the configuration from now on. DynamoDB then reports
// the consumption of each call.
func (m *Meter) Into(c *aws.Config) {
	c.APIOptions = append(c.APIOptions[:len(c.APIOptions):len(c.APIOptions)],
		func(stack *middleware.Stack) error {
			return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperMeter", m.handle),
				middleware.After)
		})
}

func (m *Meter) handle(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler) (middleware.InitializeOutput, middleware.Metadata, error) {
	ask(in.Parameters)
	out, metadata, err := next.HandleInitialize(ctx, in)
	tries := 1.0
	if results, ok := retry.GetAttemptResults(metadata); ok && len(results.Results) > 0 {
		tries = float64(len(results.Results))
	}
	key := Key{Service: strings.ToLower(awsmiddleware.GetServiceID(ctx)),
		Operation: awsmiddleware.GetOperationName(ctx)}
	switch key.Service {
	case "dynamodb":
		m.dynamo(key, in.Parameters, out.Result, tries, err)
	case "sqs", "sns":
		resource, bytes := payload(in.Parameters, out.Result)
		key.Resource = resource
		m.Add(key, Count{Calls: tries, Requests: tries * Chunks(bytes)})
	}
	return out, metadata, err
}

// Chunks returns the number of billed requests of a call.
func Chunks(bytes int) float64 { return float64(max(1, (bytes+Chunk-1)/Chunk)) }

// ask makes DynamoDB report the consumption of a call, index and table apart.
func ask(in any) {
	const indexes = dynamotypes.ReturnConsumedCapacityIndexes
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = indexes
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = indexes
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = indexes
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = indexes
	}
}

// dynamo counts a call of DynamoDB. An earlier try of the SDK may have consumed as much as the answered one.
// A refused condition consumes a write that DynamoDB does not report, so dynamo counts one.
func (m *Meter) dynamo(key Key, in, out any, tries float64, err error) {
	var refused *dynamotypes.ConditionalCheckFailedException
	if put, ok := in.(*dynamodb.PutItemInput); ok && errors.As(err, &refused) {
		key.Resource, key.Operation = aws.ToString(put.TableName), key.Operation+" (refused)"
		m.Add(key, Count{Calls: tries, Writes: tries})
		return
	}
	var consumed []dynamotypes.ConsumedCapacity
	one := func(c *dynamotypes.ConsumedCapacity) {
		if c != nil {
			consumed = append(consumed, *c)
		}
	}
	read := false
	switch out := out.(type) {
	case *dynamodb.PutItemOutput:
		one(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		one(out.ConsumedCapacity)
	case *dynamodb.GetItemOutput:
		one(out.ConsumedCapacity)
		read = true
	case *dynamodb.QueryOutput:
		one(out.ConsumedCapacity)
		read = true
	}
	for _, c := range consumed {
		key.Resource = aws.ToString(c.TableName)
		var table, index float64
		if c.Table != nil {
			table = aws.ToFloat64(c.Table.CapacityUnits)
		}
		for _, i := range c.GlobalSecondaryIndexes {
			index += aws.ToFloat64(i.CapacityUnits)
		}
		if _, query := out.(*dynamodb.QueryOutput); query && table+index == 0 {
			index = 0.5 // DynamoDB's minimum, which DynamoDB Local does not report
		}
		if read {
			m.Add(key, Count{Calls: tries, Reads: table * tries, IndexReads: index * tries})
		} else {
			m.Add(key, Count{Calls: tries, Writes: table * tries, IndexWrites: index * tries})
		}
	}
}

// payload returns the resource of a call and its billed bytes.
func payload(in, out any) (resource string, bytes int) {
	switch in := in.(type) {
	case *sqs.SendMessageInput:
		return queue(in.QueueUrl), len(aws.ToString(in.MessageBody))
	case *sqs.SendMessageBatchInput:
		for _, e := range in.Entries {
			bytes += len(aws.ToString(e.MessageBody))
		}
		return queue(in.QueueUrl), bytes
	case *sqs.ReceiveMessageInput:
		if out, ok := out.(*sqs.ReceiveMessageOutput); ok {
			for _, msg := range out.Messages {
				bytes += len(aws.ToString(msg.Body))
			}
		}
		return queue(in.QueueUrl), bytes
	case *sqs.DeleteMessageBatchInput:
		return queue(in.QueueUrl), 0
	case *sqs.DeleteMessageInput:
		return queue(in.QueueUrl), 0
	case *sqs.ChangeMessageVisibilityInput:
		return queue(in.QueueUrl), 0
	case *sqs.GetQueueAttributesInput:
		return queue(in.QueueUrl), 0
	case *direct.Request: // a publication
		form, _ := url.ParseQuery(string(in.Body))
		return form.Get("TopicArn"), len(form.Get("Message"))
	}
	return "", 0
}

func queue(url *string) string {
	u := aws.ToString(url)
	return u[strings.LastIndexByte(u, '/')+1:]
}
