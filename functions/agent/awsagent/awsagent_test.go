package awsagent_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/awsagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
)

const prefix = "arn:aws:%s:eu-west-3:111122223333:%s"

// entry is an agents file with one call.
func entry(t *testing.T, call string) settings.Agent {
	t.Helper()
	c, err := agentsfile.Parse([]byte("agents: {stock: {aws: "+call+
		", classify: {OutOfStock: permanent, Gone: done}}}"),
		func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	return c.Agents["stock"]
}

// request is one request of the agent, as the service sees it.
type request struct {
	path, action string
	body         string
	header       http.Header
}

// service answers with one response after another, and returns what it got.
func service(t *testing.T, responses ...func(http.ResponseWriter)) (aws.Config, *[]request) {
	t.Helper()
	var got []request
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got = append(got, request{r.URL.Path, r.Header.Get("X-Amz-Target"), string(body), r.Header})
		responses[min(len(got), len(responses))-1](w)
	}))
	t.Cleanup(srv.Close)
	return awsstub.ConfigAt(t, srv.URL), &got
}

func answer(status int, body string, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func call(change ...func(*worker.Call)) worker.Call {
	c := worker.Call{
		OrderID: "o:1", Step: "reserve", Attempt: 2, Operation: core.Do, Name: "reserve",
		Grade: core.Idempotent, Key: "o:1/0/reserve", Input: json.RawMessage(`{"sku":"MUG"}`),
		Deadline: time.Now().Add(time.Minute),
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

// run makes one call, and returns its output as JSON.
func run(t *testing.T, c aws.Config, a settings.Agent, in worker.Call) (string, *worker.Failure) {
	t.Helper()
	operations := awsagent.Operations("stock", a.Timeout, a.Calls(), c)
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	out, err := operations[worker.AnyOperation].Run(ctx, in)
	var f *worker.Failure
	if err != nil && !errors.As(err, &f) {
		t.Fatalf("%v is no Failure", err)
	}
	text, _ := json.Marshal(out)
	return string(text), f
}

const payload = `{"idempotencyKey":"o:1/0/reserve","sku":"MUG"}`

func arn(service, resource string) string { return fmt.Sprintf(prefix, service, resource) }

// Each kind makes one call, signed for the Region of its ARN, with the key in it.
func TestCalls(t *testing.T) {
	quoted, _ := json.Marshal(payload)
	const published = "<PublishResponse><PublishResult><MessageId>m-1</MessageId></PublishResult></PublishResponse>"
	for name, c := range map[string]struct {
		entry  string
		answer string
		want   []string // parts of the request
		output string
		change func(*worker.Call)
	}{
		"invoke": {
			"{invoke: '" + arn("lambda", "function:reserve:live") + "'}", `{"reserved":1}`,
			[]string{"function:reserve:live/invocations", payload},
			`{"reserved":1}`, nil,
		},
		"nothing": {"{invoke: '" + arn("lambda", "function:reserve") + "'}", `null`, nil, "null", nil},
		"putEvents": {
			"{putEvents: '" + arn("events", "event-bus/shop") + "'}",
			`{"FailedEntryCount":0,"Entries":[{"EventId":"e-1"}]}`,
			[]string{
				"AWSEvents.PutEvents", `"Source":"stepkeeper.stock"`, `"DetailType":"reserve"`,
				`"Detail":` + string(quoted),
			},
			`{"eventId":"e-1"}`, nil,
		},
		"send": {
			"{send: 'https://sqs.eu-west-3.amazonaws.com/111122223333/orders.fifo'}",
			`{"MessageId":"m-1"}`,
			[]string{
				"AmazonSQS.SendMessage", `"MessageGroupId":"o-1"`, `"MessageDeduplicationId":"`,
				`"MessageBody":` + string(quoted),
			},
			"", nil,
		},
		"publish": {
			"{publish: '" + arn("sns", "orders") + "'}",
			published,
			[]string{"Action=Publish", "idempotencyKey"},
			`{"messageId":"m-1"}`, nil,
		},
		"publish in order": {
			"{publish: '" + arn("sns", "orders.fifo") + "'}", published,
			[]string{"MessageGroupId=azAZ09_--", "MessageDeduplicationId="},
			`{"messageId":"m-1"}`,
			func(c *worker.Call) { c.OrderID = "azAZ09_:é" },
		},
		"express": {
			"{startExecution: '" + arn("states", "stateMachine:ship") + "', express: true}",
			`{"executionArn":"x","startDate":1,"stopDate":2,"status":"SUCCEEDED","output":"{\"a\":1}"}`,
			// an execution that an earlier release started has the same name
			[]string{
				"AWSStepFunctions.StartSyncExecution",
				`"name":"o-1-0-reserve-39c29385ca375a6d2583eb0e4bf2c816"`,
			},
			`{"a":1}`, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, got := service(t, answer(200, c.answer))
			if c.change == nil {
				c.change = func(*worker.Call) {}
			}
			out, f := run(t, cfg, entry(t, c.entry), call(c.change))
			require.Len(t, *got, 1)
			r := (*got)[0]
			all := r.path + " " + r.action + " " + r.body
			for _, want := range c.want {
				require.Contains(t, all, want)
			}
			require.Contains(t, r.header.Get("Authorization"), "/eu-west-3/")
			if c.output != "" && (f != nil || out != c.output) {
				t.Errorf("output %s, %v; want %s", out, f, c.output)
			}
		})
	}
}

// A function finds what the call is about in its client context.
func TestClientContext(t *testing.T) {
	cfg, got := service(t, answer(200, "{}"))
	run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"), call())
	data, err := base64.StdEncoding.DecodeString((*got)[0].header.Get("X-Amz-Client-Context"))
	require.NoError(t, err)
	require.Contains(t, string(data), `"task":"o:1"`)
	require.Contains(t, string(data), `"operation":"do"`)
}

// What an error means for the step. Broken by: a throttled call is permanent, or 500 is without effect.
func TestFailures(t *testing.T) {
	lambdaError := func(status int, code string, more ...string) func(http.ResponseWriter) {
		return answer(status, `{"message":"why"}`, append(more, "X-Amzn-Errortype", code)...)
	}
	for name, c := range map[string]struct {
		answer func(http.ResponseWriter)
		want   worker.Failure // expected failure; its Err is not compared
		text   string
	}{
		"throttled": {
			lambdaError(429, "TooManyRequestsException", "Retry-After", "7"),
			worker.Failure{
				NoEffect: true,
				Code:     "aws-TooManyRequestsException", RetryAfter: 7 * time.Second,
			},
			"too many calls",
		},
		"server": {
			lambdaError(500, "ServiceException"),
			worker.Failure{Code: "aws-ServiceException"},
			"may have had its effect",
		},
		"too slow": {
			lambdaError(408, "RequestTimeoutException"),
			worker.Failure{Code: "aws-RequestTimeoutException"},
			"may have had its effect",
		},
		"pending": {lambdaError(409, "ResourceConflictException"), worker.Failure{
			NoEffect: true,
			Code:     "aws-ResourceConflictException",
		}, "refused for now"},
		"denied": {
			lambdaError(403, "AccessDeniedException"),
			worker.Failure{
				Permanent: true, NoEffect: true,
				Code: "aws-AccessDeniedException",
			},
			"grant its role lambda:InvokeFunction on arn:aws:lambda:eu-west-3",
		},
		"missing": {
			lambdaError(404, "ResourceNotFoundException"),
			worker.Failure{
				Permanent: true, NoEffect: true,
				Code: "aws-ResourceNotFoundException",
			},
			"not there",
		},
		"invalid": {
			lambdaError(400, "InvalidParameterValueException"),
			worker.Failure{
				Permanent: true, NoEffect: true,
				Code: "aws-InvalidParameterValueException",
			},
			"was refused",
		},
		"expired": {lambdaError(403, "ExpiredTokenException"), worker.Failure{
			NoEffect: true,
			Code:     core.CodeUnauthorized,
		}, "renew them"},
		"function failed": {
			answer(200, `{"errorType":"ValueError","errorMessage":"a text\nof two lines"}`,
				"X-Amz-Function-Error", "Unhandled"),
			worker.Failure{Code: "ValueError"},
			"ValueError: a text of two lines",
		},
		"function refused": {
			answer(200, `{"errorType":"OutOfStock"}`, "X-Amz-Function-Error", "Unhandled"),
			worker.Failure{Code: "OutOfStock", Permanent: true},
			"OutOfStock",
		},
		"garbage": {
			answer(200, `nonsense`, "X-Amz-Function-Error", "Unhandled"),
			worker.Failure{Code: "failed"},
			"",
		},
	} {
		t.Run(name, func(t *testing.T) {
			cfg, got := service(t, c.answer)
			_, f := run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"), call())
			require.NotNil(t, f)
			require.Len(t, *got, 1)
			text := f.Err.Error()
			require.Contains(t, text, c.text)
			require.NotContains(t, text, "\n", c.text)
			f.Err = nil
			require.Equal(t, c.want, *f)
		})
	}
	t.Run("classified as done", func(t *testing.T) {
		cfg, _ := service(t, answer(200, `{"errorType":"Gone"}`, "X-Amz-Function-Error", "Unhandled"))
		out, f := run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"), call())
		require.Nil(t, f)
		require.Equal(t, "null", out)
	})
	throttledKey := func(kind, body string, headers ...string) {
		t.Run("throttled by the key of the resource: "+kind, func(t *testing.T) {
			cfg, _ := service(t, answer(400, body, headers...))
			_, f := run(t, cfg, entry(t, kind), call())
			require.NotNil(t, f)
			require.True(t, f.NoEffect)
			require.False(t, f.Permanent)
		})
	}
	throttledKey("{send: 'https://sqs.eu-west-3.amazonaws.com/111122223333/orders'}",
		`{"__type":"com.amazonaws.sqs#KmsThrottled"}`, "X-Amzn-Query-Error", "KMS.ThrottlingException;Sender")
	throttledKey("{publish: '"+arn("sns", "orders")+"'}",
		"<ErrorResponse><Error><Type>Sender</Type><Code>KMSThrottling</Code></Error></ErrorResponse>")
	throttledKey("{startExecution: '"+arn("states", "stateMachine:ship")+"'}",
		`{"__type":"com.amazonaws.sfn#KmsThrottlingException"}`)
	t.Run("event refused", func(t *testing.T) {
		cfg, _ := service(t, answer(200,
			`{"FailedEntryCount":1,"Entries":[{"ErrorCode":"ThrottlingException","ErrorMessage":"slow"}]}`))
		_, f := run(t, cfg, entry(t, "{putEvents: '"+arn("events", "event-bus/shop")+"'}"), call())
		require.NotNil(t, f, "%+v", f)
		require.False(t, f.Permanent, "%+v", f)
		require.True(t, f.NoEffect, "%+v", f)
	})
}

// Whether a call had a connection is what proves that it had no effect.
func TestNetworkFailures(t *testing.T) {
	invoke := entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}")
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	l.Close()
	_, f := run(t, awsstub.ConfigAt(t, "http://"+l.Addr().String()), invoke, call())
	require.NotNil(t, f, "nobody listens: %+v", f)
	require.True(t, f.NoEffect, "nobody listens: %+v", f)
	require.False(t, f.Permanent, "nobody listens: %+v", f)
	cfg, _ := service(t, func(http.ResponseWriter) { panic(http.ErrAbortHandler) })
	_, f = run(t, cfg, invoke, call())
	require.NotNil(t, f, "the connection broke: %+v", f)
	require.False(t, f.NoEffect, "the connection broke: %+v", f)
	require.False(t, f.Permanent, "the connection broke: %+v", f)
	cfg, _ = service(t, answer(200, strings.Repeat(" ", 9<<20)))
	_, f = run(t, cfg, invoke, call())
	require.NotNil(t, f, "9 MiB of response: %+v", f)
	require.False(t, f.NoEffect, "9 MiB of response: %+v", f)
	cfg, got := service(t, answer(200, "{}"))
	for _, err := range []error{
		errors.New("the session has ended"),
		&smithy.GenericAPIError{Code: "InternalFailure"}, &smithy.GenericAPIError{Code: "AccessDenied"},
	} {
		cfg.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{}, err
		})
		if _, f := run(t, cfg, invoke, call()); f == nil || f.Code != core.CodeUnauthorized || f.Permanent ||
			!f.NoEffect || len(*got) > 0 {
			t.Errorf("no credentials, %v: %+v after %d requests", err, f, len(*got))
		}
	}
}

