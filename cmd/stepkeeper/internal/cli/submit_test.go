package cli

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf16"

	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

func orderLine(id, end string) string {
	return fmt.Sprintf(`{"schema":1,"orderId":%q,"workflow":"order","order":{"total":12.50,"end":%q}}`+"\n",
		id, end)
}

func TestSubmitOne(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	file := write(t, "order.json",
		"{\n \"schema\": 1, \"orderId\": \"a-1\",\n \"workflow\": \"order\",\n \"order\": {}\n}\n")
	c.run(t, "submit", file).want(t, failure.OK, "a-1: accepted\n")
	c.run(t, "submit", file).want(t, failure.OK, "a-1: already there\n")
	c.in = strings.Replace(orderLine("a-1", ""), "12.50", "13", 1)
	c.run(t, "submit", "-").want(t, failure.Refused, "standard input:1: a-1: refused: order \"a-1\" exists with other content")
	c.in = ""
	c.run(t, "submit", "-").want(t, failure.OK, "0 orders")
	c.in = "["
	c.run(t, "submit", "-").want(t, failure.Usage, "standard input: not sent: line 1: it ends in the middle")
}

func TestSubmitFile(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	text := orderLine("a-1", "Processed") + "nonsense\n\n" +
		`{"schema":1,"orderId":"a-4","workflow":"order","order":{},"colour":"red"}` + "\n" +
		`{"schema":1,"orderId":"a-5","workflow":"booking","order":{}}` + "\n" +
		`{"schema":1,"orderId":"../5","workflow":"order","order":{}}` + "\n" +
		orderLine("a-7", "Compensated")
	file := write(t, "orders.jsonl", text)
	for _, golden1 := range []string{"submit.txt", "submit-again.txt"} {
		r := c.run(t, "submit", file)
		require.Equal(t, failure.Usage, r.code, golden1)
		golden.Assert(t, strings.ReplaceAll(r.out+r.err, filepath.Dir(file)+"/", ""), golden1)
	}
	r := c.run(t, "submit", file, "--output", "json")
	golden.Assert(t, strings.ReplaceAll(r.out, filepath.Dir(file)+"/", ""), "submit.jsonl")
	require.Empty(t, r.err, "with --output json all is reported on the output")
}

func TestSubmitReportsWhatHasNoEffect(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	high := strings.Replace(orderLine("h-1", ""), `"workflow"`, `"priority":"high","workflow"`, 1)
	c.in = high + orderLine("h-2", "")
	c.run(t, "submit", "-").want(t, failure.OK, "2 orders: 2 accepted\n",
		`note (1 of 2 orders): priority "high" is stored with the order and has no effect`)
	c.in = high
	require.Contains(t, c.run(t, "submit", "-", "--output", "json").out, `"notes":["priority`)
}

func TestSubmitWait(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	good := write(t, "good.jsonl", orderLine("w-1", "Processed")+orderLine("w-2", "Processed"))
	c.run(t, "submit", "--wait", good).want(t, failure.OK, "2 orders: 2 accepted\n", "2 ended: 2 Processed\n")
	c.in = orderLine("w-3", "Processed")
	c.run(t, "submit", "--wait", "-").want(t, failure.OK, "w-3: accepted, Processed\n")
	mixed := write(t, "mixed.jsonl", orderLine("w-4", "Processed")+orderLine("w-5", "Compensated")+
		orderLine("w-6", "Error"))
	c.run(t, "submit", "--wait", mixed).want(t, failure.NotProcessed,
		"w-5: Compensated: charge: the card was declined\n", "3 ended: 1 Processed, 1 Compensated, 1 Error\n")
	r := c.run(t, "submit", "--wait", mixed, "--output", "json")
	r.want(t, failure.NotProcessed)
	for _, l := range decodeLines(t, r.out) {
		require.Equal(t, true, l["ended"])
		require.Equal(t, true, l["accepted"])
		require.Equal(t, true, l["known"])
		require.NotEmpty(t, l["state"])
	}
	for i, l := range decodeLines(t, c.run(t, "submit", mixed, "--output", "json").out) {
		want := []any{"Processed", "Compensated", "Error"}[i]
		require.Equal(t, want, l["state"])
		require.Equal(t, want != "Error", l["ended"])
		require.Equal(t, true, l["known"])
	}
}

// escaped returns a text as JSON in its longest form, as some encoders write it.
func escaped(text string) string {
	var b strings.Builder
	for _, unit := range utf16.Encode([]rune(text)) {
		fmt.Fprintf(&b, `\u%04x`, unit)
	}
	return `"` + b.String() + `"`
}

