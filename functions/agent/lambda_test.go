package agent_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// example builds examples/agent-go with the tag of Lambda, once, for this machine.
var example = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "stepkeeper-agent-")
	if err != nil {
		return "", err
	}
	out := filepath.Join(dir, "bootstrap")
	build := exec.Command("go", "build", "-ldflags=-s -w", "-tags", "lambda.norpc", "-o", out, "../../examples/agent-go")
	if text, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w\n%s", err, text)
	}
	return out, nil
})

func TestMain(m *testing.M) {
	code := m.Run()
	if built {
		if program, err := example(); err == nil {
			_ = os.RemoveAll(filepath.Dir(program))
		}
	}
	os.Exit(code)
}

// built says that example was asked for.
var built bool

func exampleAgent(t *testing.T) string {
	t.Helper()
	built = true
	program, err := example()
	require.NoError(t, err)
	return program
}

// coats is the example on Lambda, as a deployment sets it up, with a ledger that outlives it.
func coats(t *testing.T, aws *awsstub.Stub) *awsstub.Function {
	t.Helper()
	return awsstub.Start(t, exampleAgent(t), aws.Variables(map[string]string{
		deployment.VarAgent: "coats", deployment.VarQueues: aws.Queues("requests-coats", "replies",
			"quarantine"), deployment.VarLedger: "ledger",
	}))
}

func batch(records ...events.SQSMessage) events.SQSEvent { return events.SQSEvent{Records: records} }

// hang is a request to hang a coat.
func hang(t *testing.T, order string, change func(*core.SendRequest)) events.SQSMessage {
	t.Helper()
	stopBy := core.TimeOf(time.Now().Add(5 * time.Minute))
	r := core.SendRequest{
		Agent: "coats", OrderID: order, Step: "hang", Attempt: 1, Operation: core.Do,
		Name: "hang", Grade: core.Idempotent,
		Key: order + "/0/hang", Timeout: 10 * core.Second, StopBy: stopBy, CompleteBy: stopBy,
		Input: json.RawMessage(`{"coat":"red"}`),
	}
	if change != nil {
		change(&r)
	}
	body, err := json.Marshal(message.Request{Schema: message.Schema, SendRequest: r})
	require.NoError(t, err)
	return events.SQSMessage{
		MessageId: order, ReceiptHandle: order, Body: string(body),
		EventSourceARN: "arn:aws:sqs:eu-central-1:1:requests-coats",
	}
}

// said are the replies that came, in short.
func said(t *testing.T, aws *awsstub.Stub) string {
	t.Helper()
	var all []string
	for _, body := range aws.Sent("replies") {
		var r message.Reply
		require.NoError(t, json.Unmarshal([]byte(body), &r))
		all = append(all, strings.TrimSpace(fmt.Sprintf("%s/%d %s %s", r.OrderID, r.Attempt, r.Outcome,
			r.Output)))
	}
	slices.Sort(all)
	return strings.Join(all, ", ")
}

func plain(attempt int) func(*core.SendRequest) {
	return func(r *core.SendRequest) {
		r.Grade = core.Plain
		r.Attempt = attempt
	}
}

// The program that runs beside `dev` runs on Lambda unchanged.
func TestExampleOnLambda(t *testing.T) {
	aws := awsstub.New(t)
	aws.Keep("ledger", "Key")
	f := coats(t, aws)
	check := func(again []string, want string) {
		t.Helper()
		require.Empty(t, again)
		require.Equal(t, want, said(t, aws))
	}
	check(f.Invoke(batch(hang(t, "a", nil))), `a/1 done {"ticket":1}`)
	// A plain service: the ledger answers the second attempt, also of another process (P31).
	check(f.Invoke(batch(hang(t, "p", plain(1)))), `p/1 done {"ticket":2}`)
	f.Kill()
	f = coats(t, aws)
	check(f.Invoke(batch(hang(t, "p", plain(2)))), `p/2 done {"ticket":2}`)
}

// A function without its settings says in one error all that is missing, and ends.
func TestExampleWithoutSettings(t *testing.T) {
	f := awsstub.Start(t, exampleAgent(t), map[string]string{deployment.VarAgent: "cloaks"})
	require.Equal(t, 1, f.Ends())
	for _, want := range []string{
		deployment.VarQueues, "AWS_REGION", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", `deployed as agent \"cloaks\"`,
	} {
		require.Contains(t, f.Output(), want)
	}
}

// A program that was built for Lambda says so where it is started elsewhere.
func TestExampleElsewhere(t *testing.T) {
	run := exec.Command(exampleAgent(t))
	run.Env = []string{}
	out, err := run.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "lambda.norpc")
}
