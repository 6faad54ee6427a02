package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func TestSubmitAnswersAfterTheOrderIsStored(t *testing.T) {
	r := newRig(t)
	a := r.post("/v1/orders", orderJSON("o-1"))
	if a.status != http.StatusAccepted || a.header.Get("Location") != "/v1/orders/o-1" {
		t.Fatalf("%d %v %s", a.status, a.header, a.body)
	}
	if v := a.json(t); v["orderId"] != "o-1" || v["known"] != false || v["state"] != "Processing" {
		t.Errorf("receipt: %v", v)
	}
	if got := string(r.backend.Seen("o-1")); got != `{"total":12.50,"big":12345678901234567890.10}` {
		t.Errorf("the order lost its digits: %s", got)
	}
	if v := r.post("/v1/orders", orderJSON("o-1")).json(t); v["known"] != true {
		t.Errorf("the same order again: %v", v)
	}
	doc := r.get("/v1/orders/o-1/order")
	if !strings.Contains(string(doc.body), "12345678901234567890.10") {
		t.Errorf("the order as submitted lost its digits: %s", doc.body)
	}
}

func TestSubmitRefusals(t *testing.T) {
	deep := strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000)
	with := func(order string) string {
		return `{"schema":1,"orderId":"x","workflow":"order","order":` + order + `}`
	}
	tests := []struct {
		name, body string
		status     int
		code       string
	}{
		{"malformed", `{"schema":1,`, 400, "not-json"},
		{"empty", ``, 400, "not-json"},
		{"wrong UTF-8", with("\"\xff\""), 400, "not-json"},
		{"no object", `[]`, 400, "not-json"},
		{
			"unknown field", `{"schema":1,"orderId":"x","workflow":"order","order":1,"extra":1}`, 400,
			"unknown-field",
		},
		{
			"unknown workflow", strings.Replace(orderJSON("x"), `"workflow":"order"`, `"workflow":"nope"`, 1),
			400, "unknown-workflow",
		},
		{"no ID", `{"schema":1,"workflow":"order","order":1}`, 400, "missing-field"},
		{"empty ID", strings.Replace(orderJSON("x"), `"x"`, `""`, 1), 400, "missing-field"},
		{"long ID", orderJSON(strings.Repeat("x", 300)), 400, "invalid-field"},
		{"path as ID", orderJSON("../etc"), 400, "invalid-field"},
		{"control character in ID", orderJSON(`a\u0000b`), 400, "invalid-field"},
		{"too large", with(`"` + strings.Repeat("x", port.MaxOrder) + `"`), 413, "too-large"},
		{"nested deep", with(deep), 400, "not-json"},
		{"one level too deep", with(strings.Repeat("[", 65) + strings.Repeat("]", 65)), 400, "not-json"},
		{"newer schema", strings.Replace(orderJSON("x"), `"schema":1`, `"schema":2`, 1), 400, "newer-schema"},
		{"other content", strings.Replace(orderJSON("there"), "12.50", "99", 1), 409, "other-content"},
	}
	r := newRig(t)
	r.submit("there")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := r.post("/v1/orders", tt.body)
			v := a.json(t)
			if a.status != tt.status || v["code"] != tt.code || v["detail"] == "" {
				t.Errorf("%d %v, want %d %s", a.status, v, tt.status, tt.code)
			}
		})
	}
	r.submit("other")
	if a := r.post("/v1/orders", with(strings.Repeat("[", 64)+strings.Repeat("]", 64))); a.status != 202 {
		t.Errorf("64 levels: %d %s", a.status, a.body)
	}
	if a := r.post("/v1/orders/there/undo", `{"command":0,"more":`+deep[:3000]+deep[len(deep)-3000:]+
		`}`); a.status != 400 || !strings.Contains(string(a.body), "deeper than 64 levels") {
		t.Errorf("a deep command: %d %.200s", a.status, a.body)
	}
}

