package main_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
)

const plain = "workflow: plain\nsteps:\n  pay: {agent: payment, operation: charge, timeout: 1s, " +
	"onFailure: undo, undo: refund, grade: fenced}\n"

// The process of a version that returns every message ends each invocation without an error, as Lambda sees
// it, and writes the metric of the alarm that stops a deployment. A version that works writes none.
func TestAVersionThatReturnsEveryMessage(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIPPED: -short; it builds the function")
	}
	binary := filepath.Join(t.TempDir(), "bootstrap")
	out, err := exec.Command("go", "build", "-tags", "lambda.norpc", "-o", binary, ".").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, broken := range []bool{true, false} {
		s := cloudtest.Kept(t, plain)
		if broken { // such as by a setting or a right that this version lacks
			s.Fail("dynamodb:PutItem")
		}
		f := awsstub.Start(t, binary, s.Variables(s.Settings))
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
