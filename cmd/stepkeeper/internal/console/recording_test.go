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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// moment returns a time of the recorded orders, in seconds after the first of them arrived.
func moment(seconds int) core.Time {
	return core.TimeOf(time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC).Add(time.Duration(seconds) * time.Second))
}

// recorded returns orders of every kind.
func recorded() []view.Task {
	stopped := &view.TaskError{Code: "http-503", Message: "the bank <is> away", Step: "charge"}
	steps := []view.Step{
		{
			Name: "reserve", State: core.Processed, Agent: "stock", Operation: "reserve", Grade: "idempotent",
			Attempts: 2, FirstAt: moment(1), ClaimedAt: moment(9), FinishedAt: moment(12),
			Input:  json.RawMessage(`{"sku":"a-1","customer":{"name":"Ada"}}`),
			Output: json.RawMessage(`{"place":"b7"}`), Undo: &view.Undo{Operation: "release"},
		},
		{
			Name: "charge", State: core.Failed, Agent: "payment", Operation: "charge",
			After: []string{"reserve"}, Attempts: 1, Failures: 1, FirstAt: moment(20), ClaimedAt: moment(20),
			Error: &protocol.StepError{Code: "http-503", Message: "the bank <is> away", At: moment(30)},
		},
		{
			Name: "cool-off", State: core.Waiting, Kind: view.KindWait, After: []string{"reserve"},
			FirstAt: moment(12), ClaimedAt: moment(12), WakeAt: moment(90),
		},
		{
			Name: "approve", State: core.Waiting, Kind: view.KindApproval, After: []string{"reserve"},
			FirstAt: moment(12), ClaimedAt: moment(12), CompleteBy: moment(600),
			Answers: &view.Answers{Values: []string{"yes", "no"}, Round: 1, Need: 2, Who: []string{
				"ann",
				"ben",
			}, Votes: []protocol.Vote{{By: "ann", Value: json.RawMessage(`"yes"`), At: moment(40)}}},
		},
		{
			Name: "parcels", State: core.Processing, Kind: view.KindEach, After: []string{"reserve"},
			FirstAt: moment(13), ClaimedAt: moment(13),
			Children: &view.Children{Count: 4, Ended: 2, Running: 2},
		},
		{
			Name: "pack", State: core.Pending, Agent: "stock", Operation: "pack", After: []string{"reserve"},
			Attempts: 1, FirstAt: moment(12), ClaimedAt: moment(12), WakeAt: moment(70), NoReturn: true,
		},
		{
			Name: "ship", State: core.Pending, Agent: "post", Operation: "ship",
			After: []string{"charge", "cool-off", "approve", "parcels", "pack"},
		},
	}
	busy := view.Task{
		OrderID: "busy", Workflow: "order", State: core.Processing, Command: 3,
		Created: moment(0), Deadline: moment(3600), Steps: steps,
		Verdicts: []protocol.Verdict{{
			ID: "c-1", Command: "resubmit", Accepted: true, By: "ada",
			Note: "the bank is back", At: moment(19),
		}},
		Attempts: []view.Attempt{
			{
				Step: "reserve", Number: 1, Operation: core.Do, Agent: "stock",
				Began: moment(2), Ended: moment(5), Outcome: core.OutcomeRetryLater, Code: "busy",
			},
			{
				Step: "reserve", Number: 2, Operation: core.Do, Agent: "stock", Began: moment(9),
				Ended: moment(9), Outcome: core.OutcomeFailed, Code: "closed",
			},
		},
		Earlier: &view.Earlier{Failed: 2, RetryLater: 1},
		Unattended: []view.Unattended{{
			Queue: "requests-post", Agent: "post", Waiting: 3, Since: moment(33),
			Reason: "nothing receives from it", Fix: "start the agent",
		}},
		Accepts: []view.Command{{Command: "cancel"}},
		Version: 9, ReplyTo: "shop", Statuses: 1,
		Messages: []view.Message{
			{At: moment(0), Way: "received", Kind: view.MessageOrder, What: "order"},
			{At: moment(0), Way: "sent", Kind: view.MessageStatus, Peer: "shop", What: "started", Seq: 1},
			{
				At: moment(2), Way: "sent", Kind: view.MessageRequest, Peer: "stock", What: "reserve",
				Step: "reserve", Attempt: 1, Until: moment(32),
			},
			{
				At: moment(5), Way: "received", Kind: view.MessageReply, Peer: "stock", What: "retry-later",
				Step: "reserve", Attempt: 1, Code: "busy",
			},
			{
				At: moment(19), Way: "received", Kind: view.MessageCommand, Peer: "ada", What: "resubmit",
				Code: "accepted", Text: "the bank <is> back",
			},
			{
				At: moment(31), Way: "sent", Kind: view.MessageAlert, What: "Error", Final: true,
				Unreported: true, Until: moment(61),
			},
		},
	}
	broken := view.Task{
		OrderID: "broken", Workflow: "order", State: core.Error, Phase: core.Forward,
		Ended: true, Run: 1, Command: 1, Created: moment(0), EndedAt: moment(31), Error: stopped,
		Steps: slices.Clone(steps[:2]), Definition: strings.Repeat("1", 32),
		Deployed: strings.Repeat("2", 32),
		Accepts: []view.Command{
			{Command: "resubmit"},
			{Command: "undo"},
			{Command: "close"},
			{Command: "resolve", Step: "charge", Fact: core.Happened},
			{Command: "resolve", Step: "charge", Fact: core.NotHappened},
			{Command: "resubmit", Definition: "latest"},
			{Command: "move", Definition: "latest"},
		},
	}
	undone := view.Task{
		OrderID: "undone", Workflow: "order", State: core.Compensating, Why: protocol.WhyFailure,
		Created: moment(2), Error: stopped, UndoneFor: stopped,
		UndoWait: &view.UndoWait{Step: "reserve", For: "quiet", Until: moment(80), LastEffect: moment(80)},
		Steps: []view.Step{
			{
				Name: "reserve", State: core.UndoWait, Agent: "stock", Operation: "reserve", Attempts: 1,
				FirstAt: moment(3), ClaimedAt: moment(3), FinishedAt: moment(4), WakeAt: moment(80),
				Undo: &view.Undo{Operation: "release", QuietBy: moment(80)},
			},
			{
				Name: "charge", State: core.Failed, Agent: "payment", Operation: "charge",
				After: []string{"reserve"}, Attempts: 1, FirstAt: moment(4), ClaimedAt: moment(4),
			},
		},
	}
	closed := view.Task{
		OrderID: "closed", Workflow: "order", State: core.Closed, Ended: true,
		Created: moment(1), EndedAt: moment(50), Closed: &protocol.Closing{By: "ben", Reason: "paid <in> cash"},
		Parent: &view.Parent{OrderID: "busy", Step: "parcels", Index: 1}, Steps: steps[:1],
	}
	erased := view.Task{
		OrderID: "erased", Workflow: "order", State: core.Closed, Ended: true,
		Created: moment(1), EndedAt: moment(50), Closed: &protocol.Closing{By: "ben"},
		Error:  &view.TaskError{Code: "http-422", Step: "reserve"},
		Erased: &protocol.Erasure{By: "ann", Reason: "asked to", At: moment(60)}, Steps: []view.Step{},
	}
	return []view.Task{busy, broken, undone, closed, erased}
}