// An order at its limit is sent, and one of a byte more is not, however it is written.
func TestSubmitMeasuresTheShortestForm(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL}
	const before, after = `{"schema":1,"orderId":"fits","workflow":"order","order":`, `}`
	fits := "<&>\u2028😀\x01я\n\uffff"
	short, err := rawjson.Marshal(fits)
	require.NoError(t, err)
	fits += strings.Repeat("a", port.MaxOrder-len(before)-len(short)-len(after))
	for order, text := range map[string]string{"fits": fits, "over": fits + "a"} {
		short, err := rawjson.Marshal(text)
		require.NoError(t, err)
		envelope := strings.Replace(before, "fits", order, 1)
		for _, written := range []string{string(short), escaped(text)} {
			for in, flags := range map[string][]string{
				envelope + written + after + "\n": nil, "[" + envelope + written + after + "]": nil,
				written + "\n": {"--workflow", "order", "--id", order},
			} {
				c.in = in
				r := c.run(t, append([]string{"submit", "-"}, flags...)...)
				if order == "fits" {
					r.want(t, failure.OK, "fits: a")
					continue
				}
				r.want(t, failure.Usage, "the submission has 65537 bytes, the limit is 65536")
			}
		}
	}
}

// A wait has a bound. The error says what was acknowledged before.
func TestSubmitWaitsWithinItsTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := inProcess(t, newBackend(noon))
		c.in = orderLine("w-7", "")
		began := time.Now()
		c.run(t, "submit", "--wait", "--timeout", "2m", "-").want(t, failure.General,
			"acknowledged before this: 1 order;", "not all orders ended in time\n  they go on")
		require.Equal(t, 2*time.Minute, time.Since(began))
	})
}

// An agent that does not run is reported while the command waits, and not only at the submission.
func TestSubmitReportsWhatHoldsUpAnOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(noon)
		c := inProcess(t, b)
		c.in = orderLine("w-9", "")
		b.NotTaken = []view.Unattended{{Queue: "requests-payment", Agent: "payment", Waiting: 1}}
		r := c.run(t, "submit", "--wait", "--timeout", "1m", "-")
		r.want(t, failure.General, "queue requests-payment has had no consumer, 1 message waiting")
		require.Equal(t, 1, strings.Count(r.err, "no consumer"), r.err)
	})
}

// A server that answers all the time is not silent: the error has its last answer.
func TestSubmitSaysWhyAServerTakesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBackend(noon)
		b.Failing = map[string]error{"w-8": fmt.Errorf("the disk is full: %w", port.ErrUnavailable)}
		c := inProcess(t, b)
		c.in = orderLine("w-8", "")
		r := c.run(t, "submit", "--timeout", "30s", "-")
		r.want(t, failure.Refused, "submission: the server accepts nothing now", "the disk is full")
		require.NotContains(t, r.err, "is it running?")
		require.Equal(t, 1, strings.Count(r.err, "deadline exceeded"), r.err)
	})
}

func TestSubmitManyInSeveralFiles(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL, terminal: true}
	dir := t.TempDir()
	args := []string{"submit", "--no-color"}
	for f := range 3 {
		var text strings.Builder
		for i := range 500 {
			text.WriteString(orderLine(fmt.Sprintf("m-%d-%d", f, i), ""))
		}
		path := filepath.Join(dir, fmt.Sprintf("%d.jsonl", f))
		require.NoError(t, os.WriteFile(path, []byte(text.String()), 0o600))
		args = append(args, path)
	}
	c.run(t, args...).want(t, failure.OK, "1500 orders: 1500 accepted\n")
	c.run(t, args...).want(t, failure.OK, "1500 orders: 0 accepted, 1500 already there\n")
}

