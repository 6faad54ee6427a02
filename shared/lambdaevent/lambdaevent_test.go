package lambdaevent_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
)

func TestDeliveriesAndResponse(t *testing.T) {
	var e events.SQSEvent
	err := json.Unmarshal([]byte(`{"Records":[
		{"messageId":"m1","receiptHandle":"r1","body":"{}","attributes":{"ApproximateReceiveCount":"3","SentTimestamp":"1795262400000"}},
		{"messageId":"m2","receiptHandle":"r2","body":"x","attributes":{}}]}`), &e)
	if err != nil {
		t.Fatal(err)
	}
	ds := lambdaevent.Deliveries(e)
	if len(ds) != 2 || ds[0].ID != "m1" || ds[0].Receipt != "r1" || string(ds[0].Body) != "{}" || ds[0].Received != 3 ||
		!ds[0].SentAt.Equal(time.UnixMilli(1795262400000)) || ds[1].Received != 1 || !ds[1].SentAt.IsZero() {
		t.Errorf("%+v", ds)
	}
	for want, again := range map[string]int{`{"batchItemFailures":[]}`: 2, `{"batchItemFailures":[{"itemIdentifier":"m2"}]}`: 1} {
		if got, err := json.Marshal(lambdaevent.Response(ds[again:])); err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
}
