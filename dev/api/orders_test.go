package api_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

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
		{"empty", ``, 400, "not-json"},
		{"path as ID", orderJSON("../etc"), 400, "invalid-field"},
		{"unknown workflow", strings.Replace(orderJSON("x"), `"workflow":"order"`, `"workflow":"nope"`, 1), 400, "unknown-workflow"},
		{"too large", with(`"` + strings.Repeat("x", port.MaxOrder) + `"`), 413, "too-large"},
		{"one level too deep", with(deep[:65] + deep[len(deep)-65:]), 400, "not-json"},
		{"other content", strings.Replace(orderJSON("there"), "12.50", "99", 1), 409, "other-content"},
	}
	r := newRig(t)
	r.submit("there")
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a := r.post("/v1/orders", tt.body)
			v := a.json(t)
			require.Equal(t, tt.status, a.status)
			require.EqualValues(t, tt.code, v["code"], "%+v", tt.status)
			require.NotEmpty(t, v["detail"], "%+v", tt.status)
		})
	}
	require.Equal(t, 202, r.post("/v1/orders", with(deep[:64]+deep[len(deep)-64:])).status)
	a := r.post("/v1/orders/there/undo", `{"command":0,"more":`+deep[:3000]+deep[len(deep)-3000:]+
		`}`)
	require.Equal(t, 400, a.status)
	require.Contains(t, string(a.body), "deeper than 64 levels")
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
		require.NoError(t, err)
		resp.Body.Close()
		require.Equal(t, want, resp.StatusCode, "%+v", size)
	}
}

type onlyReader struct{ r *strings.Reader }

func (o *onlyReader) Read(b []byte) (int, error) { return o.r.Read(b) }

func TestSubmitWhenThereIsNoRoom(t *testing.T) {
	r := newRig(t)
	r.backend.Busy(1)
	a := r.post("/v1/orders", orderJSON("o"))
	require.Equal(t, 429, a.status)
	require.Equal(t, "1", a.header.Get("Retry-After"))
	require.EqualValues(t, 1, a.json(t)["retryAfter"])
	r.backend.Down(fmt.Errorf("disk full: %w", port.ErrUnavailable))
	for _, path := range []string{"/v1/orders", "/v1/orders/o/cancel"} {
		a = r.post(path, map[bool]string{true: orderJSON("o"), false: `{}`}[path == "/v1/orders"])
		require.Equal(t, 503, a.status, path)
		require.NotEmpty(t, a.header.Get("Retry-After"), path)
	}
	r.backend.Down(nil)
	r.submit("o")
}

// Whatever of the store cannot be read now, its operations say so, and when to ask again. A damaged store names the
// damage and what to do.
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
			a := r.get(path)
			require.Equal(t, 503, a.status, path)
			require.EqualValues(t, "unavailable", a.json(t)["code"], path)
			require.Equal(t, "2", a.header.Get("Retry-After"), path)
			require.EqualValues(t, 2, a.json(t)["retryAfter"], path)
		}
	}
	r.backend.BrokenBy = fmt.Errorf("listing: %w: page 7; restore a backup", port.ErrStoreDamaged)
	r.backend.Broken = "List"
	a := r.get("/v1/orders")
	require.Equal(t, 503, a.status)
	require.EqualValues(t, "store-damaged", a.json(t)["code"])
	require.Contains(t, a.json(t)["detail"], "page 7; restore a backup")
}

func TestSubmitWaitsForTheEnd(t *testing.T) {
	r := newRig(t)
	go func() {
		_, _ = r.backend.Wait(t.Context(), "o-1", func(*protocol.Task) bool { return true })
	}()
	r.submit("o-1")
	r.backend.End("o-1")
	a := r.post("/v1/orders?wait=30s", orderJSON("o-1"))
	v := a.json(t)
	require.Equal(t, 200, a.status)
	require.EqualValues(t, "Processed", v["state"])
	require.EqualValues(t, true, v["ended"])
	require.Equal(t, 202, r.post("/v1/orders?wait=1ms", orderJSON("o-2")).status, "an order that did not end")
	for _, bad := range []string{"wait=61s", "wait=-1s", "wait=soon", "weit=1s"} {
		require.Equal(t, 400, r.post("/v1/orders?"+bad, orderJSON("o-1")).status, bad)
	}
}