// timed returns an order that has a step at each point that a timeline shows.
func timed() view.Task {
	running := &view.Undo{Operation: "release", Running: true}
	return view.Task{
		OrderID: "timed", Workflow: "order", State: core.Compensating, Why: protocol.WhyFailure,
		Created: moment(0), Steps: []view.Step{
			{
				Name: "tried-three-times", State: core.Compensated, Agent: "stock", Operation: "reserve",
				Attempts: 3, FirstAt: moment(2), ClaimedAt: moment(45), FinishedAt: moment(20),
				Undo: &view.Undo{Operation: "release"},
			},
			{
				Name: "claimed-again", State: core.Processed, Agent: "stock", Operation: "reserve", Attempts: 2,
				FirstAt: moment(3), ClaimedAt: moment(10), FinishedAt: moment(14),
			},
			{
				Name: "being-undone", State: core.Processing, Agent: "stock", Operation: "reserve",
				After: []string{"claimed-again"}, Attempts: 2, FirstAt: moment(16), ClaimedAt: moment(46),
				FinishedAt: moment(30), Undo: running,
			},
			{
				Name: "waits-for-its-undo", State: core.UndoWait, Agent: "stock", Operation: "reserve",
				After: []string{"being-undone", "claimed-again"}, Attempts: 1, FirstAt: moment(31),
				ClaimedAt: moment(31), FinishedAt: moment(32), WakeAt: moment(80),
				Undo: &view.Undo{Operation: "release"},
			},
			{
				Name: "backs-off-in-its-undo", State: core.Waiting, Agent: "stock", Operation: "reserve",
				Attempts: 1, FirstAt: moment(4), ClaimedAt: moment(47), Undo: running,
			},
			{
				Name: "undone-first", State: core.Compensated, Agent: "stock", Operation: "reserve",
				After: []string{"tried-three-times", "event"}, Attempts: 1, FirstAt: moment(21),
				ClaimedAt: moment(35), FinishedAt: moment(22), Undo: &view.Undo{Operation: "release"},
			},
			{
				Name: "undone-alone", State: core.Compensated, Agent: "stock", Operation: "reserve", Attempts: 1,
				FirstAt: moment(4), ClaimedAt: moment(9), FailedAs: "http-503",
				Undo: &view.Undo{Operation: "release"},
			},
			{
				Name: "went-on", State: core.Processed, Agent: "stock", Operation: "reserve",
				After: []string{"undone-alone"}, Attempts: 1, FirstAt: moment(12), ClaimedAt: moment(12),
				FinishedAt: moment(13),
			},
			{
				Name: "event", State: core.Processed, Kind: view.KindEvent, FirstAt: moment(5),
				ClaimedAt:  moment(5),
				FinishedAt: moment(25),
			},
			{
				Name: "child", State: core.Waiting, Kind: view.KindWorkflow, FirstAt: moment(6),
				ClaimedAt: moment(8),
			},
			{
				Name: "handed-back", State: core.Pending, Agent: "stock", Operation: "reserve", Attempts: 1,
				FirstAt: moment(7), ClaimedAt: moment(7),
			},
			{
				Name: "backs-off", State: core.Pending, Agent: "stock", Operation: "reserve", Attempts: 1,
				FirstAt: moment(7), ClaimedAt: moment(7), WakeAt: moment(70),
			},
			{Name: "never", State: core.Pending, Agent: "stock", Operation: "reserve"},
			{Name: strings.Repeat("n", 22), State: core.Skipped},
			{Name: strings.Repeat("n", 23), State: core.Skipped},
		}, Attempts: []view.Attempt{
			{
				Step: "tried-three-times", Number: 1, Operation: core.Do, Agent: "stock", Began: moment(2),
				Ended: moment(5), Outcome: core.OutcomeRetryLater, Code: "busy",
			},
			{
				Step: "tried-three-times", Number: 2, Operation: core.Do, Agent: "stock", Began: moment(9),
				Ended: moment(12), Outcome: core.OutcomeFailed, Code: "http-503",
			},
		},
	}
}