func TestSubmitBodyOfUnknownLength(t *testing.T) {
	r := newRig(t)
	for size, want := range map[int]int{10: 202, port.MaxOrder + 1: 413, message.MaxSubmission: 413} {
		id := fmt.Sprintf("o-%d", size)
		body := strings.NewReader(strings.Replace(orderJSON(id), "12.50", `"`+strings.Repeat("x", size)+`"`,
			1))
		req, _ := http.NewRequest("POST", r.url+"/v1/orders", struct{ *onlyReader }{&onlyReader{body}})
		req.Header.Set("Content-Type", "application/json; charset=UTF-8")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%d bytes: %d, want %d", size, resp.StatusCode, want)
		}
	}
}

type onlyReader struct{ r *strings.Reader }

func (o *onlyReader) Read(b []byte) (int, error) { return o.r.Read(b) }

func TestSubmitWhenThereIsNoRoom(t *testing.T) {
	r := newRig(t)
	r.backend.Busy(1)
	a := r.post("/v1/orders", orderJSON("o"))
	if a.status != 429 || a.header.Get("Retry-After") != "1" || a.json(t)["retryAfter"] != 1.0 {
		t.Errorf("busy: %d %v %s", a.status, a.header, a.body)
	}
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	for _, path := range []string{"/v1/orders", "/v1/orders/o/cancel"} {
		a = r.post(path, map[bool]string{true: orderJSON("o"), false: `{}`}[path == "/v1/orders"])
		if a.status != 503 || a.header.Get("Retry-After") == "" {
			t.Errorf("%s with a full disk: %d %s", path, a.status, a.body)
		}
	}
	r.backend.Down(nil)
	r.submit("o")
}

// Whatever of the store cannot be read now, its operations say so, and when to ask again.
func TestReadsWhenTheStoreIsUnavailable(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for method, paths := range map[string][]string{
		"Task":  {"/v1/orders/o", "/v1/orders/o/events", "/v1/orders/o/move?definition=latest"},
		"Order": {"/v1/orders/o/order", "/v1/orders/o/move?definition=latest&documents=true"},
		"Wait":  {"/v1/orders/o?wait=1s"}, "List": {"/v1/orders"},
		"Target":     {"/v1/orders/o/move?definition=latest", "/v1/workflows/order"},
		"Statistics": {"/v1/statistics"}, "Schedules": {"/v1/schedules"},
	} {
		r.backend.Broken = method
		for _, path := range paths {
			if a := r.get(path); a.status != 503 || a.json(t)["code"] != "unavailable" ||
				a.header.Get("Retry-After") != "2" || a.json(t)["retryAfter"] != 2.0 {
				t.Errorf("%s without %s: %d %v %s", path, method, a.status, a.header, a.body)
			}
		}
	}
}

func TestSubmitWaitsForTheEnd(t *testing.T) {
	r := newRig(t)
	go func() {
		_, _ = r.backend.Wait(t.Context(), "o-1", func(*protocol.Task) bool { return true })
	}()
	r.submit("o-1")
	r.backend.End("o-1")
	a := r.post("/v1/orders?wait=30s", orderJSON("o-1"))
	if v := a.json(t); a.status != 200 || v["state"] != "Processed" || v["ended"] != true {
		t.Errorf("%d %v", a.status, v)
	}
	if a := r.post("/v1/orders?wait=1ms", orderJSON("o-2")); a.status != 202 {
		t.Errorf("an order that did not end: %d %s", a.status, a.body)
	}
	for _, bad := range []string{"wait=61s", "wait=-1s", "wait=soon", "weit=1s"} {
		if a := r.post("/v1/orders?"+bad, orderJSON("o-1")); a.status != 400 {
			t.Errorf("%s: %d", bad, a.status)
		}
	}
}