func TestQueries(t *testing.T) {
	r := newRig(t)
	for i := range 5 {
		r.submit(fmt.Sprintf("o-%d", i))
	}
	r.backend.End("o-3")
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
	require.Equal(t, 4, seen)
	require.Empty(t, r.get("/v1/orders?olderThan=1d").json(t)["orders"].([]any))
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
		p := a.json(t)
		require.Equal(t, status, a.status, path)
		require.NotEmpty(t, p["detail"], path)
		require.NotEmpty(t, p["code"], path)
		require.Equal(t, "application/problem+json", a.header.Get("Content-Type"), path)
	}
}

func TestCommands(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	input := `"` + strings.Repeat("x", 32<<10-2) + `"`
	a := r.post("/v1/orders/o/resubmit", `{"id":"c-5","command":3,"step":"charge","input":`+input+`}`)
	require.Equal(t, 200, a.status)
	require.EqualValues(t, "c-5", a.json(t)["id"])
	require.Equal(t, []message.Control{{
		OrderID: "o",
		Event:   core.Command{Name: core.Resubmit, ID: "c-5", Number: 3, Step: "charge", Input: []byte(input)},
	}}, r.backend.Commands)
	require.Equal(t, 200, r.post("/v1/orders/o/cancel", `{}`).status)
	require.NotEmpty(t, r.backend.Commands[1].ID())
	r.backend.Change("o", func(x *protocol.Task) { x.Erased = &protocol.Erasure{By: "ann", Reason: "asked to", At: 1} })
	a = r.get("/v1/orders/o/order")
	require.Equal(t, 404, a.status)
	require.Contains(t, string(a.body), "was erased")
	r.backend.Verdict = func(c message.Control) (protocol.Verdict, error) {
		return protocol.Verdict{ID: c.ID(), Reason: "the command number is 4, not 3", At: 1}, nil
	}
	a = r.post("/v1/orders/o/undo", `{"id":"c-2","command":3}`)
	require.Equal(t, 409, a.status)
	require.EqualValues(t, "the command number is 4, not 3", a.json(t)["detail"])
	require.NotNil(t, a.json(t)["verdict"])
}

// The document has the form of each command. What it cannot say is refused too.
func TestCommandBadInput(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	for _, tt := range []struct {
		path, contentType, body string
		status                  int
	}{
		{"/v1/orders/none/undo", "application/json", `{"command":0}`, 404},
		{"/v1/orders/o/undo", "application/json", `{}`, 400},
		{"/v1/orders/o/undo", "application/json", `{"command":0,"force":true}`, 400},
		{"/v1/orders/o/undo", "application/json", ``, 400},
		{"/v1/orders/o/close", "application/json", `{"command":0,"by":"ann"}`, 400},
		{"/v1/orders/o/close", "application/json", `{"command":0,"by":"ann","reason":" "}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"deadline":"tomorrow"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"input":{}}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge"}`, 400},
		{"/v1/orders/o/resubmit", "application/json", `{"command":0,"step":"charge","input":{"a":1,"a":2}}`, 400},
		{"/v1/orders/o/undo", "", `{"command":0}`, 415},
		{"/v1/orders/o/undo", "application/json", strings.Repeat("[", 8000), 400},
		{"/v1/orders", "application/json; charset=latin-1", orderJSON("x"), 415},
	} {
		require.Equal(t, tt.status, r.do("POST", tt.path, tt.contentType, tt.body).status, tt.path)
	}
	require.Len(t, r.backend.Commands, 1, "the unknown order's")
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
				detail, _ := a.json(t)["detail"].(string)
				require.Equal(t, 400, a.status, tt.path)
				require.True(t, strings.HasPrefix(detail, want), tt.path)
			case a.status != 200 || len(r.backend.Commands) != 1:
				t.Errorf("%s of %s: %d %s", tt.path, number, a.status, a.body)
			default:
				c := r.backend.Commands[0]
				require.Contains(t, fmt.Sprintf("%s", c.Event), number, tt.path)
			}
		}
	}
}

