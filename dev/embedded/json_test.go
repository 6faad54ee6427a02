package embedded_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// passing passes the order, an event's value and an output on: to a request, to a child, and back.
const passing = `workflow: pair
grace: 1s
tellAfter: 1s
output: {echo: "${ steps.first.output }", said: "${ steps.said.output.value }", all: "${ steps.all.output }"}
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  said: {event: {name: said, timeout: 1h, onTimeout: undo}}
  first: {agent: shop, operation: first, after: [said], input: {order: "${ order }", said: "${ steps.said.output.value }"}, timeout: 60s, onFailure: undo, undo: none, grade: idempotent}
  all: {each: "${ [steps.first.output, steps.said.output.value] }", after: [first], workflow: leaf, input: {item: "${ item }"}, collect: true}
`

const leaf = `workflow: leaf
output: "${ steps.only.output }"
agents:
  shop: {queueAllowance: 60s, clockSkew: 10ms}
steps:
  only: {agent: shop, operation: only, input: "${ order.item }", timeout: 60s, onFailure: undo, undo: none, grade: idempotent}
`

// text draws a text of JSON as programs write it. Many have a fault that makes programs read it differently.
func text() *rapid.Generator[string] {
	part := rapid.SampledFrom([]string{
		"a", "<td>", `\u003c`, "\u2028", "😀", `\ud83d\ude00`, "я", `\u0001`,
		"\uffff", `\ufffe`, "\x7f", `\"`, `\\`, `\ud83d`, `\ude00`, "\xff", "\xed\xa0\xbd",
	})
	return rapid.Custom(func(t *rapid.T) string {
		return `"` + strings.Join(rapid.SliceOfN(part, 0, 3).Draw(t, "parts"), "") + `"`
	})
}

// values draws values of such texts. Some hold a number without bounds, which costs far more than its bytes.
func values() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		a := text().Draw(t, "a")
		b := text().Draw(t, "b")
		c := text().Draw(t, "c")
		return rapid.SampledFrom([]string{
			a, `{` + a + `: ` + b + `}`, `{` + a + `:1,` + b + `:[` + c + `]}`,
			`{"a":{` + a + `:` + b + `,"n":1.500}}`, `{` + a + `:-1.5E-1000}`, `[1e9999999]`,
		}).Draw(t, "form")
	})
}

// doors is a deployment whose agent is the test. It sends replies as an agent outside does, as bytes.
type doors struct {
	t       *testing.T
	runtime *embedded.Runtime
	site    site
}

func (d *doors) open(w *fixture) {
	d.runtime = w.open()
	d.site = serveSite(d.t, d.runtime)
}

func (d *doors) reply(r message.Request, rest string) {
	q := queueOf(d.t, d.runtime, port.Replies)
	body := fmt.Appendf(nil, `{"schema":1,"task":%q,"run":0,"step":%q,"attempt":%d,"operation":"do",%s}`,
		r.OrderID, r.Step, r.Attempt, rest)
	require.NoError(d.t, q.Send(d.t.Context(), []port.Message{{Body: body}})[0])
}

// takes posts a value to a door. It reports whether the door took it, which it must do exactly if the value
// passes rawjson.Check. A refusal names the member.
func (d *doors) takes(path, body, value, member string) bool {
	d.t.Helper()
	status, text := d.site.post(path, "", body)
	fault := rawjson.Check([]byte(value), rawjson.MaxLevels)
	require.Equal(d.t, fault == nil, status < 300, "%q: %d %s", body, status, text)
	if fault != nil {
		require.Contains(d.t, text, member, "%q", body)
		require.Equal(d.t, 400, status, text)
	}
	return fault == nil
}