func TestQueries(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.submit(fmt.Sprintf("o-%d", i))
	}
	r.backend.End("o-3")
	v := r.get("/v1/orders/o-3").json(t)
	steps := v["steps"].([]any)
	first := steps[0].(map[string]any)
	if v["state"] != "Processed" || len(steps) != 2 || first["name"] != "charge" ||
		first["agent"] != "payment" {
		t.Errorf("task: %v", v)
	}
	seen := 0
	cursor := ""
	for {
		page := r.get("/v1/orders?state=Processing&limit=3&cursor=" + cursor).json(t)
		seen += len(page["orders"].([]any))
		cursor, _ = page["next"].(string)
		if cursor == "" {
			break
		}
	}
	if seen != 4 {
		t.Errorf("%d orders listed, want 4", seen)
	}
	if n := len(r.get("/v1/orders?olderThan=1d").json(t)["orders"].([]any)); n != 0 {
		t.Errorf("%d orders are older than a day", n)
	}
	for path, status := range map[string]int{
		"/v1/orders/none":                         404,
		"/v1/orders/none/order":                   404,
		"/v1/orders/none/events":                  404,
		"/v1/orders/none?wait=1s":                 404,
		"/v1/orders/..%2Fetc":                     400,
		"/v1/orders/a%00b":                        400,
		"/v1/orders/" + strings.Repeat("x", 300):  400,
		"/v1/orders?state=Lost":                   400,
		"/v1/orders?limit=0":                      400,
		"/v1/orders?limit=1001":                   400,
		"/v1/orders?olderThan=yesterday":          400,
		"/v1/orders?colour=blue":                  400,
		"/v1/orders?cursor=strange":               400,
		"/v1/nothing":                             404,
		"/v1//orders":                             400,
		"/v1/orders/../orders":                    400,
		"/v1/orders/o-1?wait=forever":             400,
		"/v1/orders?olderThan=99999999999999999d": 400,
	} {
		a := r.get(path)
		if p := a.json(t); a.status != status || p["detail"] == "" || p["code"] == "" {
			t.Errorf("%s: %d %s, want %d", path, a.status, a.body, status)
		}
		if ct := a.header.Get("Content-Type"); ct != "application/problem+json" {
			t.Errorf("%s: an error as %q", path, ct)
		}
	}
}

func TestCommands(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	a := r.post("/v1/orders/o/resolve", `{"id":"c-1","command":3,"step":"charge","fact":"happened"}`)
	if v := a.json(t); a.status != 200 || v["accepted"] != true || v["id"] != "c-1" {
		t.Errorf("%d %v", a.status, v)
	}
	want := message.Control{
		OrderID: "o",
		Event:   core.Command{Name: core.Resolve, ID: "c-1", Number: 3, Step: "charge", Fact: core.Happened},
	}
	if got := r.backend.Commands[0]; !reflect.DeepEqual(got, want) {
		t.Errorf("the backend got %+v", got)
	}
	a = r.post("/v1/orders/o/close", `{"id":"c-9","command":3,"by":"ann","reason":"refunded by hand"}`)
	want = message.Control{
		OrderID: "o",
		Event: core.Command{
			Name: core.Close,
			ID:   "c-9", Number: 3,
			Sender: core.Sender{By: "ann", Reason: "refunded by hand"},
		},
	}
	if got := r.backend.Commands[1]; a.status != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d, the backend got %+v", a.status, got)
	}
	a = r.post("/v1/orders/o/erase", `{"id":"c-8","command":3,"by":"ann","reason":"asked to"}`)
	want = message.Control{
		OrderID: "o",
		Event: core.Command{
			Name: core.Erase,
			ID:   "c-8", Number: 3,
			Sender: core.Sender{By: "ann", Reason: "asked to"},
		},
	}
	if got := r.backend.Commands[2]; a.status != 200 || !reflect.DeepEqual(got, want) {
		t.Errorf("%d, the backend got %+v", a.status, got)
	}
	r.backend.Change("o", func(x *protocol.Task) {
		x.Erased = &protocol.Erasure{
			By: "ann", Reason: "asked to",
			At: 1,
		}
	})
	a = r.get("/v1/orders/o/order")
	if a.status != 404 || !strings.Contains(string(a.body), "was erased") {
		t.Errorf("the content of an erased order: %d %s", a.status, a.body)
	}
	hash := strings.Repeat("0123456789abcdef", 2)
	for body, want := range map[string]message.Control{
		`{"id":"c-3","command":3,"definition":"latest"}`: {
			OrderID: "o",
			Event:   core.Command{Name: core.Move, ID: "c-3", Number: 3, Definition: "latest"},
		},
		`{"id":"c-4","command":3,"definition":"` + hash + `"}`: {
			OrderID: "o",
			Event:   core.Command{Name: core.Resubmit, ID: "c-4", Number: 3, Definition: hash},
		},
		`{"id":"c-5","command":3,"step":"charge","input":"` + strings.Repeat("x", 32<<10-2) +
			`"}`: {
			OrderID: "o",
			Event: core.Command{
				Name: core.Resubmit,
				ID:   "c-5", Number: 3, Step: "charge",
				Input: []byte(`"` + strings.Repeat("x", 32<<10-2) + `"`),
			},
		},
	} {
		a = r.post("/v1/orders/o/"+string(want.Kind()), body)
		if got := r.backend.Commands[len(r.backend.Commands)-1]; a.status != 200 ||
			!reflect.DeepEqual(got, want) {
			t.Errorf("%d, the backend got %+v", a.status, got)
		}
	}
	r.backend.Commands = r.backend.Commands[:1]
	if a := r.post("/v1/orders/o/cancel", `{}`); a.status != 200 || r.backend.Commands[1].ID() == "" {
		t.Errorf("a command without ID: %d %s", a.status, a.body)
	}
	r.backend.Verdict = func(c message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{
			ID: c.ID(), Command: string(c.Kind()), Reason: "the command number is 4, not 3",
			At: 1,
		}, nil
	}
	a = r.post("/v1/orders/o/undo", `{"id":"c-2","command":3}`)
	if v := a.json(t); a.status != 409 || v["detail"] != "the command number is 4, not 3" ||
		v["verdict"] == nil {
		t.Errorf("refused: %d %v", a.status, v)
	}
}

