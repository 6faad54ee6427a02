package api_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/api"
	"github.com/stepkeeper/stepkeeper/shared/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// sized is a submission of exactly so many bytes.
func sized(id string, size int) string {
	text := `{"schema":1,"orderId":"` + id + `","workflow":"order","order":""}`
	return strings.Replace(text, `"order":""`, `"order":"`+strings.Repeat("x", size-len(text))+`"`, 1)
}

// The last byte that fits is taken, the next one is not, as a body and as a line.
func TestLimitsToTheByte(t *testing.T) {
	r := newRig(t)
	for extra, want := range map[int]int{0: 202, 1: 413} {
		if a := r.post("/v1/orders", sized(fmt.Sprintf("body-%d", extra), port.MaxOrder+extra)); a.status != want {
			t.Errorf("a body of %d bytes more than the limit: %d", extra, a.status)
		}
	}
	results := r.stream(sized("fits", port.MaxOrder) + "\r\n" + sized("over", port.MaxOrder+1) + "\n" + orderJSON("next") + "\n" + sized("last", port.MaxOrder))
	if len(results) != 4 || code(results[0]) != "" || code(results[1]) != "too-large" || code(results[2]) != "" || code(results[3]) != "" || results[3].OrderID != "last" {
		t.Errorf("%+v", results)
	}
	long := `{"command":0,"id":"` + strings.Repeat("x", 8<<10) + `"}`
	if a := r.post("/v1/orders/fits/undo", long); a.status != 413 {
		t.Errorf("a command of %d bytes: %d %s", len(long), a.status, a.body)
	}
}

// Each answer of a stream stands at its own line, whatever became of the lines around it.
func TestStreamAnswersStandAtTheirLines(t *testing.T) {
	const n = 600
	r := newRig(t)
	r.backend.Failing = map[string]error{}
	var body strings.Builder
	for i := range n {
		switch i % 3 {
		case 0:
			fmt.Fprintln(&body, "nonsense")
			continue
		case 2:
			r.backend.Failing[fmt.Sprint("o-", i)] = fmt.Errorf("disk full: %w", port.ErrUnavailable)
		}
		fmt.Fprintln(&body, orderJSON(fmt.Sprint("o-", i)))
	}
	results := r.stream(body.String())
	if len(results) != n {
		t.Fatalf("%d answers", len(results))
	}
	for i, got := range results {
		want := []string{"not-json", "", "unavailable"}[i%3]
		id := map[bool]string{true: fmt.Sprint("o-", i)}[i%3 != 0]
		if got.Line != i+1 || got.OrderID != id || code(got) != want || got.Accepted != (want == "") {
			t.Fatalf("line %d: %+v, want %q of %q", i+1, got, want, id)
		}
	}
}

// The same for a batch to the intake queue.
func TestIntakeBatchAnswersStandAtTheirMessages(t *testing.T) {
	r := newRig(t)
	r.backend.Failing = map[string]error{"full": fmt.Errorf("disk full: %w", port.ErrUnavailable)}
	newer := strings.Replace(orderJSON("newer"), `"schema":1`, `"schema":2`, 1)
	var entries []string
	for _, e := range [][2]string{{"a", newer}, {"b", orderJSON("first")}, {"c", "nonsense"}, {"d", orderJSON("full")}, {"e", orderJSON("second")}} {
		entries = append(entries, fmt.Sprintf(`{"Id":%q,"MessageBody":%q}`, e[0], e[1]))
	}
	a := r.do("POST", "/", "application/x-amz-json-1.0", fmt.Sprintf(`{"QueueUrl":"%s/000000000000/intake","Entries":[%s]}`, r.url, strings.Join(entries, ",")),
		"X-Amz-Target", "AmazonSQS.SendMessageBatch")
	v := a.json(t)
	got := map[string]string{}
	for _, x := range v["Successful"].([]any) {
		got[x.(map[string]any)["Id"].(string)] = "ok"
	}
	for _, x := range v["Failed"].([]any) {
		f := x.(map[string]any)
		got[f["Id"].(string)] = fmt.Sprint(f["Code"], " ", f["SenderFault"])
	}
	want := map[string]string{"a": "InvalidParameterValue true", "b": "ok", "c": "ok", "d": "ServiceUnavailable false", "e": "ok"}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if len(r.backend.Rejected) != 1 || string(r.backend.Rejected[0].Body) != "nonsense" || r.backend.Seen("first") == nil || r.backend.Seen("second") == nil {
		t.Errorf("%+v", r.backend.Rejected)
	}
}

// A connection that sends nothing, or half a request, is let go after its time, and a header has a limit.
func TestSlowAndLargeHeaders(t *testing.T) {
	t.Parallel()
	ln, err := api.Listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- api.Serve(ctx, ln, api.New(api.Config{Backend: apitest.New()})) }()
	defer func() { stop(); <-served }()
	for text, want := range map[string]string{
		"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Half: ":                                             "",
		"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Large: " + strings.Repeat("x", 64<<10) + "\r\n\r\n": "431",
	} {
		conn, err := net.Dial("tcp", ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
		_, _ = io.WriteString(conn, text) // a refusal may come while it is being sent
		answer, err := io.ReadAll(conn)
		if e, late := err.(net.Error); late && e.Timeout() {
			t.Errorf("%.60q is still held", text)
		}
		if want != "" && !strings.Contains(string(answer), want) {
			t.Errorf("%.60q: %q %v", text, answer, err)
		}
	}
}
