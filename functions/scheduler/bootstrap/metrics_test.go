package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// P45: the alarm of an agent looks at a metric that is written only while the agent makes no calls, once
// for each batch.
func TestMetricOfAnAgentThatMakesNoCalls(t *testing.T) {
	d := tripping(t)
	var out, log bytes.Buffer
	f, err := newFunction(d.Lookup, &out, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	refused := strings.ReplaceAll(reply("pay", "payment", core.OutcomeRetryLater), `"busy"`, `"unauthorized"`)
	d.take(f, "intake", "AIDASHOP", submission("o-1"), submission("o-2"))
	d.take(f, "replies", "AROAAGENT:x", reply("seat", "inventory", core.OutcomeRetryLater))
	require.Zero(t, out.Len())
	d.take(f, "replies", "AROAAGENT:x", refused, strings.ReplaceAll(refused, "o-1", "o-2"))
	var line struct {
		AWS struct {
			Timestamp         int64
			CloudWatchMetrics json.RawMessage
		} `json:"_aws"`
		Deployment, Agent string
		NotCalled         int
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "Shop/Engine", line.Deployment)
	require.Equal(t, "payment", line.Agent)
	require.Equal(t, 2, line.NotCalled)
	require.NotZero(t, line.AWS.Timestamp)
	out.Reset()
	d.take(f, "intake", "AIDASHOP", submission("o-3"))
	// its service works
	d.take(f, "replies", "AROAAGENT:x",
		strings.NewReplacer("o-1", "o-3", "unauthorized", core.CodeNotYet).Replace(refused))
	require.Zero(t, out.Len())
	const want = `[{"Dimensions":[["Deployment","Agent"]],"Metrics":[{"Name":"NotCalled","Unit":"Count"}],"Namespace":"Stepkeeper"}]`
	require.Equal(t, want, string(line.AWS.CloudWatchMetrics))
	pay := strings.Fields(d.shown("o-1", "pay"))
	require.Equal(t, "Pending", pay[0])
	require.Equal(t, "0", pay[3], "it counts as no failure")
	const lost = "a metric could not be written"
	require.NotContains(t, log.String(), lost)
	f, err = newFunction(d.Lookup, noSpace{},
		slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	d.take(f, "intake", "AIDASHOP", submission("o-4"))
	d.take(f, "replies", "AROAAGENT:x", strings.ReplaceAll(refused, "o-1", "o-4"))
	text := log.String()
	require.Contains(t, text, lost)
	require.Contains(t, text, "Agent=payment")
	require.Contains(t, text, "no space")
}

// A reply-to that gets no statuses is counted, and the order goes on (P12b, a status delays nothing else).
func TestMetricOfStatusesThatCouldNotBeSent(t *testing.T) {
	d := tripping(t)
	var out bytes.Buffer
	f, err := newFunction(d.Lookup, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	d.Refuse(func(queue, _ string) (failed, senderFault bool) { return queue == "shop", true })
	require.Empty(t, d.take(f, "intake", "AIDASHOP", submission("o-1")))
	require.NotEmpty(t, d.Sent("requests-inventory"), "the order goes on")
	var line struct {
		AWS struct {
			CloudWatchMetrics json.RawMessage
		} `json:"_aws"`
		Deployment, ReplyTo string
		StatusesNotSent     int
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line), out.String())
	require.Equal(t, "Shop/Engine shop", line.Deployment+" "+line.ReplyTo)
	require.Positive(t, line.StatusesNotSent)
	const want = `[{"Dimensions":[["Deployment","ReplyTo"]],"Metrics":[{"Name":"StatusesNotSent","Unit":"Count"}],` +
		`"Namespace":"Stepkeeper"}]`
	require.JSONEq(t, want, string(line.AWS.CloudWatchMetrics))
}

// The function writes an ended order as a metric, if the deployment asks for it.
func TestMetricsOfEndedOrders(t *testing.T) {
	for on, want := range map[string]int{"": 0, "true": 1} {
		d := tripping(t)
		d.Settings["STEPKEEPER_OUTCOMES"] = on
		var out bytes.Buffer
		f, err := newFunction(d.Lookup, &out, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		d.take(f, "intake", "AIDASHOP", strings.ReplaceAll(submission("o-1"), "trip", "pivot"))
		require.Zero(t, out.Len())
		d.take(f, "replies", "AROAAGENT:x", reply("pay", "payment", core.OutcomeDone))
		const ended = `"OrdersEnded":1,"State":"Processed","Workflow":"pivot"`
		require.Equal(t, want, strings.Count(out.String(), ended), "%v", on)
		require.Equal(t, want, strings.Count(out.String(), "\n"), "%v", on)
	}
}

// The function sends a span of each handling before it returns, if the deployment names a collector.
func TestSpansOfTheScheduler(t *testing.T) {
	bodies := make(chan string, 1)
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		bodies <- string(body)
	}))
	defer c.Close()
	d := tripping(t)
	d.Settings["OTEL_EXPORTER_OTLP_ENDPOINT"] = c.URL
	d.take(d.instance("one"), "intake", "AIDASHOP", submission("o-1"))
	select {
	case got := <-bodies:
		require.Contains(t, got, `"Shop/Engine"`)
		require.Contains(t, got, `"o-1"`)
	default:
		t.Error("no spans were sent")
	}
}

// noSpace is a writer that fails.
type noSpace struct{}

func (noSpace) Write([]byte) (int, error) { return 0, errors.New("no space") }