func TestCommandBadInput(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for _, tt := range []struct {
		path, contentType, body string
		status                  int
	}{
		{"/v1/orders/none/undo", "application/json", `{"command":0}`, 404},
		{"/v1/orders/o/undo", "application/json", `{}`, 400},
		{"/v1/orders/o/undo", "application/json", `{"command":-1}`, 400},
		{"/v1/orders/o/undo", "application/json", `{"command":0,"force":true}`, 400},
		{"/v1/orders/o/undo", "application/json", `{"command":0,"id":"../x"}`, 400},
		{"/v1/orders/o/undo", "application/json", `{"command":`, 400},
		{"/v1/orders/o/undo", "application/json", ``, 400},
		{"/v1/orders/o/close", "application/json", `{"command":0,"by":"ann"}`, 400},
		{"/v1/orders/o/close", "application/json", `{"command":0,"by":"ann","reason":" "}`, 400},
		{"/v1/orders/o/close", "application/json", `{"command":0,"reason":"why"}`, 400},
		{"/v1/orders/o/erase", "application/json", `{"command":0,"by":"ann"}`, 400},
		{"/v1/orders/o/erase", "application/json", `{"command":0,"reason":"why"}`, 400},
		{"/v1/orders/o/resolve", "application/json", `{"command":0,"step":"charge","fact":"maybe"}`, 400},
		{"/v1/orders/o/move", "application/json", `{"command":0}`, 400},
		{"/v1/orders/o/move", "application/json", `{"command":0,"definition":"newest"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"definition":"0123"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"deadline":"tomorrow"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"input":{}}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge","input":null}`, 400},
		{
			"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge","input":{"a":1,"a":2}}`,
			400,
		},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge","input":"` +
			strings.Repeat("x", 32<<10) + `"}`, 400},
		{"/v1/orders/o/undo", "text/plain", `{"command":0}`, 415},
		{"/v1/orders/o/undo", "", `{"command":0}`, 415},
		{
			"/v1/orders/o/undo", "application/json", `{"command":0,"id":"` + strings.Repeat("x", 9<<10) + `"}`,
			413,
		},
		{"/v1/orders/o/undo", "application/json", strings.Repeat("[", 8000), 400},
		{"/v1/orders", "text/plain", orderJSON("x"), 415},
		{"/v1/orders", "application/json; charset=latin-1", orderJSON("x"), 415},
	} {
		if a := r.do("POST", tt.path, tt.contentType, tt.body); a.status != tt.status {
			t.Errorf("%s %s %.60s: %d %s, want %d", tt.path, tt.contentType, tt.body, a.status, a.body,
				tt.status)
		}
	}
	if n := len(r.backend.Commands); n != 1 { // the unknown order's
		t.Errorf("the backend got %d commands, want 1", n)
	}
}

