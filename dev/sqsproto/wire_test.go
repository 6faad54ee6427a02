package sqsproto_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// TestErrorsOnTheWire: what SDKs read of an error, byte for byte where it matters.
func TestErrorsOnTheWire(t *testing.T) {
	r := newRig(t)
	const json10 = "application/x-amz-json-1.0"
	type answer struct {
		name, target, contentType, body string
		status                          int
		typ, query                      string
	}
	cases := []answer{
		{"unknown queue", "AmazonSQS.SendMessage", json10, `{"QueueUrl":"http://x/000000000000/none","MessageBody":"x"}`,
			400, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue;Sender"},
		{"no queue", "AmazonSQS.ReceiveMessage", json10, `{}`, 400, "com.amazonaws.sqs#MissingParameter", "MissingParameter;Sender"},
		{"no JSON", "AmazonSQS.SendMessage", json10, `{"QueueUrl":`, 400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
		{"wrong type", "AmazonSQS.SendMessage", json10, `{"QueueUrl":7}`, 400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
		{"nested deep", "AmazonSQS.SendMessage", json10, strings.Repeat(`[`, 10_001), 400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
		{"one level too deep", "AmazonSQS.SendMessage", json10, `{"QueueUrl":"http://x/000000000000/replies","MessageBody":"x","Later":` + strings.Repeat(`[`, 64) + strings.Repeat(`]`, 64) + `}`,
			400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
		{"unknown operation", "AmazonSQS.CreateQueue", json10, `{}`, 400, "com.amazonaws.sqs#UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation;Sender"},
		{"other service", "DynamoDB_20120810.PutItem", json10, `{}`, 400, "com.amazonaws.sqs#UnsupportedOperation", "AWS.SimpleQueueService.UnsupportedOperation;Sender"},
		{"query protocol", "AmazonSQS.SendMessage", "application/x-www-form-urlencoded", `Action=SendMessage`, 400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
		{"too large", "AmazonSQS.SendMessage", json10, strings.Repeat(" ", 3<<20), 413, "com.amazonaws.sqs#BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong;Sender"},
	}
	const elsewhere = `{"QueueUrl":"http://x/000000000000/none","QueueName":"none","MessageBody":"x","ReceiptHandle":"r","VisibilityTimeout":1,"Entries":[{"Id":"a","MessageBody":"x","ReceiptHandle":"r","VisibilityTimeout":1}]}`
	for _, operation := range []string{"GetQueueUrl", "GetQueueAttributes", "SendMessage", "SendMessageBatch", "ReceiveMessage", "DeleteMessage", "DeleteMessageBatch", "ChangeMessageVisibility", "ChangeMessageVisibilityBatch"} {
		target := "AmazonSQS." + operation
		cases = append(cases,
			answer{"torn " + operation, target, json10, `{"Queue`, 400, "com.amazonaws.sqs#InvalidParameterValue", "InvalidParameterValue;Sender"},
			answer{"empty " + operation, target, json10, `{}`, 400, "com.amazonaws.sqs#MissingParameter", "MissingParameter;Sender"},
			answer{operation + " of no queue", target, json10, elsewhere, 400, "com.amazonaws.sqs#QueueDoesNotExist", "AWS.SimpleQueueService.NonExistentQueue;Sender"})
	}
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			req, _ := http.NewRequest("POST", r.url, strings.NewReader(tt.body))
			req.Header.Set("X-Amz-Target", tt.target)
			req.Header.Set("Content-Type", tt.contentType)
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			var e struct {
				Type    string `json:"__type"`
				Message string `json:"message"`
			}
			if err := json.NewDecoder(resp.Body).Decode(&e); err != nil {
				t.Fatal(err)
			}
			if resp.StatusCode != tt.status || e.Type != tt.typ || e.Message == "" || resp.Header.Get("x-amzn-query-error") != tt.query {
				t.Errorf("%d %+v %q", resp.StatusCode, e, resp.Header.Get("x-amzn-query-error"))
			}
		})
	}
}

// A number outside of its bounds is named with them.
func TestBoundsAreTold(t *testing.T) {
	r := newRig(t)
	for n, ok := range map[int32]bool{0: false, 1: true, 1000: true, 1001: false} {
		_, err := r.sdk.ListQueues(r.ctx, &sqs.ListQueuesInput{MaxResults: aws.Int32(n)})
		want := fmt.Sprintf("Value %d for parameter MaxResults is invalid. Reason: Must be >= 1 and <= 1000", n)
		if ok != (err == nil) || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d: %v", n, err)
		}
	}
}

// TestSDKSeesAWrongChecksum: the checks of the SDK are on, so the other tests say something of our
// checksums.
func TestSDKSeesAWrongChecksum(t *testing.T) {
	r := newRig(t)
	r.send("replies", "the true text")
	target, _ := url.Parse(r.url)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ModifyResponse = func(resp *http.Response) error {
		b, err := io.ReadAll(resp.Body)
		b = bytes.ReplaceAll(b, []byte("true"), []byte("fals"))
		resp.Body = io.NopCloser(bytes.NewReader(b))
		return err
	}
	liar := httptest.NewServer(proxy)
	defer liar.Close()
	_, err := r.sdk.ReceiveMessage(r.ctx, &sqs.ReceiveMessageInput{QueueUrl: aws.String(r.url + "/000000000000/replies")},
		func(o *sqs.Options) { o.BaseEndpoint = &liar.URL })
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Errorf("the SDK took a wrong body: %v", err)
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
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var out struct {
		Messages []struct{ Attributes map[string]string }
	}
	if err := json.NewDecoder(resp.Body).Decode(&out); err != nil {
		t.Fatal(err)
	}
	if len(out.Messages) != 1 || len(out.Messages[0].Attributes) != 1 || out.Messages[0].Attributes["SentTimestamp"] == "" {
		t.Errorf("%+v", out)
	}
}
