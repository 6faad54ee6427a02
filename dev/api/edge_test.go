package api_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"
	"gotest.tools/v3/golden"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/dev/api/apitest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

func init() { golden.NormalizeCRLFToLF = false } // answers are compared byte for byte

// rig is an edge with a backend in memory. Every answer that it gets is held against the OpenAPI
// document, so that the document and the handlers cannot drift apart.
type rig struct {
	*testing.T
	backend  *apitest.Backend
	url      string
	doc      *document
	reported strings.Builder // requests and answers
}

func newRig(t *testing.T) *rig {
	t.Helper()
	b := apitest.New()
	h := api.New(api.Config{Backend: b, Version: "test", Clock: port.ClockFunc(apitest.Now.Std)})
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	r := &rig{T: t, backend: b, url: s.URL}
	r.doc = readDocument(t, s.URL)
	return r
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   []byte
}

func (a answer) json(t *testing.T) map[string]any {
	t.Helper()
	var v map[string]any
	require.NoError(t, json.Unmarshal(a.body, &v), "the answer is not a JSON object")
	return v
}

func (r *rig) do(method, path, contentType, body string, headers ...string) answer {
	r.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	require.NoError(r, err)
	if contentType != "" {
		req.Header.Set("Content-Type", contentType)
	}
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(r, err)
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	require.NoError(r, err)
	a := answer{resp.StatusCode, resp.Header, data}
	r.doc.check(r.T, method, req.URL.Path, a)
	r.report(method, path, body, a)
	return a
}

var random = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`)

// report records a request and its answer, without what differs from one time to the next.
func (r *rig) report(method, path, body string, a answer) {
	fmt.Fprintf(&r.reported, "%s %s %.200s\n%d\n", method, path, body, a.status)
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		if name != "Date" && name != "Content-Length" {
			fmt.Fprintf(&r.reported, "%s: %s\n", name, a.header.Get(name))
		}
	}
	fmt.Fprintf(&r.reported, "%s\n\n", random.ReplaceAll(a.body, []byte("…")))
}

func (r *rig) get(path string) answer { r.Helper(); return r.do("GET", path, "", "") }

func (r *rig) post(path, body string) answer {
	r.Helper()
	return r.do("POST", path, "application/json", body)
}

func (r *rig) submit(id string) {
	r.Helper()
	require.Equal(r, http.StatusAccepted, r.post("/v1/orders", orderJSON(id)).status, id)
}

func orderJSON(id string) string {
	return `{"schema":1,"orderId":"` + id +
		`","workflow":"order","order":{"total":12.50,"big":12345678901234567890.10}}`
}

// document is the OpenAPI document with its schemas compiled.
type document struct {
	raw      map[string]any
	compiler *jsonschema.Compiler
	used     map[string]bool // "GET /v1/orders/{id} 200"
}

func readDocument(t *testing.T, url string) *document {
	t.Helper()
	resp, err := http.Get(url + "/openapi.json")
	require.NoError(t, err)
	defer resp.Body.Close()
	v, err := jsonschema.UnmarshalJSON(resp.Body)
	require.NoError(t, err)
	d := &document{raw: v.(map[string]any), compiler: jsonschema.NewCompiler(), used: map[string]bool{}}
	d.compiler.AssertFormat()
	require.NoError(t, d.compiler.AddResource("http://test/openapi.json", v))
	return d
}

func escape(s string) string { return strings.ReplaceAll(strings.ReplaceAll(s, "~", "~0"), "/", "~1") }

// pathOf finds the template that a path belongs to; "" for one that is not documented.
func (d *document) pathOf(path string) string {
	for template := range d.raw["paths"].(map[string]any) {
		a := strings.Split(template, "/")
		b := strings.Split(path, "/")
		same := len(a) == len(b)
		for i := 0; same && i < len(a); i++ {
			same = a[i] == b[i] || strings.HasPrefix(a[i], "{")
		}
		if same {
			return template
		}
	}
	return ""
}

// check fails the test if the answer is not one that the document promises.
func (d *document) check(t *testing.T, method, path string, a answer) {
	t.Helper()
	template := d.pathOf(path)
	if template == "" || a.status == http.StatusMethodNotAllowed {
		return
	}
	item := d.raw["paths"].(map[string]any)[template].(map[string]any)
	operation, _ := item[strings.ToLower(method)].(map[string]any)
	if operation == nil {
		return
	}
	status := http.StatusText(a.status)
	code := json.Number(jsonNumber(a.status)).String()
	response, _ := operation["responses"].(map[string]any)[code].(map[string]any)
	if response == nil {
		t.Errorf("%s %s answers %s %s, which its document does not name", method, template, code, status)
		return
	}
	media, _, _ := mime.ParseMediaType(a.header.Get("Content-Type"))
	if _, ok := response["content"].(map[string]any)[media]; !ok {
		t.Errorf("%s %s answers %s as %q, which its document does not name", method, template, code, media)
		return
	}
	schema, err := d.compiler.Compile("http://test/openapi.json#/paths/" + escape(template) + "/" +
		strings.ToLower(method) + "/responses/" + code + "/content/" + escape(media) + "/schema")
	require.NoError(t, err)
	d.used[method+" "+template+" "+code] = true
	for _, text := range bodies(media, a.body) {
		v, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Errorf("%s %s: %v in %.200s", method, template, err, text)
			continue
		}
		require.NoError(t, schema.Validate(v), method)
	}
}

func jsonNumber(n int) string { b, _ := json.Marshal(n); return string(b) }