// What people and services send may hold any number within the bounds of values, as an order may; the refusal
// of a number of ours names its field, and shows no words of Go.
func TestNumbersOfCommands(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for _, tt := range []struct{ path, body, field string }{
		{"answers", `{"step":"charge","value":%s}`, ""},
		{"answers", `{"event":"bought","value":{"a":[1,{"b":%s}]}}`, ""},
		{"resubmit", `{"command":0,"step":"charge","input":[%s]}`, ""},
		{"resolve", `{"command":0,"step":"charge","fact":"happened","output":%s}`, ""},
		{"answers", `{"step":"charge","value":1,"run":%s}`, "run"},
		{"answers", `{"step":"charge","value":1,"round":%s}`, "round"},
		{"cancel", `{"run":%s}`, "run"},
		{"undo", `{"command":%s}`, "command"},
	} {
		for _, number := range []string{"1e400", "1E+999", "9223372036854775808", "1e3"} {
			r.backend.Commands = nil
			a := r.post("/v1/orders/o/"+tt.path, fmt.Sprintf(tt.body, number))
			switch {
			case tt.field != "":
				want := "body: " + tt.field + ": found number " + number + "; give a whole number"
				if detail, _ := a.json(t)["detail"].(string); a.status != 400 ||
					!strings.HasPrefix(detail, want) {
					t.Errorf("%s %s of %s: %d %s", tt.path, tt.field, number, a.status, a.body)
				}
			case a.status != 200 || len(r.backend.Commands) != 1:
				t.Errorf("%s of %s: %d %s", tt.path, number, a.status, a.body)
			default:
				c := r.backend.Commands[0]
				if sent := fmt.Sprintf("%s", c.Event); !strings.Contains(sent,
					number) {
					t.Errorf("%s of %s: the backend got %s", tt.path, number, sent)
				}
			}
		}
	}
}

func TestMethodsAndPanics(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	a := r.do("PUT", "/v1/orders/o", "", "")
	if a.status != 405 || a.header.Get("Allow") != "GET" {
		t.Errorf("PUT: %d %v", a.status, a.header)
	}
	if a := r.do("DELETE", "/v1/orders", "", ""); a.status != 405 || a.header.Get("Allow") != "GET, POST" {
		t.Errorf("DELETE: %d %v", a.status, a.header)
	}
	if a := r.post("/v1/workflows", `{}`); a.status != 405 {
		t.Errorf("POST /v1/workflows: %d %s", a.status, a.body)
	}
	r.backend.Panic = "boom"
	a = r.get("/v1/orders/boom")
	if v := a.json(t); a.status != 500 ||
		!regexp.MustCompile(`^\w+-\d+$`).MatchString(fmt.Sprint(v["requestId"])) ||
		!strings.HasSuffix(fmt.Sprint(v["detail"]), " under request "+fmt.Sprint(v["requestId"])) ||
		strings.Contains(string(a.body), "asked for it") {
		t.Errorf("a panic: %d %s", a.status, a.body)
	}
	r.submit("unwritable") // no valid document holds that: it stands for any failure to write an answer
	r.backend.Change("unwritable", func(x *protocol.Task) { x.Output = json.RawMessage("{") })
	if a := r.get("/v1/orders/unwritable"); a.status != 500 || a.json(t)["code"] != "internal" {
		t.Errorf("an answer that cannot be written: %d %s", a.status, a.body)
	}
	resp, err := http.Get(r.url + "/v1/orders/unwritable/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if text, err := io.ReadAll(resp.Body); err == nil || strings.Contains(string(text), "internal") {
		t.Errorf("a stream that broke ended as if it were whole: %v, %s", err, text)
	}
	r.backend.Failing = map[string]error{"odd": fmt.Errorf("a secret of the inside")}
	if a := r.post("/v1/orders", orderJSON("odd")); a.status != 500 ||
		strings.Contains(string(a.body), "secret") {
		t.Errorf("an internal failure: %d %s", a.status, a.body)
	}
	r.submit("still-there")
}