func TestSubmitBare(t *testing.T) {
	b := newBackend(noon)
	c := call{server: serve(t, b).URL, in: `{"total":1}`}
	c.run(t, "submit", "--workflow", "order", "--id", "b-1", "-").want(t, failure.OK, "b-1: accepted")
	c.in = "{\"total\":1}\n{\"total\":1}\n"
	c.run(t, "submit", "--workflow", "order", "--id", "b-2", "-").want(t, failure.Usage,
		"--id names one order")
	require.Nil(t, b.Seen("b-2"), "of two orders with one ID none may be sent")
	c.run(t, "submit", "--workflow", "order", "-").want(t, failure.OK, "2 orders: 2 accepted\n")
	c.run(t, "submit", "--workflow", "order", "-").want(t, failure.OK,
		"2 orders: 0 accepted, 2 already there\n")
	c.in = orderLine("b-3", "")
	c.run(t, "submit", "--workflow", "order", "-").want(t, failure.Usage, "leave --workflow out")
	for _, part := range []string{
		`{"workflow":"order","order":{}}`, `{"orderId":"b-4","order":{}}`,
		`{"orderId":"b-4","workflow":"order"}`,
	} {
		c.in = part
		c.run(t, "submit", "--workflow", "order", "-").want(t, failure.OK, ": accepted")
	}
	c.run(t, "submit", "--workflow", "No \"Such\"", "-").want(t, failure.Usage)
	// a place counts from the order's beginning, and what is no order of its own adds no field to the
	// submission
	for text, want := range map[string]string{
		`{bad`: "invalid character", `1,"priority":"high"`: "something follows the value",
	} {
		c.in = text
		c.run(t, "submit", "--workflow", "order", "-").want(t, failure.Usage,
			"not sent: it is not JSON at byte 1: "+want)
	}
}

func TestSubmitBareWithoutItsWorkflow(t *testing.T) {
	c := call{server: serve(t, newBackend(noon)).URL, in: `{"total":1}`}
	for _, order := range []string{`{"total":1}`, `{"orderId":"x","total":1}`} {
		c.in = order
		c.run(t, "submit", "-").want(t, failure.Usage, "not sent",
			"if it is the order itself, name its workflow with --workflow NAME")
	}
	for _, other := range []string{
		`[1]`, `nonsense`, `{"workflow":"order","orderId":"x"}`,
		orderLine("../5", ""),
	} {
		c.in = other
		require.NotContains(t, c.run(t, "submit", "-").err, "--workflow", other)
	}
}

// A command that waits for a restart of the server reports this within seconds.
func TestAnOutageIsReported(t *testing.T) {
	const notice = "cannot be reached, trying again; is it running? start one with `stepkeeper dev`"
	virtually := func(t *testing.T, name string, f func(t *testing.T)) {
		t.Helper()
		t.Run(name, func(t *testing.T) { synctest.Test(t, f) })
	}
	for name, args := range map[string][]string{
		"submit": {"submit", "-"}, "watch": {"watch", "n-1"}, "smoke": {"doctor", "--smoke"},
	} {
		virtually(t, name, func(t *testing.T) {
			r := call{in: orderLine("n-1", "")}.run(t, append(args, "--timeout", "4s")...)
			require.NotEqual(t, failure.OK, r.code)
			require.Equal(t, 1, strings.Count(r.err, notice), r.err)
		})
	}
	virtually(t, "as JSON", func(t *testing.T) {
		r := call{in: orderLine("n-1", "")}.run(t, "submit", "-", "--timeout", "4s", "--output", "json")
		all := decodeLines(t, r.err)
		require.Len(t, all, 2)
		require.Contains(t, all[0], "warning")
		require.Contains(t, all[1], "error")
	})
	virtually(t, "while it waits for the end of an order", func(t *testing.T) {
		c := call{via: goesAway(t, func(r *http.Request) bool { return r.URL.Query().Has("wait") }), in: orderLine("n-1", "")}
		c.run(t, "submit", "--wait", "-", "--timeout", "5s").want(t, failure.Unreachable, notice,
			"acknowledged before this: 1 order;")
	})
	virtually(t, "once while it watches the list", func(t *testing.T) {
		looks := 0
		c := call{via: goesAway(t, func(*http.Request) bool { looks++; return looks == 3 })}
		r := c.run(t, "watch", "--timeout", "20s")
		r.want(t, failure.OK)
		require.Equal(t, 1, strings.Count(r.err, "cannot be reached"), r.err)
	})
	virtually(t, "not while the order goes on", func(t *testing.T) {
		c := inProcess(t, newBackend(noon))
		c.in = orderLine("n-1", "")
		require.NotContains(t, c.run(t, "submit", "--wait", "-", "--timeout", "4m").err, "trying again")
	})
}

// goesAway leads to a server that cannot be reached from a request on.
func goesAway(t *testing.T, from func(*http.Request) bool) http.RoundTripper {
	t.Helper()
	var gone atomic.Bool
	edge := newBackend(noon).edge()
	transport := stacktest.Transport(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if from(r) {
			gone.Store(true)
			panic(http.ErrAbortHandler)
		}
		edge.ServeHTTP(w, r)
	}))
	dial := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		if gone.Load() {
			return nil, syscall.ECONNREFUSED
		}
		return dial(ctx, network, address)
	}
	return transport
}