// recordedStatistics returns half an hour of one-minute intervals, of which one was not measured.
func recordedStatistics() view.Statistics {
	values := func(f func(i int) int) []*int {
		all := make([]*int, 30)
		for i := range all {
			if n := f(i); i != 7 {
				all[i] = &n
			}
		}
		return all
	}
	done := 1200
	failed := 3
	return view.Statistics{
		From: moment(-1800), Interval: core.Minute, Series: []view.Series{
			{Kind: view.SeriesEnded, Of: "Processed", Values: values(func(i int) int {
				return 40 + i
			})},
			{Kind: view.SeriesEnded, Of: "Error", Values: values(func(i int) int { return i / 29 })},
			{Kind: view.SeriesOrders, Of: view.OrdersInFlight, Values: values(func(i int) int {
				return 100 - i
			})},
			{Kind: view.SeriesOrders, Of: "Error", Values: values(func(i int) int { return i / 29 })},
			{Kind: view.SeriesWaiting, Of: "post", Values: values(func(i int) int { return 3 * i })},
		}, Agents: []view.AgentStatistics{
			{
				Agent: "payment", Done: &done, Failed: &failed, InFlight: 4,
				NotCalled: []view.NotCalled{{Operation: "charge", Code: "breaker-open", Since: moment(30)}},
			},
			{Agent: "post", Waiting: 87, Oldest: 95 * core.Second},
			{Agent: "stock", Unknown: "<denied>"},
		}, Overdue: &view.Overdue{Orders: 2, Since: moment(-300)},
		Unknown: []string{"something is <not> measured"},
	}
}

