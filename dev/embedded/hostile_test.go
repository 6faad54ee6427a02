package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
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
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	err := os.WriteFile(w.options.Agents, fmt.Appendf(nil, "agents: {bank: {url: %q}}", bank.URL),
		0o600)
	require.NoError(t, err)
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
		v, err := s.Command(t.Context(), message.Control{
			OrderID: id,
			Event: core.Answered{
				ID: "a", Name: "paid",
				Value: json.RawMessage(`{"list":[1,2.5,1e2],"n":2.30}`), By: "ann",
			},
		})
		require.NoError(t, err)
		require.True(t, v.Accepted, "%+v %v", v, err)
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
	r, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.URL+path, strings.NewReader(body))
	require.NoError(s.t, err)
	r.Header.Set("Content-Type", "application/json")
	if target != "" {
		r.Header.Set("Content-Type", "application/x-amz-json-1.0")
		r.Header.Set("X-Amz-Target", target)
	}
	resp, err := s.Client().Do(r)
	require.NoError(s.t, err)
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(resp.Body)
	require.NoError(s.t, err)
	return resp.StatusCode, string(text)
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

// An event whose check costs 2^60 is refused after a bounded amount of work, and the step waits on for
// another one.
func TestAnEventIsCheckedWithinABudget(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(branching)
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	require.NoError(t, os.WriteFile(w.options.Agents, []byte("agents: {bank: {external: true}}"), 0o600))
	s := w.open()
	defer closeRuntime(t, s)
	submit(t, s, "one", "")
	untilStep(t, s, "one", "paid", core.Waiting)
	answer := func(id, value string) protocol.Verdict {
		v, err := s.Command(t.Context(), message.Control{
			OrderID: "one",
			Event:   core.Answered{ID: id, Name: "paid", Value: json.RawMessage(value), By: "ann"},
		})
		require.NoError(t, err)
		return v
	}
	v := answer("deep", `{"tree":`+strings.Repeat(`{"a":`, 60)+"1"+strings.Repeat("}", 61))
	require.False(t, v.Accepted, "%+v", v)
	require.Contains(t, v.Reason, "takes more than 100000 steps of work; send less")
	require.True(t, answer("flat", `{"tree":{"z":1,"a":{"y":1,"a":7}}}`).Accepted)
	untilStep(t, s, "one", "paid", core.Processed)
}