// What a door takes can be read for ever: after a restart, by a child, in a view and in a receipt. What no
// store can read is refused at the door, and ends only the call that brought it.
func TestWhatADoorTakesCanBeRead(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(passing)
	w.writeAs("leaf.yaml", leaf)
	w.outside()
	d := &doors{t: t}
	d.open(w)
	type kept struct{ order, said, output string }
	ended := map[string]kept{}
	failed := map[string]string{}
	for n := range 40 {
		id := fmt.Sprintf("o-%d", n)
		draw := func(k int) string { return values().Example(3*n + k) }
		k := kept{draw(0), draw(1), draw(2)}
		if n%2 == 0 { // so that enough orders come to their end
			k.order = `{"n":"<я😀\u003c"}`
			k.said = `"\u2028"`
		}
		if !d.takes("/v1/orders", fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"pair","order":%s}`, id,
			k.order), k.order, "order") {
			continue
		}
		if !d.takes("/v1/orders/"+id+"/answers", fmt.Sprintf(`{"event":"said","by":"Änne","value":%s}`, k.said),
			k.said, "value") {
			continue
		}
		r := d.requestOf("shop")
		d.reply(r, `"outcome":"done","output":`+k.output)
		if fault := rawjson.Check([]byte(k.output), rawjson.MaxLevels); fault != nil {
			task := wait(t, d.runtime, id)
			require.Equal(t, core.CodeOutput, task.Step("first").Error.Code)
			require.Contains(t, task.Step("first").Error.Message, "cannot be kept: output")
			require.Equal(t, core.Compensated, task.ProcessState)
			failed[id] = k.output
			continue
		}
		for range 2 { // the children echo
			child := d.requestOf("shop")
			d.reply(child, `"outcome":"done","output":`+string(child.Input))
		}
		require.Equal(t, core.Processed, wait(t, d.runtime, id).ProcessState, id)
		ended[id] = k
	}
	require.NotEmpty(t, failed)
	require.NotEmpty(t, ended)
	for n := range 20 {
		d.texts(fmt.Sprintf("t-%d", n), func(k int) string { return text().Example(5*n + k) }, failed)
	}
	closeRuntime(t, d.runtime)
	d.open(w)
	defer closeRuntime(t, d.runtime)
	same := func(want string, got json.RawMessage) {
		t.Helper()
		a, err := rawjson.AppendCanonical(nil, []byte(want))
		require.NoError(t, err)
		b, err := rawjson.AppendCanonical(nil, got)
		require.NoError(t, err)
		require.Equal(t, string(a), string(b))
	}
	for id, k := range ended {
		d.readable(id)
		task, _, err := d.runtime.Task(t.Context(), id)
		require.NoError(t, err)
		order, err := d.runtime.Order(t.Context(), task)
		require.NoError(t, err)
		same(k.order, order)
		same(k.output, task.Step("first").Output)
		said, err := rawjson.Member(task.Output, "said")
		require.NoError(t, err)
		same(k.said, said)
		child, err := d.runtime.Wait(t.Context(), id+"~all~0", atEnd)
		require.NoError(t, err)
		same(k.output, child.Output)
	}
	for id := range failed {
		d.readable(id)
	}
}

// texts brings texts to every other place of an order: its ID, the reason of a failure, and who sends a command
// and why.
func (d *doors) texts(id string, draw func(int) string, orders map[string]string) {
	const body = `{"schema":1,"orderId":%s,"workflow":"pair","order":{"n":1}}`
	if status, _ := d.site.post("/v1/orders", "", fmt.Sprintf(body, draw(0))); status < 300 {
		var drawn string
		require.NoError(d.t, json.Unmarshal([]byte(draw(0)), &drawn))
		orders[drawn] = drawn
	}
	status, answer := d.site.post("/v1/orders", "", fmt.Sprintf(body, `"`+id+`"`))
	require.Equal(d.t, 202, status, answer)
	status, answer = d.site.post("/v1/orders/"+id+"/answers", "", `{"event":"said","value":1}`)
	require.Equal(d.t, 200, status, answer)
	d.reply(d.requestOf("shop"), fmt.Sprintf(`"outcome":"failed","error":{"code":%s,"message":%s}`, `"no"`, draw(1)))
	task := wait(d.t, d.runtime, id)
	require.Equal(d.t, "no", task.Step("first").Error.Code)
	for k, command := range []string{"cancel", "erase"} {
		status, answer = d.site.post("/v1/orders/"+id+"/"+command, "", fmt.Sprintf(`{"by":%s,"reason":%s}`,
			draw(2+k), draw(3+k)))
		require.Less(d.t, status, 500, answer)
		require.NoError(d.t, rawjson.Check([]byte(answer), rawjson.MaxLevels))
	}
	orders[id] = id
}

// readable reads an order as a person and a program do.
func (d *doors) readable(id string) {
	for _, path := range []string{"", "/order"} {
		resp, err := d.site.Client().Get(d.site.URL + "/v1/orders/" + id + path)
		require.NoError(d.t, err)
		text, err := io.ReadAll(resp.Body)
		require.NoError(d.t, err)
		require.NoError(d.t, resp.Body.Close())
		require.Equal(d.t, http.StatusOK, resp.StatusCode, "%s%s: %s", id, path, text)
		require.NoError(d.t, rawjson.Check(text, rawjson.MaxLevels))
	}
}

// requestOf takes the next request of an agent.
func (d *doors) requestOf(agent string) message.Request {
	q := queueOf(d.t, d.runtime, port.Requests(agent))
	got, err := q.Receive(d.t.Context(), 1, patience, patience)
	require.NoError(d.t, err)
	require.Len(d.t, got, 1)
	r, err := message.Of[message.Request](got[0])
	require.NoError(d.t, err)
	require.NoError(d.t, q.Delete(d.t.Context(), []string{got[0].Receipt})[0])
	return *r
}
