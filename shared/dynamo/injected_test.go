package dynamo_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/smithy-go/middleware"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// fault is something that AWS does to a call now and then and emulators never do (rule 27): it loses the
// answer, throttles, carries out twice, or finds another transaction. A fault concerns one try of a call; the
// SDK's own repeats are tries of their own.
type fault int

// Kinds of faults. faultNone lets the call through.
const (
	faultNone       fault = iota
	faultLostAnswer       // the call is carried out, and its answer is lost
	faultUnsent           // the call does not arrive, which looks like a lost answer to the caller
	faultThrottled        // the call is refused for now
	faultTwice            // it is carried out twice; the second answer counts
	faultConflict         // DynamoDB: another transaction is under way
)

func (f fault) String() string {
	return [...]string{"none", "lost answer", "unsent", "throttled", "twice", "conflict"}[f]
}

// faultPlan decides which calls meet a fault. The zero faultPlan injects none. Safe for concurrent use.
type faultPlan struct {
	mu      sync.Mutex
	planned map[string][]fault
	decide  func(operation string) fault
	met     map[fault]int
}

// next lets the next tries of the operation ("PutItem") meet these faults, in this order; faultNone
// lets one through.
func (p *faultPlan) next(operation string, faults ...fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.planned == nil {
		p.planned = map[string][]fault{}
	}
	p.planned[operation] = append(p.planned[operation], faults...)
}

// always asks decide about each try that next says nothing of; nil ends that. decide is called by
// one goroutine at a time.
func (p *faultPlan) always(decide func(operation string) fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decide = decide
}

// drop takes back what next has planned for the operation and no try has met.
func (p *faultPlan) drop(operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.planned, operation)
}

// hits returns how many tries have met the fault.
func (p *faultPlan) hits(f fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.met[f]
}

func (p *faultPlan) draw(operation string) fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := faultNone
	if waiting := p.planned[operation]; len(waiting) > 0 {
		f = waiting[0]
		p.planned[operation] = waiting[1:]
	} else if p.decide != nil {
		f = p.decide(operation)
	}
	if p.met == nil {
		p.met = map[fault]int{}
	}
	p.met[f]++
	return f
}

// into puts the plan into all clients that are made of the configuration from now on.
func (p *faultPlan) into(c *aws.Config) {
	c.APIOptions = append(c.APIOptions[:len(c.APIOptions):len(c.APIOptions)],
		func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("StepkeeperFaults", p.handle),
				middleware.After)
		})
}

// handle is the innermost layer around the transport, one call of it for each try.
func (p *faultPlan) handle(ctx context.Context, in middleware.DeserializeInput,
	next middleware.DeserializeHandler,
) (middleware.DeserializeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	f := p.draw(operation)
	switch f {
	case faultNone:
		return next.HandleDeserialize(ctx, in)
	case faultThrottled:
		return refusal(throttle(operation)), middleware.Metadata{}, nil
	case faultConflict:
		return refusal(conflict), middleware.Metadata{}, nil
	case faultTwice:
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if err != nil {
			return out, metadata, err
		}
		discard(out)
		if err := rewind(in); err != nil {
			return out, metadata, err
		}
		return next.HandleDeserialize(ctx, in)
	case faultLostAnswer:
		if out, metadata, err := next.HandleDeserialize(ctx, in); err != nil {
			return out, metadata, err
		} else {
			discard(out)
		}
	}
	return middleware.DeserializeOutput{}, middleware.Metadata{},
		&smithyhttp.RequestSendError{Err: fmt.Errorf("injected fault, %s: %w", f, io.ErrUnexpectedEOF)}
}

func rewind(in middleware.DeserializeInput) error {
	req, ok := in.Request.(*smithyhttp.Request)
	if !ok {
		return fmt.Errorf("a request of type %T cannot be sent twice", in.Request)
	}
	return req.RewindStream()
}

func discard(out middleware.DeserializeOutput) {
	if res, ok := out.RawResponse.(*smithyhttp.Response); ok {
		_, _ = io.Copy(io.Discard, res.Body)
		_ = res.Body.Close()
	}
}

// throttle is the body of the answer to a call that is throttled.
func throttle(operation string) string {
	switch operation {
	case "PutItem", "GetItem", "Query", "UpdateItem":
		return `{"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"injected: rate exceeded"}`
	}
	return `{"__type":"com.amazonaws.sqs#RequestThrottled","message":"injected: rate exceeded"}`
}

const conflict = `{"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"injected: transaction is ongoing for the item"}`

// refusal is an answer that no server sent.
func refusal(body string) middleware.DeserializeOutput {
	return middleware.DeserializeOutput{RawResponse: &smithyhttp.Response{Response: &http.Response{
		StatusCode: http.StatusBadRequest,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body:       io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)),
	}}}
}