// An input that cannot carry the key is refused before anything is called.
func TestInputs(t *testing.T) {
	for _, input := range []string{
		`[1]`, `"text"`, `7`, `null`, `{"idempotencyKey":"mine"}`, `{`,
		`{"a":"` + strings.Repeat("x", 300<<10) + `"}`,
	} {
		cfg, got := service(t, answer(200, "{}"))
		_, f := run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"),
			call(func(c *worker.Call) { c.Input = json.RawMessage(input) }))
		if f == nil || !f.Permanent || !f.NoEffect || f.Code != "input" || len(*got) > 0 {
			t.Errorf("%.40s: %+v after %d requests", input, f, len(*got))
		}
	}
	cfg, got := service(t, answer(200, "{}"))
	_, f := run(t, cfg, entry(t, "{invoke: '"+arn("lambda", "function:reserve")+"'}"),
		call(func(c *worker.Call) { c.Input = nil }))
	require.Nil(t, f)
	require.Equal(t, `{"idempotencyKey":"o:1/0/reserve"}`, (*got)[0].body)
}

// A standard execution is started once for each key, and polled until its end.
func TestAStandardExecution(t *testing.T) {
	machine := entry(t, "{startExecution: '"+arn("states", "stateMachine:ship:live")+"'}")
	missing := answer(400, `{"__type":"com.amazonaws.states#ExecutionDoesNotExist","message":"none"}`)
	described := func(status, more string) func(http.ResponseWriter) {
		return answer(
			200,
			`{"executionArn":"x","stateMachineArn":"y","startDate":1,"status":"`+status+`"`+more+`}`,
		)
	}
	cfg, got := service(t, missing, answer(200, `{"executionArn":"x","startDate":1}`))
	_, f := run(t, cfg, machine, call())
	if f == nil || !f.Requeue || f.NoEffect || f.Permanent || len(*got) != 2 ||
		!strings.Contains((*got)[0].body, ":execution:ship:o-1-0-reserve-") ||
		!strings.Contains((*got)[1].action, "StartExecution") {
		t.Errorf("start: %+v, %+v", f, *got)
	}
	// another order was quicker than the answer of DescribeExecution
	cfg, _ = service(
		t,
		missing,
		answer(400, `{"__type":"com.amazonaws.states#ExecutionAlreadyExists","message":"x"}`),
	)
	_, f = run(t, cfg, machine, call())
	require.NotNil(t, f, "started before: %+v", f)
	require.True(t, f.Requeue, "started before: %+v", f)
	cfg, _ = service(t, described("RUNNING", ""))
	_, f = run(t, cfg, machine, call())
	require.NotNil(t, f, "running: %+v", f)
	require.Equal(t, core.CodeNotYet, f.Code)
	require.True(t, f.NoEffect, "running: %+v", f)
	require.Greater(t, f.RetryAfter, time.Duration(0))
	cfg, _ = service(t, described("SUCCEEDED", `,"output":"{\"truck\":7}"`))
	out, f := run(t, cfg, machine, call())
	require.Nil(t, f)
	require.Equal(t, `{"truck":7}`, out)
	cfg, _ = service(t, described("FAILED", `,"error":"NoTruck","cause":"none is free"`))
	if _, f := run(t, cfg, machine, call()); f == nil || !f.Permanent || f.NoEffect || f.Code != "NoTruck" {
		t.Errorf("failed: %+v", f)
	}
	for _, change := range []func(*worker.Call){
		func(c *worker.Call) { c.Grade = core.Plain }, func(c *worker.Call) { c.PointOfNoReturn = true },
	} {
		cfg, got = service(t, missing)
		_, f := run(t, cfg, machine, call(change))
		require.NotNil(t, f, "not polled: %+v", f)
		require.True(t, f.Permanent, "not polled: %+v", f)
		require.True(t, f.NoEffect, "not polled: %+v", f)
		require.Empty(t, *got)
	}
}