// bodies splits what holds several values.
func bodies(media string, body []byte) [][]byte {
	var all [][]byte
	switch media {
	case "application/x-ndjson":
		for line := range bytes.Lines(body) {
			all = append(all, line)
		}
	case "text/event-stream":
		for line := range bytes.Lines(body) {
			if data, ok := bytes.CutPrefix(line, []byte("data: ")); ok {
				all = append(all, data)
			}
		}
	default:
		all = append(all, body)
	}
	return all
}

// TestEveryOperationKeepsItsDocument calls every operation of the document once with success, some also
// without, and fails if one was added that is not called here, or answers something else than before.
func TestEveryOperationKeepsItsDocument(t *testing.T) {
	r := newRig(t)
	r.submit("a-1")
	r.backend.Change("a-1", func(x *protocol.Task) {
		x.ProcessState = core.Error
		x.Phase = core.Undoing
		x.End.At = apitest.Now + 9
		x.Undo.Why = protocol.WhyFailure
		x.Reason.Code = "timeout"
		x.Reason.Text = "payment did not answer"
		x.Reason.Step = "charge"
		x.Commands.Verdicts = []protocol.Verdict{{
			ID: "c1", Command: "cancel", Reason: "too late",
			At: apitest.Now,
		}}
		s := &x.Steps[0]
		s.State = core.UndoWait
		s.Claim.Undo = true
		s.Failures.Undo = 2
		s.Output = json.RawMessage(`{"id":7}`)
		s.Error = &protocol.StepError{Code: "timeout", Message: "no answer", At: apitest.Now, Attempt: 1}
		s.Resolved = &core.Resolved{Fact: core.Happened, Command: 1}
	})
	r.post("/v1/orders?wait=1s", orderJSON("a-1"))
	r.do("POST", "/v1/orders", "application/x-ndjson", orderJSON("a-2")+"\nnonsense\n")
	r.get("/v1/orders/a-1?wait=1s")
	r.get("/v1/orders/a-1/order")
	r.get("/v1/orders/a-1/document")
	r.get("/v1/orders?limit=1&state=Error&workflow=order&olderThan=0s")
	r.follow("a-1", 0, 1)
	r.get("/v1/approvals?workflow=order&step=charge&id=a-&limit=1")
	r.changes("a-1")
	r.post("/v1/orders/a-1/cancel", `{"id":"c1"}`)
	r.post("/v1/orders/a-1/answers", `{"step":"mail","value":"yes"}`)
	r.post("/v1/orders/a-1/answers", `{"step":"mail","event":"bought","value":"yes"}`)
	r.post("/v1/orders/missing/answers", `{"event":"bought","value":{"n":1},"by":"shop","run":0}`)
	r.post("/v1/orders/a-1/undo", `{"id":"c2","command":0}`)
	r.post("/v1/orders/a-1/resubmit", `{"command":0,"deadline":"2030-01-01T00:00:00Z"}`)
	r.post("/v1/orders/a-1/resolve", `{"id":"c4","command":0,"step":"charge","fact":"not-happened"}`)
	r.post("/v1/orders/a-1/erase", `{"id":"c6","command":0,"by":"ann","reason":"asked to"}`)
	r.post("/v1/orders/a-1/close", `{"id":"c5","command":0,"by":"ann","reason":"refunded"}`)
	r.post("/v1/orders/a-1/move", `{"id":"c6","command":0,"definition":"latest"}`)
	r.get("/v1/orders/a-1/move?definition=latest")
	r.get("/v1/workflows")
	r.get("/v1/workflows/order")
	r.get("/v1/workflows/order?definition=latest")
	r.get("/v1/workflows/none")
	r.get("/v1/workflows/order?definition=short")
	r.get("/v1/schedules")
	r.get("/v1/statistics")
	r.get("/healthz")
	r.get("/healthz?nocache=1")
	r.get("/readyz")
	r.get("/nowhere")
	r.get("/v1/orders/missing")
	r.get("/v1/orders?limit=0")
	r.post("/v1/orders", orderJSON("a-1 b"))
	r.post("/v1/orders/a-1/resolve", `{"command":0,"step":"charge","fact":"maybe"}`)
	r.do("DELETE", "/v1/orders/a-1", "", "")
	r.do("POST", "/v1/orders", "text/plain", "x")
	r.do("POST", "/v1/orders/a-1/cancel", "text/plain", "{}")
	r.backend.NotOK = true
	r.get("/readyz")
	golden.Assert(t, r.reported.String(), "answers.txt")

	for path, item := range r.doc.raw["paths"].(map[string]any) {
		for method, operation := range item.(map[string]any) {
			for code := range operation.(map[string]any)["responses"].(map[string]any) {
				key := strings.ToUpper(method) + " " + path + " " + code
				if code < "300" && !r.doc.used[key] {
					t.Errorf("no request asked for %s", key)
				}
			}
		}
	}
	require.True(t, r.doc.used["GET /readyz 503"], "readyz never said that it is not ready")
}

// The document is what generated clients are made of: each change of it is meant.
func TestDocumentIsAsPublished(t *testing.T) {
	golden.Assert(t, string(newRig(t).get("/openapi.json").body), "openapi.json")
}

// A listener that cannot be served is an error, and names its address.
func TestServeReportsWhatItCannotServe(t *testing.T) {
	ln, err := api.Listen("127.0.0.1:0")
	require.NoError(t, err)
	ln.Close()
	require.ErrorContains(t, api.Serve(t.Context(), ln, api.New(api.Config{Backend: apitest.New()})), ln.Addr().String())
	for address, want := range map[string]string{
		"localhost": "give host and port",
		"0.0.0.0:0": "is not on the loopback interface", ":0": "is not on the loopback interface",
	} {
		_, err := api.Listen(address)
		require.ErrorContains(t, err, want, address)
	}
}
