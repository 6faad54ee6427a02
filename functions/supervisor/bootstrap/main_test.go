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
)

// Metrics that cannot be written fail the tick, so that the alarm of missed sweeps sees it.
func TestMetricsThatCannotBeWritten(t *testing.T) {
	f, err := newFunction(environment, writer{}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 2100*time.Millisecond)
	defer cancel()
	require.ErrorContains(t, f(ctx, json.RawMessage(`{}`)), "metrics of a sweep: the disk is full")
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

// Rule 16: a sweep without a store fails early enough to report, and its metric is in the log all the same.
func TestPutTogether(t *testing.T) {
	var out, log bytes.Buffer
	f, err := newFunction(environment, &out, slog.New(slog.NewTextHandler(&log, nil)))
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
	require.Equal(t, "Shop", line.Deployment)
	require.Equal(t, "Stepkeeper", line.AWS.CloudWatchMetrics[0].Namespace)
	_, err = newFunction(func(string) (string, bool) { return "", false }, &out, nil)
	require.ErrorContains(t, err, "AWS_REGION")
	require.ErrorContains(t, err, "STEPKEEPER_ORDERS")
}
