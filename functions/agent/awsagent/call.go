package awsagent

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/redact"
)

const (
	maxPayload  = 256 << 10 // bytes of a payload; the lowest limit among the services
	maxResponse = 8 << 20   // bytes of a response; Lambda has the highest limit, 6 MB
)

type runFunc = func(context.Context, *operation, worker.Call, []byte) (json.RawMessage, error)

type operation struct {
	agent  string
	config Operation
	aws    aws.Config
	what   string // kind and ARN of the target, for error texts
	run    runFunc
	// machines lists the standard state machines that the agent's operations start. Before an undo, quiet
	// checks that none of them still runs an execution of the do.
	machines []Target
}

// Operation configures the calls of one operation.
type Operation struct {
	Target   Target
	Output   string            // "ignore": the output of the step is empty
	Classify map[string]string // classes by the name of an error
}

// Operations returns the operations of an agent for a worker. Timeout limits each call; 0 means the time that
// the step has left. The operations use the credentials of c, but not its Region and retries.
func Operations(name string, timeout time.Duration, configs map[string]Operation, c aws.Config) worker.Operations {
	c.Retryer = func() aws.Retryer { return aws.NopRetryer{} }
	// Package worker repeats calls, so the SDK makes one attempt. A call may take all the time that its step
	// allows, so the SDK sets no time limit.
	c.RetryMaxAttempts = 1
	c.APIOptions = nil
	c.HTTPClient = bounded{c.HTTPClient}
	operations := make(worker.Operations, len(configs))
	for each, config := range configs {
		o := &operation{
			agent: name, config: config, aws: c,
			what: config.Target.Kind + " " + config.Target.ARN, run: runs[config.Target.Kind],
			machines: machines(configs),
		}
		o.aws.Region = config.Target.Region
		if config.Target.Express {
			o.run = startSync
		}
		operations[each] = worker.Operation{Run: func(ctx context.Context, call worker.Call) (any, error) {
			if timeout > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			return o.do(ctx, call)
		}}
	}
	return operations
}

func (o *operation) do(ctx context.Context, call worker.Call) (any, error) {
	body, err := payload(call)
	if err != nil {
		return nil, &worker.Failure{
			Permanent: true, NoEffect: true, Code: "input",
			Err: fmt.Errorf("%s was not called: %w", o.what, err),
		}
	}
	x := &exchange{fresh: call.Grade == core.Plain || call.PointOfNoReturn}
	ctx = context.WithValue(ctx, exchangeKey{}, x)
	var out json.RawMessage
	// only idempotent steps start standard executions
	if call.Operation == core.UndoOp && call.Grade == core.Idempotent {
		err = o.quiet(ctx, call)
	}
	if err == nil {
		out, err = o.run(ctx, o, call, body)
	}
	var own *reported
	if errors.As(err, &own) && o.config.Classify[own.name] == "done" {
		return nil, nil
	}
	if err != nil {
		return nil, worker.Rewritten(o.failure(err, x), x.redact.Text)
	}
	if o.config.Output == "ignore" || len(bytes.TrimSpace(out)) == 0 {
		return nil, nil
	}
	return x.redact.Output(out), nil
}

func payload(call worker.Call) ([]byte, error) {
	fields := map[string]json.RawMessage{}
	input := bytes.TrimSpace(call.Input)
	if len(input) > 0 {
		if err := rawjson.Check(input, rawjson.MaxLevels); err != nil {
			return nil, fmt.Errorf("its input cannot be read: %w", err)
		}
		if err := json.Unmarshal(input, &fields); err != nil || fields == nil {
			return nil, fmt.Errorf("its input is not an object, and has no place for the idempotencyKey; " +
				"write it as fields, each as NAME: VALUE")
		}
	}
	if _, taken := fields["idempotencyKey"]; taken {
		return nil, fmt.Errorf("its input has a field idempotencyKey, which the agent sets; leave it out")
	}
	fields["idempotencyKey"], _ = rawjson.Marshal(call.Key) // encoding a string cannot fail
	body, err := rawjson.Marshal(fields)
	if err == nil && len(body) > maxPayload {
		err = fmt.Errorf(
			"its input has %d bytes, and %d are possible; send a reference",
			len(body),
			maxPayload,
		)
	}
	return body, err
}

func about(call worker.Call) map[string]string {
	return map[string]string{
		"operation": string(call.Operation), "name": call.Name, "task": call.OrderID,
		"run": strconv.Itoa(call.Run), "step": call.Step, "attempt": strconv.Itoa(call.Attempt),
		"deadline": call.Deadline.UTC().Format(time.RFC3339Nano),
	}
}

// identity returns a text that is equal for all attempts of a do, and another text for all attempts of
// its undo. The text has 64 letters and digits, which every service accepts as an ID.
func identity(call worker.Call) string {
	sum := sha256.Sum256([]byte(string(call.Operation) + "\n" + call.Key))
	return hex.EncodeToString(sum[:])
}

func label(text string, n int) string {
	text = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		return '-'
	}, text)
	return text[:min(n, len(text))]
}

// exchange is what the requests of one call have in common.
type exchange struct {
	// fresh means that the requests use no kept connection, because a broken one would leave the call in doubt (rule 34
	// of docs/reference/aws-rules.md).
	fresh  bool
	sent   atomic.Bool     // a request got a connection; without one, the call had no effect
	redact redact.Redactor // removes the credentials that the requests carried
}

type exchangeKey struct{}

// bounded limits the size of responses. It also records the exchange.
type bounded struct{ next aws.HTTPClient }

// Do sends one request.
func (b bounded) Do(req *http.Request) (*http.Response, error) {
	if x, ours := req.Context().Value(exchangeKey{}).(*exchange); ours {
		x.redact = x.redact.WithHeader(req.Header)
		if c, keeps := b.next.(interface{ CloseIdleConnections() }); keeps && x.fresh {
			c.CloseIdleConnections()
		}
		req = req.WithContext(httptrace.WithClientTrace(req.Context(), &httptrace.ClientTrace{
			GotConn: func(httptrace.GotConnInfo) { x.sent.Store(true) },
		}))
	}
	res, err := b.next.Do(req)
	if err == nil && res.Body != nil {
		res.Body = http.MaxBytesReader(nil, res.Body, maxResponse)
	}
	return res, err
}
