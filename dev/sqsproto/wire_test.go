package sqsproto_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"
)

func init() { golden.NormalizeCRLFToLF = false } // answers are compared byte for byte

var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// TestErrorsOnTheWire: what SDKs read of an error, byte for byte as it was.
func TestErrorsOnTheWire(t *testing.T) {
	r := newRig(t)
	const json10 = "application/x-amz-json-1.0"
	type request struct{ name, target, contentType, body string }
	const replies, intake = `{"QueueUrl":"http://x/000000000000/replies",`,
		`{"QueueUrl":"http://x/000000000000/intake",`
	cases := []request{
		{
			"unknown queue", "AmazonSQS.SendMessage", json10,
			`{"QueueUrl":"http://x/000000000000/none","MessageBody":"x"}`,
		},
		{"no queue", "AmazonSQS.ReceiveMessage", json10, `{}`},
		{"no JSON", "AmazonSQS.SendMessage", json10, `{"QueueUrl":`},
		{"wrong type", "AmazonSQS.SendMessage", json10, `{"QueueUrl":7}`},
		{"no object", "AmazonSQS.SendMessage", json10, `[]`},
		{"wrong type in an entry", "AmazonSQS.SendMessage", json10, replies + `"MessageBody":{}}`},
		{"a number beyond doubles", "AmazonSQS.ReceiveMessage", json10, replies + `"WaitTimeSeconds":1e400}`},
		{"a text for a number", "AmazonSQS.ReceiveMessage", json10, replies + `"WaitTimeSeconds":"1"}`},
		{"nested deep", "AmazonSQS.SendMessage", json10, strings.Repeat(`[`, 10_001)},
		{"one level too deep", "AmazonSQS.SendMessage", json10, replies + `"MessageBody":"x","Later":` +
			strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `}`},
		{"unknown operation", "AmazonSQS.CreateQueue", json10, `{}`},
		{"other service", "DynamoDB_20120810.PutItem", json10, `{}`},
		{
			"query protocol", "AmazonSQS.SendMessage", "application/x-www-form-urlencoded",
			`Action=SendMessage`,
		},
		{"too large", "AmazonSQS.SendMessage", json10, strings.Repeat(" ", 8<<20)},
		{"escaped", "AmazonSQS.SendMessage", json10, replies + `"MessageBody":"` + strings.Repeat(`\u00e9`, 512<<10) + `"}`},
		{"polled for too long", "AmazonSQS.ReceiveMessage", json10, replies + `"WaitTimeSeconds":21}`},
		{"a sink polled for too long", "AmazonSQS.ReceiveMessage", json10, intake + `"WaitTimeSeconds":21}`},
		{"too many at once", "AmazonSQS.ReceiveMessage", json10, replies + `"MaxNumberOfMessages":11}`},
		{
			"delayed for too long", "AmazonSQS.SendMessage", json10,
			replies + `"MessageBody":"x","DelaySeconds":901}`,
		},
		{
			"delayed at a sink", "AmazonSQS.SendMessage", json10,
			intake + `"MessageBody":"x","DelaySeconds":1}`,
		},
		{
			"hidden for too long", "AmazonSQS.ChangeMessageVisibility", json10,
			replies + `"ReceiptHandle":"r","VisibilityTimeout":43201}`,
		},
		{"too long", "AmazonSQS.SendMessage", json10, replies + `"MessageBody":"` + strings.Repeat("x", 1<<20+1) + `"}`},
		{"an unknown system attribute", "AmazonSQS.SendMessage", json10, replies +
			`"MessageBody":"x","MessageSystemAttributes":{"Other":{"DataType":"String","StringValue":"v"}}}`},
		{"a trace header without a value", "AmazonSQS.SendMessage", json10, replies +
			`"MessageBody":"x","MessageSystemAttributes":{"AWSTraceHeader":{"DataType":"String"}}}`},
		{"hidden for no time", "AmazonSQS.ChangeMessageVisibility", json10, replies + `"ReceiptHandle":"r"}`},
		{"another's receipt", "AmazonSQS.DeleteMessage", json10, replies + `"ReceiptHandle":"r"}`},
	}
	for _, n := range []int{10, 11} { // a message may have 10
		attributes := map[string]map[string]string{}
		for i := range n {
			attributes[fmt.Sprint("a", i)] = map[string]string{"DataType": "String", "StringValue": "v"}
		}
		text, _ := json.Marshal(attributes)
		cases = append(cases, request{
			fmt.Sprintf("%d attributes", n), "AmazonSQS.SendMessage", json10,
			replies + `"MessageBody":"x","MessageAttributes":` + string(text) + `}`,
		})
	}
	long := strings.Repeat("n", 256)
	for name, attribute := range map[string]string{
		"a.b-C_9": `"String","StringValue":"v"`, long: `"Number.int","StringValue":"7"`,
		long + "n": `"String","StringValue":"v"`, "": `"String","StringValue":"v"`,
		".a": `"String","StringValue":"v"`, "a.": `"String","StringValue":"v"`,
		"a..b": `"String","StringValue":"v"`, "a b": `"String","StringValue":"v"`,
		"a~":    `"String","StringValue":"v"`,
		"AWS.a": `"String","StringValue":"v"`, "amazon.a": `"String","StringValue":"v"`,
		"awsome": `"String." , "StringValue":"v"`,
		"empty":  `"String","StringValue":""`, "none": `"Number"`, "bytes": `"Binary","BinaryValue":"AA=="`,
		"no-bytes": `"Binary"`, "strange": `"Text","StringValue":"v"`,
		"long-type": `"String.` + long + `","StringValue":"v"`, "control": `"String","StringValue":"\u0001"`,
		"binary-text": `"Binary","StringValue":"v"`,
	} {
		cases = append(cases, request{
			fmt.Sprintf("attribute %.9s %d", name, len(name)),
			"AmazonSQS.SendMessage", json10, replies +
				fmt.Sprintf(`"MessageBody":"x","MessageAttributes":{%q:{"DataType":%s}}}`, name, attribute),
		})
	}
	// XML 1.0
	for _, text := range []string{
		`\u0008`, `\t`, `\n`, `\u000b`, `\r`, `\u001f`, ` `, `\ud7ff`, `\ue000`,
		`\ufffd`, `\ufffe`, `\ud800\udc00`, `\udbff\udfff`,
	} {
		cases = append(cases, request{
			"character " + text, "AmazonSQS.SendMessage", json10,
			replies + `"MessageBody":"` + text + `"}`,
		})
	}
	const elsewhere = `{"QueueUrl":"http://x/000000000000/none","QueueName":"none","MessageBody":"x","ReceiptHandle":"r","VisibilityTimeout":1,"Entries":[{"Id":"a","MessageBody":"x","ReceiptHandle":"r","VisibilityTimeout":1}]}`
	for _, operation := range []string{
		"GetQueueUrl", "GetQueueAttributes", "SendMessage", "SendMessageBatch",
		"ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility",
		"ChangeMessageVisibilityBatch",
	} {
		target := "AmazonSQS." + operation
		cases = append(cases, request{"torn " + operation, target, json10, `{"Queue`},
			request{"empty " + operation, target, json10, `{}`},
			request{operation + " of no queue", target, json10, elsewhere})
		if !strings.HasSuffix(operation, "Batch") {
			continue
		}
		for entries, name := range map[string]string{
			``: "no", `{"Id":"a"},{"Id":"a"}`: "a repeated", `{"Id":"a b"}`: "a misnamed",
			`{"Id":"a","ReceiptHandle":"r","VisibilityTimeout":43201}`: "a poor",
			strings.Repeat(`{"Id":"a"},`, 10) + `{}`:                   "eleven",
		} {
			cases = append(cases, request{
				operation + " of " + name + " entry", target, json10,
				replies + `"Entries":[` + entries + `]}`,
			})
		}
	}
	var reported []string
	for _, c := range cases {
		req, _ := http.NewRequest("POST", r.url, strings.NewReader(c.body))
		req.Header.Set("X-Amz-Target", c.target)
		req.Header.Set("Content-Type", c.contentType)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, errors.Join(err, resp.Body.Close()))
		require.Equal(t, json10, resp.Header.Get("Content-Type"), c.name)
		reported = append(reported, fmt.Sprintf("%s: %d %s\n%s\n", c.name, resp.StatusCode,
			resp.Header.Get("x-amzn-query-error"), random.ReplaceAll(body, []byte("…"))))
	}
	slices.Sort(reported)
	golden.Assert(t, strings.Join(reported, ""), "errors.txt")
}

