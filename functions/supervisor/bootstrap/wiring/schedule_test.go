package wiring_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/supervisor"
	"github.com/stepkeeper/stepkeeper/functions/supervisor/bootstrap/wiring"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
)

// Rule 16: each tick runs one sweep, which ends early enough to report. A failure is an error for Lambda, and
// the sweep is reported all the same.
func TestTick(t *testing.T) {
	broken := errors.New("throttled")
	sweeps := 0
	reports := 0
	var log bytes.Buffer
	now := time.Now()
	tick := wiring.Tick{
		Now: func() time.Time { return now }, Log: slog.New(slog.NewTextHandler(&log, nil)),
		Sweep: func(ctx context.Context) (supervisor.Report, error) {
			if end, bounded := ctx.Deadline(); !bounded || time.Until(end) > 59*time.Second {
				t.Errorf("the sweep may last until %v", end)
			}
			sweeps++
			return supervisor.Report{Overdue: 3}, broken
		},
		Report: func(r supervisor.Report, at time.Time) error {
			if r.Overdue == 3 && at.Equal(now) {
				reports++
			}
			return nil
		},
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := tick.Run(ctx, nil); !errors.Is(err, broken) || sweeps != 1 || reports != 1 {
		t.Errorf("%d sweeps, %d reports, %v", sweeps, reports, err)
	}
	text := log.String()
	require.Equal(t, 1, strings.Count(text, "msg=swept"))
	require.Equal(t, 1, strings.Count(text, "a sweep failed in part"))
	for line, found := range map[string]supervisor.Report{
		"": {Started: 2}, "msg=swept": {Failed: 1},
		"truncated=true": {Truncated: true},
	} {
		log.Reset()
		tick.Sweep = func(context.Context) (supervisor.Report, error) { return found, nil }
		require.NoError(t, tick.Run(ctx, nil), "%v", found)
		require.Equal(t, log.Len() == 0, line == "", "%v", found)
		require.Contains(t, log.String(), line, "%v", found)
	}
}

// Metrics that cannot be written fail the tick, so that the alarm of missed sweeps sees it.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	f, err := wiring.New(environment, writer{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond)
	defer cancel()
	if err := f(ctx, json.RawMessage(`{}`)); err == nil ||
		!strings.Contains(err.Error(), "metrics of a sweep: the disk is full") {
		t.Error(err)
	}
}

type writer struct{}

func (writer) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

func environment(name string) (string, bool) {
	v, ok := map[string]string{
		"STEPKEEPER_QUEUES": `{"intake":"http://127.0.0.1:1/1/i","replies":"http://127.0.0.1:1/1/r","control":"http://127.0.0.1:1/1/c","quarantine":"http://127.0.0.1:1/1/q"}`,
		"STEPKEEPER_ORDERS": "o", "STEPKEEPER_DEFINITIONS": "d", "STEPKEEPER_SHARDS": "2",
		"STEPKEEPER_ALERTS": "arn:aws:sns:eu-central-1:1:a", "STEPKEEPER_STACK": "Shop",
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "s",
		"AWS_ENDPOINT_URL": "http://127.0.0.1:1",
	}[name]
	return v, ok
}

// The wired function makes no call at the start. A sweep without a store fails, and its metric is in the log
// all the same.
func TestPutTogether(t *testing.T) {
	var out bytes.Buffer
	f, err := wiring.New(environment, &out, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond)
	defer cancel()
	require.Error(t, f(ctx, json.RawMessage(`{}`)), "a sweep without a store went well")
	var line struct {
		Deployment    string
		OldestOverdue float64
		AWS           struct {
			CloudWatchMetrics []struct{ Namespace string }
		} `json:"_aws"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "Shop", line.Deployment)
	require.Equal(t, "Stepkeeper", line.AWS.CloudWatchMetrics[0].Namespace)
	if _, err := wiring.New(func(string) (string, bool) {
		return "", false
	}, &out, nil); err == nil || !strings.Contains(err.Error(), "AWS_REGION") ||
		!strings.Contains(err.Error(),
			"STEPKEEPER_ORDERS") {
		t.Error("what is missing is not reported at once: " + fmt.Sprint(err))
	}
}

// Rule 17: the pages of a sweep are bounded as the deployment says. Each bucket of a shard has a page here.
func TestPagesOfASweep(t *testing.T) {
	for pages, want := range map[string]int{"": 4, "1": 1} { // due and damaged tasks
		s := awsstub.New(t)
		inner := s.Config.Handler
		s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
				inner.ServeHTTP(w, r)
				return
			}
			_, _ = io.WriteString(w,
				`{"Count":1,"Items":[{"OrderID":{"S":"gone"},"bucket":{"S":"due#0"},"dueAt":{"N":"1795262400000"}}]}`)
		})
		var out bytes.Buffer
		f, err := wiring.New(func(name string) (string, bool) {
			switch name {
			case "AWS_ENDPOINT_URL":
				return s.URL, true
			case "STEPKEEPER_SWEEP_PAGES":
				return pages, pages != ""
			}
			return environment(name)
		}, &out, slog.New(slog.DiscardHandler))
		require.NoError(t, err)
		require.NoError(t, f(context.Background(), nil))
		var line struct{ Scanned int }
		require.NoError(t, json.Unmarshal(out.Bytes(), &line), "%v %v", pages, want)
		require.Equal(t, want, line.Scanned, "%v %v", pages, want)
	}
}
