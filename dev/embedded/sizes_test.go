package embedded_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"unicode/utf16"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// contents are texts whose JSON has several spellings, with the bytes of the shortest.
var contents = map[string]int{"<td>&</td>": 10, "\u2028": 3, "😀": 4, "\x01": 6, "я": 2, "\n": 2, "\uffff": 6, "a": 1}

// filled returns a text of contents that has exactly as many bytes as a limit, as JSON in its shortest form.
func filled(t *testing.T, content string, limit int) string {
	room := limit - len(`""`)
	text := strings.Repeat(content, room/contents[content]) + strings.Repeat("a", room%contents[content])
	short, err := rawjson.Marshal(text)
	require.NoError(t, err)
	require.Len(t, short, limit)
	return text
}

// escaped returns a text as JSON in its longest form, as some encoders write it.
func escaped(text string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range text {
		for _, unit := range utf16.AppendRune(nil, c) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// An output at its limit is kept, and one of a byte more ends its attempt at once with its code, whichever agent
// sends it and however it writes the text.
func TestTheLimitOfAnOutputIsTheSameForEachAgent(t *testing.T) {
	outputs := map[string]string{}
	for content := range contents {
		fits := filled(t, content, core.MaxOutput)
		outputs["fits-"+fmt.Sprintf("%x", content)] = fits
		outputs["over-"+fmt.Sprintf("%x", content)] = fits + "a"
	}
	var mu sync.Mutex
	calls := map[string]int{}
	service := httptest.NewServer(http.HandlerFunc(func(to http.ResponseWriter, r *http.Request) {
		var in struct{ ID string }
		if json.NewDecoder(r.Body).Decode(&in) == nil && strings.HasSuffix(r.URL.Path, "/first") {
			mu.Lock()
			calls["http-"+in.ID]++
			mu.Unlock()
			_, _ = io.WriteString(to, " "+escaped(outputs[in.ID]))
		}
	}))
	defer service.Close()
	w := newFixture(t, "60s")
	flow := strings.ReplaceAll(leaf, "%", "%%")
	for agent, name := range map[string]string{"shop": "inside", "bank": "http", "other": "outside"} {
		text := strings.NewReplacer("workflow: leaf", "workflow: "+name, "shop", agent, "operation: only",
			"operation: first", `"${ order.item }"`, "{id: \"${ order.id }\"}", "output: \"${ steps.only.output }\"\n",
			"").Replace(flow)
		w.writeAs(name+".yaml", text)
	}
	w.options.Operations = map[string]worker.Operations{"shop": {worker.AnyOperation: {
		Run: func(_ context.Context, c worker.Call) (any, error) {
			var in struct{ ID string }
			mu.Lock()
			defer mu.Unlock()
			if err := json.Unmarshal(c.Input, &in); err != nil {
				return nil, err
			}
			calls["inside-"+in.ID]++
			return outputs[in.ID], nil
		},
	}}}
	w.agents(fmt.Sprintf("bank: {url: %q}, other: {external: true}", service.URL))
	s := w.open()
	defer closeRuntime(t, s)
	d := &doors{t: t, runtime: s, site: serveSite(t, s)}
	for id := range outputs {
		for _, workflow := range []string{"inside", "http", "outside"} {
			status, answer := d.site.post("/v1/orders", "", fmt.Sprintf(
				`{"schema":1,"orderId":"%[1]s-%[2]s","workflow":"%[1]s","order":{"id":%[2]q}}`, workflow, id))
			require.Equal(t, 202, status, answer)
		}
	}
	for range outputs { // the agent outside writes the longest form
		r := d.requestOf("other")
		calls[r.OrderID]++
		status, answer := d.site.post("/", "AmazonSQS.SendMessage", `{"QueueUrl":"replies","MessageBody":`+
			quotedJSON(t, fmt.Sprintf(`{"schema":1,"task":%q,"run":0,"step":"only","attempt":1,"operation":"do",`+
				`"outcome":"done","output":%s}`, r.OrderID, escaped(outputs[strings.TrimPrefix(r.OrderID,
				"outside-")])))+`}`)
		require.Equal(t, 200, status, answer)
	}
	for id, output := range outputs {
		for _, workflow := range []string{"inside", "http", "outside"} {
			order := workflow + "-" + id
			step := wait(t, s, order).Step("only")
			mu.Lock()
			require.Equal(t, 1, calls[order], order)
			mu.Unlock()
			if strings.HasPrefix(id, "over") {
				require.Equal(t, core.CodeOutputTooLarge, step.Error.Code, order)
				continue
			}
			require.Equal(t, core.Processed, step.State, "%s: %+v", order, step.Error)
			var got string
			require.NoError(t, json.Unmarshal(step.Output, &got))
			require.Equal(t, output, got, order)
		}
	}
}

// An order at its limit is taken and one of a byte more is refused, over HTTP, by the client and by the queue,
// however the sender writes it.
func TestTheLimitOfAnOrderIsTheSameForEachDoor(t *testing.T) {
	w := newFixture(t, "60s")
	w.write(strings.Replace(leaf, "workflow: leaf", "workflow: pair", 1))
	w.outside()
	s := w.open()
	defer closeRuntime(t, s)
	d := &doors{site: serveSite(t, s)}
	c, err := client.New(d.site.URL, client.WithRetry(1, 0))
	require.NoError(t, err)
	const form = `{"schema":1,"orderId":"%s","workflow":"pair","order":%s}`
	empty := len(fmt.Sprintf(form, "12345678", ""))
	n := 0
	id := func() string {
		n++
		return fmt.Sprintf("%08d", n)
	}
	for content := range contents {
		fits := filled(t, content, port.MaxOrder-empty)
		for text, taken := range map[string]bool{fits: true, fits + "a": false} {
			short, err := rawjson.Marshal(text)
			require.NoError(t, err)
			for _, written := range []string{escaped(text), string(short)} {
				status, answer := d.site.post("/v1/orders", "", fmt.Sprintf(form, id(), written))
				require.Equal(t, map[bool]int{true: 202, false: 413}[taken], status, "%q: %s", content, answer)

				order := id()
				status, answer = d.site.post("/", "AmazonSQS.SendMessage", `{"QueueUrl":"intake","MessageBody":`+
					quotedJSON(t, fmt.Sprintf(form, order, written))+`}`)
				require.Equal(t, 200, status, answer) // a refusal goes to quarantine, or to the sender
				_, _, err := s.Task(t.Context(), order)
				require.Equal(t, taken, err == nil, "%q by the queue: %v", content, err)
			}
			_, err = c.Submit(t.Context(), client.Order{ID: id(), Workflow: "pair", Content: text})
			require.Equal(t, taken, err == nil, "%q by the client: %v", content, err)
			if !taken {
				require.ErrorIs(t, err, client.ErrInvalid)
			}
		}
	}
}

func quotedJSON(t *testing.T, text string) string {
	b, err := json.Marshal(text)
	require.NoError(t, err)
	return string(b)
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
