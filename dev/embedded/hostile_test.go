package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// branching waits for an event whose schema branches twice at each level of the value.
const branching = `workflow: pair
grace: 1s
tellAfter: 1s
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  paid:
    event:
      name: paid
      timeout: 1h
      onTimeout: undo
      schema:
        $defs:
          n:
            anyOf:
              - {properties: {a: {$ref: "#/$defs/n"}}, required: [z]}
              - {properties: {a: {$ref: "#/$defs/n"}}, required: [y]}
        properties: {tree: {$ref: "#/$defs/n"}, n: {minimum: 1, multipleOf: 0.1}, list: {items: {minimum: 1}}}
  first: {agent: shop, operation: first, after: [paid], input: {n: "${ order.n }"}, timeout: 60s, onFailure: undo, undo: unfirst, grade: fenced}
  second: {agent: bank, operation: second, after: [first], timeout: 60s, onFailure: undo, undo: unsecond, grade: fenced}
`

// hostileNumbers cost far more than their bytes wherever they are computed with.
func hostileNumbers() map[string]string {
	return map[string]string{
		"long":          strings.Repeat("7", 40_000),
		"huge exponent": "1e9999999",
		"tiny exponent": "-1.5E-1000",
		"many":          "[" + strings.Repeat("1e999999,", 800) + "1]",
	}
}

// Numbers without bounds are refused at each entrance, and the process goes on with other orders.
func TestNumbersWithoutBoundsAreRefusedAtEachEntrance(t *testing.T) {
	for name, number := range hostileNumbers() {
		t.Run(name, func(t *testing.T) { everyEntrance(t, number) })
	}
}

const outOfBounds = "number is out of bounds"

func everyEntrance(t *testing.T, number string) {
	w := newFixture(t, "60s")
	w.write(branching)
	w.options.Operations = map[string]worker.Operations{
		"shop": {worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
			if c.OrderID == "output" && c.Operation == core.Do {
				return json.RawMessage(`{"n":` + number + `}`), nil
			}
			return nil, nil
		}}},
	}
	bank := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintf(w, `{"n":%s}`, number)
	}))
	defer bank.Close()
	w.agents(fmt.Sprintf("bank: {url: %q}", bank.URL))
	s := w.open()
	defer closeRuntime(t, s)
	site := serveSite(t, s)

	site.refuses("/v1/orders", "",
		fmt.Sprintf(`{"schema":1,"orderId":"x","workflow":"pair","order":{"n":%s}}`, number))
	submit(t, s, "output", "")
	submit(t, s, "response", "")
	if len(number) < 8<<10 { // longer ones are too large for a command in the first place
		site.refuses("/v1/orders/output/answers", "",
			fmt.Sprintf(`{"event":"paid","value":{"n":%s}}`, number))
		site.refuses("/v1/orders/output/resubmit", "",
			fmt.Sprintf(`{"command":0,"step":"first","input":{"n":%s}}`, number))
	}
	site.refuses("/", "AmazonSQS.ReceiveMessage",
		fmt.Sprintf(`{"QueueUrl":"replies","MaxNumberOfMessages":%s}`, number))
	for queue, body := range map[string]string{
		port.Intake: fmt.Sprintf(`{"schema":1,"orderId":"x","workflow":"pair","order":{"n":%s}}`, number),
		port.Control: fmt.Sprintf(
			`{"schema":1,"kind":"answer","orderId":"output","id":"i","event":"paid","by":"ann","value":{"n":%s}}`, number),
		port.Replies: fmt.Sprintf(`{"schema":1,"task":"output","run":0,"step":"first","attempt":1,"operation":"do","outcome":"done","waited":%s}`, number),
	} {
		site.quarantines(s, queue, body)
	}

	for _, id := range []string{"output", "response"} {
		accepted(t, s, id, core.Answered{
			ID: "a", Name: "paid",
			Value: json.RawMessage(`{"list":[1,2.5,1e2],"n":2.30}`), By: "ann",
		})
		task := wait(t, s, id)
		step := map[string]string{"output": "first", "response": "second"}[id]
		e := task.Step(step).Error
		require.NotNil(t, e, id)
		require.Contains(t, e.Message, outOfBounds, id)
		require.Contains(t, e.Message, "send it as a text", id)
	}
}

// refuses sends a request that holds such a number.
func (s site) refuses(path, target, body string) {
	s.t.Helper()
	status, text := s.post(path, target, body)
	require.GreaterOrEqual(s.t, status, 400, path)
	require.Less(s.t, status, 500, path)
	require.Contains(s.t, text, outOfBounds, path)
}

func (s site) post(path, target, body string) (int, string) {
	s.t.Helper()
	if target == "" {
		return post(s.t, s.URL+path, "application/json", "", body)
	}
	return post(s.t, s.URL+path, "application/x-amz-json-1.0", target, body)
}

// quarantines sends a message over the SQS protocol that goes to quarantine because of its number.
func (s site) quarantines(runtime *embedded.Runtime, queue, body string) {
	s.t.Helper()
	status, _ := s.post("/", "AmazonSQS.SendMessage",
		fmt.Sprintf(`{"QueueUrl":%q,"MessageBody":%q}`, queue, body))
	require.Equal(s.t, http.StatusOK, status, queue)
	bad, err := runtime.Queue(port.Quarantine)
	require.NoError(s.t, err)
	got, err := bad.Receive(s.t.Context(), 1, patience, time.Minute)
	require.NoError(s.t, err, queue)
	require.Len(s.t, got, 1, queue)
	text, err := got[0].Bytes()
	m, wrong := message.Decode[message.Quarantined](text)
	require.NoError(s.t, err, queue)
	require.NoError(s.t, wrong, queue)
	require.Contains(s.t, m.Reason, outOfBounds, queue)
	require.NoError(s.t, bad.Delete(s.t.Context(), []string{got[0].Receipt})[0])
}