func TestOnlyThisMachineAndNoOtherOrigin(t *testing.T) {
	r := newRig(t)
	own := strings.TrimPrefix(r.url, "http://")
	port := own[strings.LastIndex(own, ":"):]
	for _, tt := range []struct {
		name    string
		headers []string
		ok      bool
	}{
		{"plain", nil, true},
		{"localhost", []string{"Host", "localhost" + port}, true},
		{"localhost in capitals", []string{"Host", "LOCALHOST" + port}, true},
		{"IPv6", []string{"Host", "[::1]" + port}, true},
		{"own origin", []string{"Origin", r.url}, true},
		{"typed by a person", []string{"Sec-Fetch-Site", "none"}, true},
		{"rebound name", []string{"Host", "evil.example" + port}, false},
		{"name that begins well", []string{"Host", "127.0.0.1.evil.example"}, false},
		{"other origin", []string{"Origin", "https://evil.example"}, false},
		{"other port's origin", []string{"Origin", "http://127.0.0.1:1"}, false},
		{"origin that begins well", []string{"Origin", r.url + ".evil.example"}, false},
		{"null origin", []string{"Origin", "null"}, false},
		{"cross-site", []string{"Sec-Fetch-Site", "cross-site"}, false},
		{"same-site", []string{"Sec-Fetch-Site", "same-site"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, a := range []answer{
				r.do("GET", "/v1/orders", "", "", tt.headers...),
				r.do("POST", "/v1/orders", "application/json", orderJSON("o"), tt.headers...),
				r.do("POST", "/", "application/x-amz-json-1.0", "{}",
					append(tt.headers, "X-Amz-Target", "AmazonSQS.ListQueues")...),
			} {
				if (a.status < 300) != tt.ok || !tt.ok && a.status != 403 {
					t.Errorf("%d %s", a.status, a.body)
				}
			}
		})
	}
}

func TestListenOnlyOnLoopback(t *testing.T) {
	for address, ok := range map[string]bool{
		"127.0.0.1:0": true, "localhost:0": true, "LocalHost:0": true, "0.0.0.0:0": false, ":0": false, "192.0.2.1:0": false,
		"nonsense": false,
	} {
		ln, err := api.Listen(address)
		if (err == nil) != ok {
			t.Errorf("%s: %v", address, err)
		}
		if ln != nil {
			ln.Close()
		}
	}
}

