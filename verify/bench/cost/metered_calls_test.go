package cost_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dynamotypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
)

// service answers each call by the name of its operation, and remembers the requests.
func service(t *testing.T, answers map[string]string) (aws.Config, *Meter, *[]string) {
	t.Helper()
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if strings.Contains(answers[operation], "__type") {
			w.WriteHeader(http.StatusBadRequest)
		}
		_, _ = io.WriteString(w, answers[operation])
	}))
	t.Cleanup(srv.Close)
	c, err := awsclient.Load(context.Background(), awsclient.Options{Endpoint: srv.URL, MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	m := &Meter{}
	m.Into(&c)
	return c, m, &asked
}

func TestDynamoDB(t *testing.T) {
	consumed := func(table, index float64) string {
		return fmt.Sprintf(`{"TableName":"Orders","CapacityUnits":%v,"Table":{"CapacityUnits":%v},"GlobalSecondaryIndexes":{"complete-by":{"CapacityUnits":%v}}}`, table+index, table, index)
	}
	c, m, asked := service(t, map[string]string{
		"PutItem": `{"ConsumedCapacity":` + consumed(1, 2) + `}`,
		"GetItem": `{"ConsumedCapacity":{"TableName":"Orders","CapacityUnits":0.5,"Table":{"CapacityUnits":0.5}}}`,
		"Query":   `{"Count":0,"Items":[],"ConsumedCapacity":` + consumed(0, 0) + `}`,
	})
	client := dynamodb.NewFromConfig(c)
	key := map[string]dynamotypes.AttributeValue{"OrderID": &dynamotypes.AttributeValueMemberS{Value: "a"}}
	for name, call := range map[string]func() error{
		"put": func() error {
			_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("Orders"),
				Item: key})
			return err
		},
		"get": func() error {
			_, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String("Orders"),
				Key: key})
			return err
		},
		"query": func() error {
			_, err := client.Query(t.Context(), &dynamodb.QueryInput{TableName: aws.String("Orders")})
			return err
		},
	} {
		if err := call(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	for _, body := range *asked {
		if !strings.Contains(body, `"ReturnConsumedCapacity":"INDEXES"`) {
			t.Errorf("DynamoDB was not asked for what it consumed: %s", body)
		}
	}
	want := []Line{
		{Key: Key{Service: "dynamodb", Operation: "GetItem", Resource: "Orders"},
			Count: Count{Calls: 1, Reads: 0.5}},
		{Key: Key{Service: "dynamodb", Operation: "PutItem", Resource: "Orders"},
			Count: Count{Calls: 1, Writes: 1, IndexWrites: 2}},
		{Key: Key{Service: "dynamodb", Operation: "Query", Resource: "Orders"},
			Count: Count{Calls: 1, IndexReads: 0.5}},
	}
	if got := m.Lines(); !slices.Equal(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
	m.Reset()
	if len(m.Lines()) != 0 {
		t.Error("a reset leaves lines")
	}
}

// A refused condition costs a write, of which DynamoDB says nothing.
func TestARefusedWriteCounts(t *testing.T) {
	c, m, _ := service(t,
		map[string]string{
			"PutItem": `{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no"}`})
	if _, err := dynamodb.NewFromConfig(c).PutItem(t.Context(),
		&dynamodb.PutItemInput{TableName: aws.String("Orders"),
			Item: map[string]dynamotypes.AttributeValue{
				"OrderID": &dynamotypes.AttributeValueMemberS{Value: "a"}}}); err == nil {
		t.Fatal("the condition held")
	}
	if lines := m.Lines(); len(lines) != 1 || lines[0].Writes != 1 ||
		lines[0].Operation != "PutItem (refused)" {
		t.Errorf("%+v", lines)
	}
}

// SQS bills started 64 KiB of a request, not messages.
func TestSQS(t *testing.T) {
	c, m, _ := service(t, map[string]string{
		"SendMessageBatch":   `{"Successful":[],"Failed":[]}`,
		"DeleteMessageBatch": `{"Successful":[],"Failed":[]}`,
		"ReceiveMessage":     `{"Messages":[]}`,
	})
	client := sqs.NewFromConfig(c)
	url := aws.String("http://127.0.0.1/000000000000/replies")
	for _, size := range []int{1, 6 << 10, 7 << 10} {
		var entries []sqstypes.SendMessageBatchRequestEntry
		for i := range 10 {
			entries = append(entries, sqstypes.SendMessageBatchRequestEntry{Id: aws.String(fmt.Sprint(i)),
				MessageBody: aws.String(strings.Repeat("x", size))})
		}
		if _, err := client.SendMessageBatch(t.Context(),
			&sqs.SendMessageBatchInput{QueueUrl: url, Entries: entries}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := client.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: url}); err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, l := range m.Lines() {
		got[l.Operation+" "+l.Resource] = l.Requests
	}
	if got["SendMessageBatch replies"] != 1+1+2 || got["ReceiveMessage replies"] != 1 {
		t.Errorf("%v", got)
	}
}