// recording serves recorded responses.
func recording(t *testing.T, refuses *string) http.Handler {
	tasks := recorded()
	answer := func(w http.ResponseWriter, v any) {
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(v); err != nil {
			t.Error(err)
		}
	}
	mux := http.NewServeMux()
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
				s.Waits = []view.Wait{
					{
						Step: "cool-off", For: view.WaitTime, Since: moment(12),
						Until: moment(90),
					},
					{Step: "approve", For: view.WaitAnswer, Since: moment(12)},
					{Step: "parcels", For: view.WaitChildren, Since: moment(13)},
					{Step: "pack", For: view.WaitRetry, Since: moment(12)},
				}
			}
			page.Orders = append(page.Orders, s)
		}
		answer(w, page)
	})
	mux.HandleFunc("GET /v1/orders/{id}", func(w http.ResponseWriter, r *http.Request) {
		all := append(slices.Clone(tasks), timed())
		i := slices.IndexFunc(all, func(x view.Task) bool { return x.OrderID == r.PathValue("id") })
		answer(w, all[max(i, 0)])
	})
	mux.HandleFunc("GET /v1/orders/{id}/move", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("id") != "broken" {
			answer(w, view.Plan{
				OrderID: "closed", Reason: "the order is <Closed>",
				Differences: []protocol.Difference{},
			})
			return
		}
		answer(w, view.Plan{
			OrderID: "broken", Definition: strings.Repeat("1", 32), Accepted: true,
			Differences: []protocol.Difference{
				{Step: "charge", What: "timeout is 20s and was 10s"}, {
					Step: "reserve",
					What: "agent is another one", Refused: true,
				}, {What: "grace is another one"},
			},
		})
	})
	mux.HandleFunc("GET /v1/orders/{id}/order", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.RawMessage(`{"orderId":"o","created":"2026-03-01T12:00:00.000Z","order":{"total":120,"customer":{"name":"Ada"},"lines":[{"sku":"a-1","card":"4111"}]}}`))
	})
	mux.HandleFunc("GET /v1/workflows", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.RawMessage(`{"workflows":[{"name":"order","hash":"11111111111111111111111111111111"},{"name":"refund","problems":["line 3: <steps> is missing"]}]}`))
	})
	mux.HandleFunc("GET /v1/workflows/{name}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("name") != "order" {
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusNotFound)
			answer(w, json.RawMessage(
				`{"status":404,"code":"not-found","detail":"no workflow <gone> is deployed"}`))
			return
		}
		steps := slices.Clone(tasks[0].Steps)
		for i := range steps {
			steps[i] = view.Step{
				Name: steps[i].Name, State: core.Pending, Kind: steps[i].Kind,
				Agent: steps[i].Agent, Operation: steps[i].Operation, After: steps[i].After,
				NoReturn: steps[i].NoReturn,
			}
		}
		answer(w, view.Definition{Workflow: "order", Hash: strings.Repeat("1", 32), Steps: steps})
	})
	mux.HandleFunc("GET /v1/schedules", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.RawMessage(`{"schedules":[{"workflow":"gone","cron":"@daily","overlap":"skip","next":"2026-03-02T00:00:00Z","started":1,"starts":[],"missed":1,"skipped":[{"at":"2026-03-01T00:00:00Z","why":"the order before <x> has not ended"}]}]}`))
	})
	mux.HandleFunc("GET /v1/statistics",
		func(w http.ResponseWriter, _ *http.Request) { answer(w, recordedStatistics()) })
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, json.RawMessage(`{"ready":true,"unattended":[{"queue":"requests-post","agent":"post","waiting":3,"since":"2026-03-01T12:00:33.000Z"}],"release":{"version":"v1.0.0","tasks":1,"messages":0}}`))
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
