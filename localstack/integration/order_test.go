package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// How long a test waits for the next sign of progress. soon needs no schedule; rescued needs the deployed
// one, whose first tick comes a minute after the deployment.
const (
	soon     = 45 * time.Second
	rescued  = 150 * time.Second
	longPoll = 30 * time.Second
	look     = 100 * time.Millisecond
)

// status is what the application gets.
type status struct {
	Kind    string `json:"status"`
	OrderID string `json:"orderId"`
	Seq     int    `json:"seq"`
	At      time.Time
	Step    string `json:"step"`
	Code    string `json:"code"`
	Message string `json:"message"`
	Steps   []struct {
		Step     string `json:"step"`
		State    string `json:"state"`
		Attempts int    `json:"attempts"`
	} `json:"steps"`
}

func (s status) attempts(step string) int {
	for _, x := range s.Steps {
		if x.Step == step {
			return x.Attempts
		}
	}
	return 0
}

// order is one submitted order.
type order struct {
	t    *testing.T
	s    *site
	id   string
	body string
}

// newOrder prepares an order of a workflow; nothing is sent.
func (s *site) newOrder(t *testing.T, workflow string) *order {
	t.Helper()
	id := fmt.Sprintf("%s-%d", strings.ReplaceAll(t.Name(), "/", "-"), time.Now().UnixNano())
	return &order{t: t, s: s, id: id, body: fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":%q,"replyTo":"shop","order":{
		"customer":{"email":"a@example.com"},"currency":"EUR","payment":{"card":"tok_1"},"shipTo":{"country":"DE"},
		"items":[{"sku":"MUG-01","quantity":2,"unitPrice":1999,"physical":true}]}}`, id, workflow)}
}

// submit sends the order to the intake queue, as any program with an AWS SDK can.
func (o *order) submit() *order {
	o.t.Helper()
	o.s.send(o.t, "Intake", o.body)
	return o
}

func (s *site) url(t *testing.T, queue string) string {
	t.Helper()
	url := s.outputs["Engine"+queue+"Url"]
	if url == "" {
		t.Fatalf("the stack has no output Engine%sUrl", queue)
	}
	return url
}

func (s *site) send(t *testing.T, queue, body string) {
	t.Helper()
	client := s.sqs
	if s.backend == ministack { // it keeps to the queues' own policies
		switch {
		case strings.HasPrefix(queue, "Requests"):
			client = s.as(t, "Scheduler")
		case queue == "Replies":
			client = s.as(t, "AgentPayment")
		}
	}
	if _, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl:    aws.String(s.url(t, queue)),
		MessageBody: &body,
	}); err != nil {
		t.Fatal(err)
	}
}

// statuses are those of this order so far, each one once.
func (o *order) statuses() []status {
	var all []status
	for _, body := range o.s.statuses.all() {
		var st status
		if err := json.Unmarshal([]byte(body), &st); err != nil || st.OrderID != o.id {
			continue
		}
		same := func(x status) bool { return x.Kind == st.Kind && x.Seq == st.Seq }
		if !slices.ContainsFunc(all, same) {
			all = append(all, st)
		}
	}
	return all
}

// notified waits for a status of the kind.
func (o *order) notified(kind string, within time.Duration) status {
	o.t.Helper()
	var found status
	o.until(within, "status "+kind, func() bool {
		for _, st := range o.statuses() {
			if st.Kind == kind {
				found = st
				return true
			}
		}
		return false
	})
	return found
}

// until waits for a condition, and says all that is known of the order where it does not come.
func (o *order) until(within time.Duration, what string, condition func() bool) {
	o.t.Helper()
	began := time.Now()
	last := ""
	for progress := began; time.Since(progress) < within && time.Since(began) < longest; time.Sleep(look) {
		if condition() {
			return
		}
		if now := o.reached(); now != last {
			progress = time.Now()
			last = now
		}
	}
	o.t.Fatalf("order %s: no %s, and nothing else, within %s\nstatuses: %+v\ncalls: %+v\nitem: %s", o.id,
		what, within, o.statuses(), o.s.remote.of(o.id, ""), o.item())
}

// longest bounds a wait, however much progress there is.
const longest = 10 * time.Minute

// reached changes with every step forward of an order: a busy machine is slow, and no fault.
func (o *order) reached() string {
	return fmt.Sprint(len(o.statuses()), len(o.s.remote.of(o.id, "")), o.item())
}

// step is what an item of Orders shows of one step.
type step struct {
	ProcessState string
	LockedBy     string
	CompleteBy   int64 // milliseconds since 1970
	FailureCount int
	Attempt      int `json:"try"`
}

// task is what an item of Orders shows, read by a plain client.
type task struct {
	OrderID      string
	ProcessState string
	LockedBy     string
	CompleteBy   int64 // milliseconds since 1970
	FailureCount int
	Version      int
	Bucket       string `json:"bucket"` // of the index; no longer "due#…" once the end was reported
	Steps        map[string]step
}

// item reads the order's item as it stands.
func (o *order) item() string {
	out, err := o.s.dynamo.GetItem(o.t.Context(), &dynamodb.GetItemInput{
		TableName: aws.String(o.s.outputs["EngineOrdersTable"]), ConsistentRead: aws.Bool(true),
		Key: map[string]types.AttributeValue{"OrderID": &types.AttributeValueMemberS{Value: o.id}},
	})
	if err != nil {
		return err.Error()
	}
	if out.Item == nil {
		return "{}"
	}
	data, err := json.Marshal(plain(&types.AttributeValueMemberM{Value: out.Item}))
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// task reads the same in a form for tests.
func (o *order) task() task {
	o.t.Helper()
	var k task
	if err := json.Unmarshal([]byte(o.item()), &k); err != nil {
		o.t.Fatalf("order %s: its item cannot be read: %v\n%s", o.id, err, o.item())
	}
	return k
}

// plain is DynamoDB's value as JSON has it.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return json.Number(v.Value)
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberB:
		return v.Value
	case *types.AttributeValueMemberM:
		m := make(map[string]any, len(v.Value))
		for name, inner := range v.Value {
			m[name] = plain(inner)
		}
		return m
	case *types.AttributeValueMemberL:
		l := make([]any, len(v.Value))
		for i, inner := range v.Value {
			l[i] = plain(inner)
		}
		return l
	}
	return nil
}

// one key for each step, whatever was repeated (P2): the services see no second order.
func (o *order) oneKeyPerStep() {
	o.t.Helper()
	keys := map[string]string{}
	for _, c := range o.s.remote.of(o.id, "") {
		if before, seen := keys[c.step]; seen && before != c.key {
			o.t.Errorf("order %s: step %s was called with the keys %s and %s", o.id, c.step, before, c.key)
		}
		keys[c.step] = c.key
	}
}
