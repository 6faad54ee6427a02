package console_test

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// moment returns a time of the recorded orders, in seconds after the first of them arrived.
func moment(seconds int) core.Time {
	return core.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second))
}

// recording serves the responses of testdata/recorded.json: orders of every kind, one of them with a step at each point
// that a timeline shows ("timed"), and half an hour of statistics, of which one minute was not measured.
func recording(t *testing.T, refuses *string) http.Handler {
	var responses map[string]json.RawMessage
	file, err := os.ReadFile("testdata/recorded.json")
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(file, &responses))
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		require.NoError(t, json.NewEncoder(w).Encode(v))
	}
	mux := http.NewServeMux()
	for pattern, response := range responses {
		if strings.Contains(pattern, " /") {
			mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { answer(w, response) })
		}
	}
	var tasks []view.Task
	for _, id := range []string{"busy", "broken", "undone", "closed", "erased"} {
		var task view.Task
		require.NoError(t, json.Unmarshal(responses["GET /v1/orders/"+id], &task))
		tasks = append(tasks, task)
	}
	mux.Handle("POST /{$}", recordedQueues(t))
	mux.HandleFunc("POST /v1/orders", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		answer(w, json.RawMessage(`{"status":400,"code":"missing-field"}`))
	})
	mux.HandleFunc("GET /v1/orders", func(w http.ResponseWriter, r *http.Request) {
		page := view.Page{Orders: []view.Summary{}}
		for i := range tasks {
			x := &tasks[i]
			if state := r.URL.Query().Get("state"); state != "" && state != string(x.State) {
				continue
			}
			s := view.Summary{
				OrderID: x.OrderID, Workflow: x.Workflow, State: x.State, Phase: x.Phase,
				Ended: x.Ended, Run: x.Run, Command: x.Command, Created: x.Created, EndedAt: x.EndedAt,
				Error: x.Error, Definition: x.Definition,
			}
			if x.OrderID == "busy" {
				assert.NoError(t, json.Unmarshal(responses["waits"], &s.Waits))
			}
			page.Orders = append(page.Orders, s)
		}
		answer(w, page)
	})
	mux.HandleFunc("GET /v1/workflows/{name}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusNotFound)
		answer(w, json.RawMessage(
			`{"status":404,"code":"not-found","detail":"no workflow <gone> is deployed"}`))
	})
	mux.HandleFunc("GET /v1/approvals", func(w http.ResponseWriter, r *http.Request) {
		page := view.Approvals{Approvals: []view.Approval{}}
		for i := range tasks {
			page.Approvals = append(page.Approvals, view.ApprovalsOf(&tasks[i])...)
		}
		answer(w, page)
	})
	checked := changing(nil, likeTheAPI(t, mux))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := r.URL.Path
		q := r.URL.Query()
		if refused := regexp.MustCompile(*refuses); *refuses != "" &&
			(refused.MatchString(path) || refused.MatchString(path+" in "+q.Get("state"))) {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			answer(w, json.RawMessage(
				`{"status":403,"code":"forbidden","detail":"not for you","message":"not for you"}`))
			return
		}
		checked.ServeHTTP(w, r)
	})
}

// clientOf returns a client of a server in this process, without a network.
func clientOf(t *testing.T, server http.Handler) *client.Client {
	t.Helper()
	c, err := client.New("http://127.0.0.1:1",
		client.WithHTTPClient(&http.Client{Transport: ending{t, stacktest.Transport(t, server)}}))
	require.NoError(t, err)
	return c
}

func recordedClient(t *testing.T) *client.Client {
	t.Helper()
	return clientOf(t, recording(t, new(string)))
}

// recordedPages serves the pages of the recorded orders, a minute after the first of them arrived.
func recordedPages(t *testing.T) http.Handler {
	t.Helper()
	file := filepath.Join(t.TempDir(), "redact")
	require.NoError(t, os.WriteFile(file, []byte("customer.name\n**.card\n"), 0o600))
	redact, err := console.LoadRedaction(file)
	require.NoError(t, err)
	return console.New(console.Options{
		Client: recordedClient(t), Name: "shop", Program: "stepkeeper --stack shop",
		Redact: redact, Log: slog.New(slog.DiscardHandler), Now: func() time.Time { return moment(60).Std() },
	})
}

// promised holds the schemas of the API's responses, from the document that the real HTTP edge serves. The
// tests of dev/api check the edge against this document, and likeTheAPI checks the recording, so that both
// stay the same.
var promised = sync.OnceValues(func() (*jsonschema.Compiler, error) {
	file, err := os.Open("../../../../dev/api/testdata/openapi.json")
	if err != nil {
		return nil, err
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	return c, c.AddResource("http://test/openapi.json", document)
})

var (
	oneOrder    = regexp.MustCompile(`^(/v1/orders/)[^/]+`)
	oneWorkflow = regexp.MustCompile(`^(/v1/workflows/)[^/]+`)
)

// likeTheAPI checks each response of a recorded server before it is sent.
func likeTheAPI(t *testing.T, recorded *http.ServeMux) http.Handler {
	t.Helper()
	compiler, err := promised()
	require.NoError(t, err)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given := httptest.NewRecorder()
		recorded.ServeHTTP(given, r)
		_, pattern := recorded.Handler(r)
		if path, ok := strings.CutPrefix(pattern, http.MethodGet+" "); ok && given.Code == http.StatusOK {
			path = oneOrder.ReplaceAllString(oneWorkflow.ReplaceAllString(path, "$1{name}"), "$1{id}")
			place := "http://test/openapi.json#/paths/" + strings.ReplaceAll(path, "/", "~1") +
				"/get/responses/200/content/application~1json/schema"
			schema, err := compiler.Compile(place)
			if err == nil {
				var v any
				v, err = jsonschema.UnmarshalJSON(bytes.NewReader(given.Body.Bytes()))
				if err == nil {
					err = schema.Validate(v)
				}
			}
			if err != nil {
				t.Errorf("the recorded %s is no answer of the API: %v\n%.400s", r.URL, err, given.Body)
			}
		}
		maps.Copy(w.Header(), given.Header())
		w.WriteHeader(given.Code)
		_, _ = w.Write(given.Body.Bytes()) // the console is gone if this fails
	})
}
