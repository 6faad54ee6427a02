package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/cloudtest"
)

// Metrics that cannot be written fail the tick, so that the alarm of missed sweeps sees it.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	f, err := newFunction(unreachable(t).Lookup, writer{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, f(ctx, json.RawMessage(`{}`)), "metrics of a sweep: the disk is full")
}

type writer struct{}

func (writer) Write([]byte) (int, error) { return 0, errors.New("the disk is full") }

// unreachable is a deployment without AWS.
func unreachable(t *testing.T) *cloudtest.Deployment {
	t.Helper()
	d := cloudtest.New(t)
	d.Settings["AWS_ENDPOINT_URL"] = "http://127.0.0.1:1"
	return d
}

// Rule 16: a sweep without a store fails early enough to report, and its metric is in the log all the same.
func TestPutTogether(t *testing.T) {
	var out, log bytes.Buffer
	f, err := newFunction(unreachable(t).Lookup, &out, slog.New(slog.NewTextHandler(&log, nil)))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond)
	defer cancel()
	require.Error(t, f(ctx, json.RawMessage(`{}`)), "a sweep without a store went well")
	require.NoError(t, ctx.Err(), "the function's time was over")
	require.Contains(t, log.String(), "a sweep failed in part")
	var line struct {
		Deployment    string
		OldestOverdue float64
		AWS           struct {
			CloudWatchMetrics []struct{ Namespace string }
		} `json:"_aws"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "Shop/Engine", line.Deployment)
	require.Equal(t, "Stepkeeper", line.AWS.CloudWatchMetrics[0].Namespace)
	_, err = newFunction(func(string) (string, bool) { return "", false }, &out, nil)
	require.ErrorContains(t, err, "AWS_REGION")
	require.ErrorContains(t, err, "STEPKEEPER_ORDERS")
}
