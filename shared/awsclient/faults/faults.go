// Package faults does to the SDK's calls what AWS does now and then and emulators never do: answers
// get lost, calls are throttled, arrive twice, or run into another transaction (rule 27 of
// docs/reference/aws-rules.md). It is for tests; nothing else imports it, and without a call of a Plan's
// methods nothing happens.
package faults

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

// Fault is what happens to one try of a call. The SDK's own repeats are tries of their own.
type Fault int

// Kinds of faults. None lets the call through.
const (
	None       Fault = iota
	LostAnswer       // the call is carried out, and its answer is lost
	Unsent           // the call does not arrive, which looks like a lost answer to the caller
	Throttled        // the call is refused for now
	Twice            // it is carried out twice; the second answer counts
	Conflict         // DynamoDB: another transaction is under way
)

func (f Fault) String() string {
	return [...]string{"none", "lost answer", "unsent", "throttled", "twice", "conflict"}[f]
}

// Plan decides which calls meet a fault. The zero Plan injects none. Safe for concurrent use.
type Plan struct {
	mu     sync.Mutex
	next   map[string][]Fault
	decide func(operation string) Fault
	hits   map[Fault]int
}

// Any stands for every operation; what is planned for one by its name goes before it. A Conflict
// waits for a write: reads meet none.
const Any = ""

// Next lets the next tries of the operation ("PutItem") meet these faults, in this order; None
// lets one through.
func (p *Plan) Next(operation string, faults ...Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.next == nil {
		p.next = map[string][]Fault{}
	}
	p.next[operation] = append(p.next[operation], faults...)
}

// Always asks decide about each try that Next says nothing of; nil ends that. decide is called by
// one goroutine at a time.
func (p *Plan) Always(decide func(operation string) Fault) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.decide = decide
}

// Drop takes back what Next has planned for the operation and no try has met.
func (p *Plan) Drop(operation string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.next, operation)
}

// Hits is how many tries have met the fault.
func (p *Plan) Hits(f Fault) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.hits[f]
}

func (p *Plan) draw(operation string) Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	f := None
	read := operation == "GetItem" || operation == "Query"
	if waiting := p.next[operation]; len(waiting) > 0 {
		f, p.next[operation] = waiting[0], waiting[1:]
	} else if waiting := p.next[Any]; len(waiting) > 0 && (waiting[0] != Conflict || !read) {
		f, p.next[Any] = waiting[0], waiting[1:]
	} else if p.decide != nil {
		f = p.decide(operation)
	}
	if p.hits == nil {
		p.hits = map[Fault]int{}
	}
	p.hits[f]++
	return f
}

// Into puts the plan into all clients that are made of the configuration from now on.
func (p *Plan) Into(c *aws.Config) {
	c.APIOptions = append(c.APIOptions[:len(c.APIOptions):len(c.APIOptions)],
		func(stack *middleware.Stack) error {
			return stack.Deserialize.Add(middleware.DeserializeMiddlewareFunc("StepkeeperFaults", p.handle),
				middleware.After)
		})
}

// handle is the innermost layer around the transport, one call of it for each try.
func (p *Plan) handle(ctx context.Context, in middleware.DeserializeInput,
	next middleware.DeserializeHandler) (middleware.DeserializeOutput, middleware.Metadata, error) {
	operation := awsmiddleware.GetOperationName(ctx)
	f := p.draw(operation)
	switch f {
	case None:
		return next.HandleDeserialize(ctx, in)
	case Throttled:
		return refusal(throttle(operation)), middleware.Metadata{}, nil
	case Conflict:
		return refusal(conflict), middleware.Metadata{}, nil
	case Twice:
		out, metadata, err := next.HandleDeserialize(ctx, in)
		if err != nil {
			return out, metadata, err
		}
		discard(out)
		if err := rewind(in); err != nil {
			return out, metadata, err
		}
		return next.HandleDeserialize(ctx, in)
	case LostAnswer:
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