// A number outside of its bounds is named with them.
func TestBoundsAreReported(t *testing.T) {
	r := newRig(t)
	for n, ok := range map[int32]bool{0: false, 1: true, 1000: true, 1001: false} {
		_, err := r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(n)})
		want := fmt.Sprintf("Value %d for parameter MaxResults is invalid. Reason: Must be >= 1 and <= 1000",
			n)
		if ok != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestAttributeNamesOfOlderSDKs: they ask for system attributes by the field's former name.
func TestAttributeNamesOfOlderSDKs(t *testing.T) {
	r := newRig(t)
	r.send("replies", "x")
	req, _ := http.NewRequest("POST", r.url, strings.NewReader(
		`{"QueueUrl":"http://h/000000000000/replies","AttributeNames":["SentTimestamp"],"FieldOfTheFuture":1}`))
	req.Header.Set("X-Amz-Target", "AmazonSQS.ReceiveMessage")
	req.Header.Set("Content-Type", "application/x-amz-json-1.0")
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	var out struct {
		Messages []struct{ Attributes map[string]string }
	}
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&out))
	require.Len(t, out.Messages, 1)
	require.Len(t, out.Messages[0].Attributes, 1)
	require.NotEmpty(t, out.Messages[0].Attributes["SentTimestamp"])
}
