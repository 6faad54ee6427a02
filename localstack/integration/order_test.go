package integration

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
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
	require.NotEmpty(t, url, queue)
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
	_, err := client.SendMessage(t.Context(), &sqs.SendMessageInput{
		QueueUrl:    aws.String(s.url(t, queue)),
		MessageBody: &body,
	})
	require.NoError(t, err)
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

// record reads the order's record as it stands; nil if there is none.
func (o *order) record() (*port.Record, error) {
	store := dynamo.New(o.s.dynamo, dynamo.Tables{Orders: o.s.outputs["EngineOrdersTable"]}, dynamo.Options{})
	records, errs := store.Load(o.t.Context(), []string{o.id})
	return records[0], errs[0]
}

// item shows the record for people, and is "{}" if there is none.
func (o *order) item() string {
	r, err := o.record()
	switch {
	case err != nil:
		return err.Error()
	case r == nil:
		return "{}"
	}
	return fmt.Sprintf("%s %s%s", r.Bucket, r.Document, r.Damage)
}

// task reads the same in a form for tests. An absent order, and an absent step, is empty.
func (o *order) task() *protocol.Task {
	o.t.Helper()
	r, err := o.record()
	if err == nil && r == nil {
		return &protocol.Task{}
	}
	var t *protocol.Task
	if err == nil {
		t, err = state.TaskOf(r)
	}
	require.NoError(o.t, err)
	require.Empty(o.t, t.Damaged)
	return t
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
