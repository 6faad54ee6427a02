package main_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

const plain = "workflow: plain\nsteps:\n  pay: {agent: payment, operation: charge, timeout: 1s, " +
	"onFailure: undo, undo: refund, grade: fenced}\n"

// program builds the Scheduler for this machine, and the folder that Lambda would give it.
func program(t *testing.T) (binary, root string) {
	t.Helper()
	if testing.Short() {
		t.Skip("SKIPPED: -short; it builds the function")
	}
	root = t.TempDir()
	binary = filepath.Join(root, "bootstrap")
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	file := filepath.Join(root, "plain.yaml")
	require.NoError(t, os.WriteFile(file, []byte(plain), 0o600))
	d, problems := source.LoadFile(file, source.Options{})
	require.NoError(t, problems.Err())
	data, err := workflow.Encode(d)
	require.NoError(t, err)
	require.NoError(t, os.Mkdir(filepath.Join(root, deployment.WorkflowsFolder), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(root, deployment.WorkflowsFolder, "plain.json"), data, 0o600))
	return binary, root
}

// The process of a version that returns every message ends each invocation without an error, as Lambda sees
// it, and writes the metric of the alarm that stops a deployment. A version that works writes none.
func TestAVersionThatReturnsEveryMessage(t *testing.T) {
	binary, root := program(t)
	for _, broken := range []bool{true, false} {
		s := awsstub.New(t)
		s.Keep("orders", "OrderID")
		s.Keep("definitions", "Hash")
		if broken { // such as by a setting or a right that this version lacks
			s.Fail("DynamoDB_20120810.PutItem")
		}
		f := awsstub.Start(t, binary, s.Variables(map[string]string{
			"LAMBDA_TASK_ROOT": root, deployment.VarOrders: "orders", deployment.VarStack: "Shop/Engine",
			deployment.VarDefinitions: "definitions", deployment.VarShards: "1",
			deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts",
			deployment.VarQueues: s.Queues("intake", "replies", "control", "quarantine", "requests-payment"),
		}))
		var event events.SQSEvent
		for i := range 3 {
			event.Records = append(event.Records, events.SQSMessage{
				MessageId:     fmt.Sprint("m", i),
				ReceiptHandle: fmt.Sprint("r", i), EventSourceARN: "arn:aws:sqs:eu-central-1:1:intake",
				Body: fmt.Sprintf(`{"schema":1,"orderId":"o-%d","workflow":"plain","order":{}}`, i),
			})
		}
		again := f.Invoke(event)
		var metric map[string]any
		f.Kill() // whatever was written before the response is in the output then
		for line := range strings.Lines(f.Output()) {
			if strings.Contains(line, `"_aws"`) {
				require.NoError(t, json.Unmarshal([]byte(line), &metric))
			}
		}
		if !broken {
			require.Empty(t, again)
			require.Nil(t, metric)
			continue
		}
		require.Equal(t, []string{"m0", "m1", "m2"}, again)
		require.Equal(t, []any{3.0, "scheduler", "Shop/Engine"},
			[]any{metric["Returned"], metric["Function"], metric["Deployment"]})
	}
}
