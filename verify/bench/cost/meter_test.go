package cost_test

import (
	"context"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go/middleware"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
)

// meter adds up the request units that DynamoDB reports for calls, including those of the index. It is safe for
// concurrent use.
type meter struct {
	mu            sync.Mutex
	writes, reads float64
	largest       int     // size of the largest item of a task that was put, in bytes
	failed        []error // errors of calls, whose units DynamoDB does not report
}

// take returns the sums and sets them to zero.
func (m *meter) take() (writes, reads float64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	writes = m.writes
	reads = m.reads
	m.writes = 0
	m.reads = 0
	m.largest = 0
	return writes, reads
}

// into adds the meter to all clients that are made from the configuration from now on.
func (m *meter) into(c *aws.Config) {
	c.APIOptions = append(slices.Clip(c.APIOptions), func(stack *middleware.Stack) error {
		return stack.Initialize.Add(middleware.InitializeMiddlewareFunc("StepkeeperMeter", m.handle),
			middleware.After)
	})
}

func (m *meter) handle(ctx context.Context, in middleware.InitializeInput,
	next middleware.InitializeHandler,
) (middleware.InitializeOutput, middleware.Metadata, error) {
	const each = types.ReturnConsumedCapacityIndexes
	size := 0
	switch in := in.Parameters.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnConsumedCapacity = each
		if in.Item["Document"] != nil {
			size = dynamo.Size(in.Item)
		}
	case *dynamodb.UpdateItemInput:
		in.ReturnConsumedCapacity = each
	case *dynamodb.GetItemInput:
		in.ReturnConsumedCapacity = each
	case *dynamodb.QueryInput:
		in.ReturnConsumedCapacity = each
	}
	out, metadata, err := next.HandleInitialize(ctx, in)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.largest = max(m.largest, size)
	if err != nil {
		m.failed = append(m.failed, err)
	}
	switch out := out.Result.(type) {
	case *dynamodb.PutItemOutput:
		m.writes += units(out.ConsumedCapacity)
	case *dynamodb.UpdateItemOutput:
		m.writes += units(out.ConsumedCapacity)
	case *dynamodb.GetItemOutput:
		m.reads += units(out.ConsumedCapacity)
	case *dynamodb.QueryOutput:
		m.reads += max(0.5, units(out.ConsumedCapacity)) // DynamoDB Local reports 0 for an empty result
	}
	return out, metadata, err
}

func units(c *types.ConsumedCapacity) (sum float64) {
	if c == nil {
		return 0
	}
	if c.Table != nil {
		sum = aws.ToFloat64(c.Table.CapacityUnits)
	}
	for _, index := range c.GlobalSecondaryIndexes {
		sum += aws.ToFloat64(index.CapacityUnits)
	}
	return sum
}