// A do and its undo, which has the same key, are two messages and two executions.
func TestTheUndoIsAnother(t *testing.T) {
	body := func(change ...func(*worker.Call)) string {
		cfg, got := service(t, answer(200, "{}"))
		run(
			t,
			cfg,
			entry(t, "{send: 'https://sqs.eu-west-3.amazonaws.com/111122223333/orders.fifo'}"),
			call(change...),
		)
		var m struct{ MessageDeduplicationId string }
		require.NoError(t, json.Unmarshal([]byte((*got)[0].body), &m))
		require.NotEmpty(t, m.MessageDeduplicationId)
		return m.MessageDeduplicationId
	}
	do := body()
	again := body(func(c *worker.Call) { c.Attempt = 9 })
	undo := body(func(c *worker.Call) { c.Operation = core.UndoOp })
	require.Equal(t, again, do)
	require.NotEqual(t, undo, do)
}

// An undo waits until the execution that the do of its step has started has ended, however the operations are
// named. Broken by: the undo is called at once, and the execution has its effects after it.
func TestAnUndoWaitsForTheExecution(t *testing.T) {
	c, err := agentsfile.Parse([]byte("agents: {stock: {aws: {invoke: '"+arn("lambda", "function:unship")+
		"'}, operations: {'*': {}, ship: {aws: {startExecution: '"+arn("states", "stateMachine:ship")+"'}}}}}"),
		func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	a := c.Agents["stock"]
	status := func(status string) func(http.ResponseWriter) {
		return answer(200, `{"executionArn":"x","stateMachineArn":"y","startDate":1,"status":"`+status+`"}`)
	}
	missing := answer(400, `{"__type":"com.amazonaws.states#ExecutionDoesNotExist","message":"none"}`)
	cfg, got := service(t, missing, answer(200, `{"executionArn":"x","startDate":1}`))
	operations := awsagent.Operations("stock", a.Timeout, a.Calls(), cfg)
	do := call(func(c *worker.Call) { c.Name = "ship" })
	_, err = operations["ship"].Run(t.Context(), do)
	require.Error(t, err)
	require.Len(t, *got, 2)
	execution := (*got)[0].body
	undo := call(func(c *worker.Call) {
		c.Operation = core.UndoOp
		c.Name = "unship"
	})
	for _, running := range []string{"RUNNING", "PENDING_REDRIVE"} {
		cfg, got = service(t, status(running), answer(200, `{}`))
		if _, f := run(t, cfg, a, undo); f == nil || f.Code != core.CodeNotYet || !f.NoEffect ||
			len(*got) != 1 || (*got)[0].body != execution {
			t.Errorf("%s: %+v after %+v, want a look at %s", running, f, *got, execution)
		}
	}
	for _, ended := range []func(http.ResponseWriter){status("SUCCEEDED"), status("ABORTED"), missing} {
		cfg, got = service(t, ended, answer(200, `{}`))
		_, f := run(t, cfg, a, undo)
		require.Nil(t, f)
		require.Len(t, *got, 2)
		require.Contains(t, (*got)[1].path, "function:unship")
	}
}
