package operate_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// cloud is one endpoint for all services: CloudFormation returns the outputs, and each test sets the other
// replies.
type cloud struct {
	*httptest.Server
	outputs map[string]string
	failing atomic.Pointer[[2]string] // an action, "cloudformation:DescribeStacks", and the code of its error
	sqs     http.Handler
	dynamo  http.Handler
	mapped  map[string]string // event source mappings by UUID: the answer; absent: there is none
	calls   atomic.Int32
}

const stackARN = "arn:aws:cloudformation:eu-central-1:" + accountID + ":stack/Shop/e1"

func newCloud(t *testing.T) *cloud {
	t.Helper()
	c := &cloud{sqs: http.NotFoundHandler(), dynamo: http.NotFoundHandler()}
	c.Server = httptest.NewServer(c)
	t.Cleanup(c.Close)
	return c
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.calls.Add(1)
	service, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	action := "cloudformation:DescribeStacks"
	switch {
	case strings.HasPrefix(service, "DynamoDB"):
		action = "dynamodb:" + operation
	case service == "AmazonSQS":
		action = "sqs:" + strings.TrimSuffix(operation, "Batch")
	case strings.HasPrefix(r.URL.Path, "/2015-03-31/event-source-mappings/"):
		action = "lambda:GetEventSourceMapping"
	case strings.HasSuffix(r.URL.Path, "/account-settings"):
		action = "lambda:GetAccountSettings"
	}
	code := ""
	if f := c.failing.Load(); f != nil && f[0] == action {
		code = f[1]
	}
	switch {
	case action == "cloudformation:DescribeStacks":
		c.stacks(w, r, code)
	case code != "":
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"__type":"com.amazonaws#%s","message":"User: arn:aws:iam::1:user/ann is not authorized to perform: %s"}`, code, action)
	case strings.HasPrefix(action, "dynamodb:"):
		c.dynamo.ServeHTTP(w, r)
	case action == "lambda:GetEventSourceMapping":
		answer, there := c.mapped[path.Base(r.URL.Path)]
		if !there {
			w.Header().Set("X-Amzn-Errortype", "ResourceNotFoundException")
			w.WriteHeader(http.StatusNotFound)
			answer = `{"Type":"User","Message":"The resource you requested does not exist."}`
		}
		fmt.Fprint(w, answer)
	case action == "lambda:GetAccountSettings":
		fmt.Fprint(w, `{"AccountLimit":{"ConcurrentExecutions":10}}`)
	default:
		c.sqs.ServeHTTP(w, r)
	}
}

func (c *cloud) stacks(w http.ResponseWriter, r *http.Request, code string) {
	body, _ := io.ReadAll(r.Body)
	form, _ := url.ParseQuery(string(body))
	text := "denied to ann"
	if name := form.Get("StackName"); code == "" && name != "Shop" && name != stackARN {
		code = "ValidationError"
		text = "Stack with id " + name + " does not exist"
	}
	w.Header().Set("Content-Type", "text/xml")
	if code != "" {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `<ErrorResponse><Error><Type>Sender</Type><Code>%s</Code><Message>%s</Message></Error></ErrorResponse>`, code, text)
		return
	}
	fmt.Fprint(w, described(c.outputs))
}

// described is the answer of CloudFormation about a stack with these outputs.
func described(outputs map[string]string) string {
	text := `<R><DescribeStacksResult><Stacks><member><Outputs>`
	for key, value := range outputs {
		text += `<member><OutputKey>` + key + `</OutputKey><OutputValue>` + html.EscapeString(value) +
			`</OutputValue></member>`
	}
	return text + `</Outputs></member></Stacks></DescribeStacksResult></R>`
}

// golden returns the outputs of the template that the construct's tests compare with, with invented values
// for its references.
func golden(t *testing.T) map[string]string {
	t.Helper()
	var template struct {
		Outputs map[string]struct{ Value any }
	}
	data, err := os.ReadFile("../../../infra/testdata/shop.template.json")
	if err == nil {
		err = json.Unmarshal(data, &template)
	}
	require.NoError(t, err)
	values := map[string]string{}
	for key, o := range template.Outputs {
		if text, ok := o.Value.(string); ok {
			values[key] = text
			continue
		}
		if join, ok := o.Value.(map[string]any)["Fn::Join"].([]any); ok && join[0] == "" {
			for _, part := range join[1].([]any) {
				text, _ := part.(string)
				if ref, ok := part.(map[string]any); ok {
					text = fmt.Sprint(ref["Ref"])
				}
				values[key] += text
			}
			continue
		}
		values[key] = "https://x/" + key
	}
	return values
}

// The construct writes the same outputs that this program reads. A name does not always show where words begin, so the
// mappings have the names of the queues.
func TestReadOutputs(t *testing.T) {
	values := golden(t)
	for name, value := range map[string]string{
		"Finished": "true", "FairQueues": "true", "Paused": "true", "Scheduled": "order,report",
		"Concurrency": "40", "SweepSeconds": "120", "Priorities": "card-payment,intake",
		"Mappings":        "control=m-1,intake=m-2,replies=m-3,tasks=m-8",
		"Mappings2":       "requests-inventory=m-4,requests-notification=,requests-payment=m-5,requests-card-payment=m-7",
		"Mappings3":       "requests-shipping=m-6,requests-card-payment-high=m-9",
		"TaskMessagesUrl": "t", "TaskMessagesDeadUrl": "t-dead",
		"RequestsCardPaymentUrl": "u", "RequestsCardPaymentDeadUrl": "u-dead",
		"RequestsCardPaymentHighUrl": "h", "RequestsCardPaymentHighDeadUrl": "h-dead", "IntakeHighUrl": "i-high",
	} {
		values["Engine"+name] = value
	}
	values["AppIntakeUrl"] = "of something else"
	at := func(name string) string { return "https://x/Engine" + name }
	want := aws.Outputs{
		Orders: at("OrdersTable"), Definitions: at("DefinitionsTable"),
		Intake: at("IntakeUrl"), Control: at("ControlUrl"), Quarantine: at("QuarantineUrl"),
		Replies: at("RepliesUrl"), Tasks: "t",
		Shards: 8, Finished: true, FairQueues: true, IntakeCommands: true, Paused: true,
		Schedule:    at("ScheduleName"),
		Application: at("ApplicationPolicy"), Operator: at("OperatorPolicy"), Concurrency: 40, Shared: 36,
		Release:  view.Release{Version: "(devel)", Tasks: 3, Messages: 1},
		Requests: map[string]string{"card-payment": "u"},
		High:     map[string]string{"intake": "i-high", "requests-card-payment": "h"},
		Mappings: map[string]string{
			"control": "m-1", "intake": "m-2", "replies": "m-3", "tasks": "m-8",
			"requests-inventory": "m-4", "requests-notification": "", "requests-payment": "m-5",
			"requests-shipping": "m-6", "requests-card-payment": "m-7", "requests-card-payment-high": "m-9",
		},
		Workflows: map[string]string{"Order": "HASH"}, Scheduled: []string{"order", "report"},
		Dead: map[string]string{
			"quarantine": at("QuarantineUrl"), "missed-sweeps": at("MissedSweepsUrl"), "tasks": "t-dead",
			"requests-card-payment": "u-dead", "requests-card-payment-high": "h-dead",
		},
		SweepInterval: 2 * time.Minute, Deployment: "Shop/Engine",
		Alerts: at("AlertsTopic"), Alarms: at("AlarmsTopic"),
	}
	for _, agent := range []string{"Inventory", "Notification", "Payment", "Shipping"} {
		want.Requests[strings.ToLower(agent)] = at("Requests" + agent + "Url")
		want.Dead["requests-"+strings.ToLower(agent)] = at("Requests" + agent + "DeadUrl")
	}
	for _, queue := range []string{"Intake", "Control", "Replies"} {
		want.Dead[strings.ToLower(queue)] = at(queue + "DeadUrl")
	}
	o, err := aws.ReadOutputs(values, "")
	require.NoError(t, err)
	require.Equal(t, want, o)
	older := golden(t)
	delete(older, "EngineSweepSeconds")
	o, err = aws.ReadOutputs(older, "")
	require.NoError(t, err)
	require.Equal(t, time.Minute, o.SweepInterval)
	two := golden(t)
	for key, value := range golden(t) {
		if rest, ok := strings.CutPrefix(key, "Engine"); ok {
			two["Other"+rest] = value
		}
	}
	two["OtherOrdersTable"] = "other"
	o, err = aws.ReadOutputs(two, "Other")
	require.NoError(t, err)
	require.Equal(t, "other", o.Orders)
	for _, c := range []struct {
		values    map[string]string
		construct string
		want      string
	}{
		{two, "", "STACK/Engine, STACK/Other"},
		{two, "Third", "no Stepkeeper \"Third\""},
		{map[string]string{"Url": "x"}, "", "no outputs of a Stepkeeper"},
		{with(t, "EngineOrdersTable", ""), "", "EngineOrdersTable"},
		{with(t, "EngineMappings", ""), "", "EngineMappings"},
		{with(t, "EnginePriorities", "intake"), "", "EngineIntakeHighUrl"},
		{with(t, "EngineVersion", "2"), "", "version \"2\""},
		{with(t, "EngineShards", "many"), "", "a number from 1"},
		{with(t, "EngineShards", "99999999999999999999"), "", "a number from 1"},
	} {
		_, err := aws.ReadOutputs(c.values, c.construct)
		require.ErrorContains(t, err, c.want)
	}
}

func with(t *testing.T, key, value string) map[string]string {
	v := golden(t)
	v[key] = value
	return v
}

// environment keeps the user's own AWS settings out of the tests.
func environment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
}

// nowhere returns a configuration that reaches no server.
func nowhere(t *testing.T) sdk.Config {
	t.Helper()
	environment(t)
	c, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: "http://127.0.0.1:1"})
	require.NoError(t, err)
	c.RetryMaxAttempts = 1
	return c
}

func TestOpen(t *testing.T) {
	environment(t)
	c := newCloud(t)
	c.outputs = golden(t)
	at := aws.Options{Endpoint: c.URL, Region: "eu-central-1"}
	_, err := aws.Open(t.Context(), "Shop", at)
	require.NoError(t, err)
	_, err = aws.Open(t.Context(), "Shop/Engine", at)
	require.NoError(t, err)
	_, err = aws.Open(t.Context(), stackARN, at)
	require.NoError(t, err)
	_, err = aws.Open(t.Context(), "Shpo", at)
	require.ErrorIs(t, err, aws.ErrNoStack)
	require.ErrorContains(t, err, "Shpo in eu-central-1")
	for code, want := range map[string]string{
		"AccessDenied": "the permission cloudformation:DescribeStacks on stack Shop is missing",
		"ExpiredToken": "log in again",
	} {
		c.failing.Store(&[2]string{"cloudformation:DescribeStacks", code})
		_, err := aws.Open(t.Context(), "Shop", at)
		require.ErrorIs(t, err, client.ErrForbidden, code)
		require.ErrorContains(t, err, want, code)
	}
	_, err = aws.Open(t.Context(), "Shop", aws.Options{Region: "eu-central-1"})
	require.ErrorIs(t, err, client.ErrForbidden)
	require.ErrorContains(t, err, "no AWS credentials")
	_, err = aws.Open(t.Context(), "Shop", aws.Options{})
	require.ErrorIs(t, err, client.ErrInvalid)
	require.ErrorContains(t, err, "region")
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err = aws.Open(ctx, "Shop", aws.Options{Endpoint: "http://127.0.0.1:1"})
	if !errors.Is(err,
		client.ErrConnection) {
		require.ErrorIs(t, err, context.DeadlineExceeded)
	}
}

// Credentials can end while a client is used, as after some hours of single sign-on. The call was not sent, no repetition
// helps, and a person has to log in. If only the connection to the service that renews them broke, a repetition helps.
func TestCredentialsThatEnd(t *testing.T) {
	outputs, err := aws.ReadOutputs(golden(t), "")
	require.NoError(t, err)
	c := nowhere(t)
	for ended, want := range map[error]error{
		errors.New("the SSO session has expired"):                client.ErrForbidden,
		error(&net.OpError{Op: "dial", Err: errors.New("down")}): client.ErrConnection,
	} {
		c.Credentials = sdk.CredentialsProviderFunc(func(context.Context) (sdk.Credentials, error) {
			return sdk.Credentials{}, ended
		})
		_, err := aws.OpenWith(t.Context(), c, "Shop")
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, ended.Error())
		once := aws.Connect(c, outputs, client.WithRetry(1, time.Second))
		_, err = once.Get(t.Context(), "o")
		require.ErrorIs(t, err, want)
		require.ErrorContains(t, err, ended.Error())
		_, err = once.Submit(t.Context(), order("o", "order", ""))
		require.ErrorIs(t, err, want)
	}
}

// A reply that does not come from AWS, but from a proxy or a starting emulator, is only a temporary fault
// too.
func TestAnswersThatAreNotOfAWS(t *testing.T) {
	environment(t)
	c := newCloud(t)
	c.outputs = golden(t)
	for body, want := range map[string]error{
		"<html>bad gateway</html>": client.ErrConnection,
		"{}":                       client.ErrUnavailable,
	} {
		c.dynamo = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadGateway)
			_, _ = io.WriteString(w, body)
		})
		s, err := aws.Open(t.Context(), "Shop", aws.Options{Endpoint: c.URL},
			client.WithRetry(1, time.Second))
		require.NoError(t, err)
		require.ErrorIs(t, second(s.Get(t.Context(), "o")), want, body)
	}
}

// Throttling and failures of AWS are temporary: the call is repeated until it succeeds.
func TestThrottlesAreRetried(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		environment(t)
		w := stacktest.New(t, stacktest.Memory())
		for _, code := range []string{"ProvisionedThroughputExceededException", "InternalServerError"} {
			throttled := &stumbling{Tasks: w.Store, code: code}
			throttled.left.Store(2)
			w.Parts.Tasks = throttled
			c := w.Client(client.WithRetry(5, 20*time.Second))
			submit(t, c, order("o", "order", ""))
			x, err := c.Wait(t.Context(), "o")
			require.NoError(t, err, code)
			require.Equal(t, core.Processed, x.State, code)
			require.LessOrEqual(t, throttled.left.Load(), int32(0), code)
			throttled.left.Store(100)
			once := w.Client(client.WithRetry(1, time.Second))
			want := client.ErrUnavailable
			if strings.HasPrefix(code, "Provisioned") {
				want = client.ErrBusy
			}
			require.ErrorIs(t, second(once.Get(t.Context(), "o")), want, code)
		}
	})
}

// stumbling lets some loads fail in the way of the store on DynamoDB.
type stumbling struct {
	aws.Tasks
	code string
	left atomic.Int32
}

type apiError struct{ code string }

func (e apiError) Error() string                 { return e.code }
func (e apiError) ErrorCode() string             { return e.code }
func (e apiError) ErrorMessage() string          { return "too much" }
func (e apiError) ErrorFault() smithy.ErrorFault { return smithy.FaultServer }

func (s *stumbling) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	if s.left.Add(-1) >= 0 {
		return make([]*port.Record, len(ids)),
			slices.Repeat([]error{fmt.Errorf("load: %w: %w", port.ErrUnavailable, apiError{s.code})},
				len(ids))
	}
	return s.Tasks.Load(ctx, ids)
}
