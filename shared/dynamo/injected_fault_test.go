package dynamo_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

// What a fault does to one call, tried once: how often it arrives, and whether it succeeds.
func TestFaults(t *testing.T) {
	var arrived atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || len(body) < 20 {
			t.Errorf("the body arrives as %q, %v", body, err)
		}
		arrived.Add(1)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w, `{"QueueUrl":"http://127.0.0.1/q"}`)
	}))
	defer srv.Close()
	c, err := awsclient.Load(context.Background(), awsclient.Options{Endpoint: srv.URL, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	plan := &faultPlan{}
	plan.into(&c)
	client := sqs.NewFromConfig(c)
	for _, tt := range []struct {
		fault   fault
		arrives int32
		good    bool
	}{
		{faultNone, 1, true},
		{faultLostAnswer, 1, false},
		{faultUnsent, 0, false},
		{faultThrottled, 0, false},
		{faultTwice, 2, true},
		{faultNone, 1, true},
	} {
		arrived.Store(0)
		plan.next("GetQueueUrl", tt.fault)
		_, err := client.GetQueueUrl(t.Context(),
			&sqs.GetQueueUrlInput{QueueName: aws.String("a-queue-of-this-name")})
		if (err == nil) != tt.good || arrived.Load() != tt.arrives {
			t.Errorf("%s: it arrives %d times, error %v", tt.fault, arrived.Load(), err)
		}
		if plan.hits(tt.fault) == 0 {
			t.Errorf("%s was not met", tt.fault)
		}
	}
}