func TestMethodsAndPanics(t *testing.T) {
	r := newRig(t)
	r.submit("o")
	a := r.do("PUT", "/v1/orders/o", "", "")
	require.Equal(t, 405, a.status)
	require.Equal(t, "GET", a.header.Get("Allow"))
	a = r.do("DELETE", "/v1/orders", "", "")
	require.Equal(t, 405, a.status)
	require.Equal(t, "GET, POST", a.header.Get("Allow"))
	require.Equal(t, 405, r.post("/v1/workflows", `{}`).status, "POST /v1/workflows")
	r.backend.Panic = "boom"
	a = r.get("/v1/orders/boom")
	v := a.json(t)
	require.Equal(t, 500, a.status)
	require.True(t, regexp.MustCompile(`^\w+-\d+$`).MatchString(fmt.Sprint(v["requestId"])))
	require.True(t, strings.HasSuffix(fmt.Sprint(v["detail"]), " under request "+fmt.Sprint(v["requestId"])))
	require.NotContains(t, string(a.body), "asked for it")
	r.submit("unwritable") // no valid document holds that: it stands for any failure to write an answer
	r.backend.Change("unwritable", func(x *protocol.Task) { x.Output = json.RawMessage("{") })
	a = r.get("/v1/orders/unwritable")
	require.Equal(t, 500, a.status)
	require.EqualValues(t, "internal", a.json(t)["code"])
	resp, err := http.Get(r.url + "/v1/orders/unwritable/events")
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.Error(t, err)
	require.NotContains(t, string(text), "internal")
	r.backend.Failing = map[string]error{"odd": fmt.Errorf("a secret of the inside")}
	a = r.post("/v1/orders", orderJSON("odd"))
	require.Equal(t, 500, a.status)
	require.NotContains(t, string(a.body), "secret")
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

// One document that cannot be read is shown as damaged, with its ID; all others are as they were.
func TestDamagedDocument(t *testing.T) {
	r := newRig(t)
	for _, id := range []string{"a", "b", "c"} {
		r.submit(id)
	}
	r.backend.Damaged = "b"
	page := r.get("/v1/orders")
	orders, _ := page.json(t)["orders"].([]any)
	require.Equal(t, 200, page.status)
	require.Len(t, orders, 3)
	for _, o := range orders {
		o := o.(map[string]any)
		damaged, _ := o["damaged"].(string)
		require.Equal(t, strings.Contains(damaged, "restore it"), o["orderId"] == "b", "%+v", o)
		require.EqualValues(t, "Processing", o["state"], "%+v", o)
		require.EqualValues(t, "order", o["workflow"], "%+v", o)
	}
	only := r.get("/v1/orders?damaged=true").json(t)["orders"].([]any)
	require.Len(t, only, 1)
	require.Equal(t, "b", only[0].(map[string]any)["orderId"])
	for _, path := range []string{"/v1/orders/b", "/v1/orders/b?wait=10s"} {
		a := r.get(path)
		v := a.json(t)
		require.Equal(t, 200, a.status, path)
		require.EqualValues(t, true, v["ended"], path)
		require.EqualValues(t, "Processing", v["state"], path)
		require.Contains(t, v["damaged"].(string), "restore it", path)
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
		require.Equal(t, 200, post("/v1/orders/o/answers", body), body)
		require.Len(t, b.Commands, 1, body)
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
		require.Equal(t, want, post("/v1/orders/o/answers", body), body)
	}
	require.Equal(t, 404, post("/v1/orders/missing/answers", `{"event":"b","value":1}`), "an unknown order")
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