// One document that cannot be read is shown as damaged, with its ID; all others are as they were.
func TestDamagedDocument(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"a", "b", "c"} {
		r.submit(id)
	}
	r.backend.Damaged = "b"
	page := r.get("/v1/orders")
	orders, _ := page.json(t)["orders"].([]any)
	if page.status != 200 || len(orders) != 3 {
		t.Fatalf("%d %s", page.status, page.body)
	}
	for _, o := range orders {
		o := o.(map[string]any)
		damaged, _ := o["damaged"].(string)
		if (o["orderId"] == "b") != strings.Contains(damaged, "restore it") || o["state"] != "Processing" ||
			o["workflow"] != "order" {
			t.Errorf("%v", o)
		}
	}
	only := r.get("/v1/orders?damaged=true").json(t)["orders"].([]any)
	require.Len(t, only, 1)
	require.Equal(t, "b", only[0].(map[string]any)["orderId"])
	for _, path := range []string{"/v1/orders/b", "/v1/orders/b?wait=10s"} {
		a := r.get(path)
		if v := a.json(t); a.status != 200 || v["ended"] != true || v["state"] != "Processing" ||
			!strings.Contains(v["damaged"].(string), "restore it") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// What a damaged store answers names the damage and what to do, and is no internal error.
func TestDamagedStore(t *testing.T) {
	r := newRig(t)
	r.submit("a")
	r.backend.BrokenBy = fmt.Errorf("listing: %w: page 7; restore a backup", port.ErrStoreDamaged)
	for method, path := range map[string]string{
		"List": "/v1/orders", "Task": "/v1/orders/a",
		"Order": "/v1/orders/a/order",
	} {
		r.backend.Broken = method
		a := r.get(path)
		if v := a.json(t); a.status != 503 || v["code"] != "store-damaged" ||
			!strings.Contains(v["detail"].(string), "page 7; restore a backup") {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// An answer is for the run and the round that are shown, or for the present ones where none is named.
func TestAnswersAreForThePresentRound(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	b := r.backend
	post := func(path, body string) int { return r.post(path, body).status }
	b.Change("o", func(x *protocol.Task) {
		x.Run = 2
		x.Steps[0].Answers = &protocol.Answers{Round: 3}
	})
	for body, want := range map[string]core.Answered{
		`{"step":"charge","value":"yes"}`: {
			Run: 2, Step: "charge", Round: 3,
			By: "local",
		},
		`{"step":"charge","value":"yes","run":0,"round":1,"by":"ann"}`: {
			Run: 0, Step: "charge", Round: 1,
			By: "ann",
		},
		`{"event":"bought","value":"yes","id":"x"}`: {
			Run: 2, Name: "bought", By: "local",
			ID: "x",
		},
	} {
		b.Commands = nil
		if code := post("/v1/orders/o/answers", body); code != 200 || len(b.Commands) != 1 {
			t.Fatalf("%s: %d", body, code)
		}
		got := b.Commands[0].Event.(core.Answered)
		if got.Run != want.Run || got.Step != want.Step || got.Name != want.Name || got.Round != want.Round ||
			got.By != want.By || want.ID != "" && got.ID != want.ID {
			t.Errorf("%s: %+v", body, got)
		}
	}
	for body, want := range map[string]int{
		`{"value":"yes"}`: 400, `{"step":"charge"}`: 400, `{"step":"charge","event":"b","value":1}`: 400,
		`{"step":"charge","value":1,"by":"a<b"}`:                        400,
		`{"event":"b","value":"` + strings.Repeat("x", 17*6<<10) + `"}`: 413,
	} {
		if code := post("/v1/orders/o/answers", body); code != want {
			t.Errorf("%.60s: %d, want %d", body, code, want)
		}
	}
	if code := post("/v1/orders/missing/answers", `{"event":"b","value":1}`); code != 404 {
		t.Errorf("an unknown order: %d", code)
	}
}

// A command over HTTP may have the form that the queues take. What it repeats of the path must be the same.
func TestTheMessageOfAQueueIsACommandOverHTTP(t *testing.T) {
	ann := core.Sender{By: "ann", Reason: "asked to"}
	events := []core.Event{
		core.Command{Name: core.Cancel, ID: "c", Sender: ann},
		core.Command{Name: core.UndoCommand, ID: "c", Number: 3, Sender: ann},
		core.Command{Name: core.Resubmit, ID: "c", Number: 3, Sender: ann},
		core.Command{Name: core.Resolve, ID: "c", Number: 3, Step: "charge", Fact: core.Happened, Sender: ann},
		core.Command{Name: core.Close, ID: "c", Number: 3, Sender: ann},
		core.Command{Name: core.Erase, ID: "c", Number: 3, Sender: ann},
		core.Command{Name: core.Move, ID: "c", Number: 3, Definition: message.Latest, Sender: ann},
		core.Answered{ID: "c", Step: "charge", Round: 1, Value: []byte(`"yes"`), By: "ann"},
	}
	for _, ev := range events {
		r := newRig(t)
		r.submit("o")
		want := message.Control{OrderID: "o", Event: ev}
		path := "/v1/orders/o/" + string(want.Kind())
		if want.Kind() == message.Answer {
			path += "s"
		}
		t.Run(string(want.Kind()), func(t *testing.T) {
			body, err := want.MarshalJSON()
			require.NoError(t, err)
			a := r.post(path, string(body))
			require.Equal(t, 200, a.status, "%s: %s", body, a.body)
			require.Equal(t, []message.Control{want}, r.backend.Commands)
			for is, wrong := range map[string]string{
				`"task":"o"`: `"task":"p"`, `"schema":1`: `"schema":2`,
				`"kind":"` + string(want.Kind()) + `"`: `"kind":"settle"`,
			} {
				a := r.post(path, strings.Replace(string(body), is, wrong, 1))
				require.Equal(t, 400, a.status, wrong)
				name, _, _ := strings.Cut(wrong, ":")
				require.Contains(t, string(a.body), strings.Trim(name, `"`))
			}
			require.Len(t, r.backend.Commands, 1)
		})
	}
}
