package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// payment is the remote service: it charges who knows the secret.
func payment(t *testing.T) *httptest.Server {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" ||
			r.Header.Get("Idempotency-Key") != "o-1/0/charge" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		_, _ = io.WriteString(w, `{"chargeId":"c-1"}`)
	}))
	t.Cleanup(srv.Close)
	return srv
}

func folder(t *testing.T, url string) string {
	t.Helper()
	raw, err := agentsfile.Read([]byte("agents: {payment: {url: " + url +
		", headers: {Authorization: 'Bearer ${env:TOKEN}'}}}"))
	require.NoError(t, err)
	data, err := settings.Encode(raw)
	require.NoError(t, err)
	root := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(root, deployment.AgentFile), data, 0o600))
	return root
}

func variables(s *awsstub.Stub, root string) map[string]string {
	return map[string]string{
		"LAMBDA_TASK_ROOT": root, deployment.VarAgent: "payment",
		deployment.VarQueues:  s.Queues("requests-payment", "replies", "quarantine"),
		deployment.VarSecrets: `{"TOKEN":{"secret":"arn:token"}}`,
	}
}

func request(t *testing.T, grade core.Grade, stopBy time.Time) events.SQSEvent {
	t.Helper()
	body, err := json.Marshal(message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
		Agent: "payment", OrderID: "o-1", Step: "charge", Attempt: 1, Operation: core.Do, Name: "charge",
		Grade: grade,
		Key:   "o-1/0/charge", Timeout: 5 * core.Second, StopBy: core.TimeOf(stopBy),
		CompleteBy: core.TimeOf(stopBy),
	}})
	require.NoError(t, err)
	return events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m0", ReceiptHandle: "r0",
		Body: string(body), EventSourceARN: "arn:aws:sqs:eu-central-1:1:requests-payment",
	}}}
}

// The agent sends a span of each call, and its service gets that span as its parent.
func TestSpansOfTheAgent(t *testing.T) {
	spans := make(chan string, 1)
	parents := make(chan string, 1)
	c := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans <- string(body)
	}))
	defer c.Close()
	service := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		parents <- r.Header.Get("Traceparent")
	}))
	defer service.Close()
	s := awsstub.New(t)
	settings := variables(s, folder(t, service.URL))
	settings[deployment.VarTraces] = c.URL
	f, err := newFunction(s.Environment(settings), io.Discard, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	_, err = f(t.Context(), request(t, core.Idempotent, time.Now().Add(time.Minute)))
	require.NoError(t, err)
	parent := strings.Split(<-parents, "-")
	got := <-spans
	require.Len(t, parent, 4)
	require.Contains(t, got, `"traceId":"`+parent[1]+`"`)
	require.Contains(t, got, `"payment.charge"`)
}

func TestARequest(t *testing.T) {
	s := awsstub.New(t)
	f, err := newFunction(s.Environment(variables(s, folder(t, payment(t).URL))), io.Discard,
		slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	require.Empty(t, s.Calls(), "asked before there was work (rule 13)")
	answer, err := f(t.Context(), request(t, core.Idempotent, time.Now().Add(time.Minute)))
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
	require.Equal(t, []string{"GetSecretValue arn:token", "SendMessageBatch replies"}, s.Calls())
	require.Contains(t, s.Sent("replies")[0], `"outcome":"done"`)
}

// Requests that come while a secret cannot be read come again soon, each time a little later, and not
// only when the visibility timeout of six times the function's has passed; the log says which secret.
func TestSecretThatCannotBeRead(t *testing.T) {
	s := awsstub.New(t)
	log := awsstub.NewLog(t)
	f, err := newFunction(s.Environment(variables(s, folder(t, payment(t).URL))), io.Discard, log.Logger)
	require.NoError(t, err)
	s.Fail("secretsmanager:GetSecretValue")
	future := time.Now().Add(time.Minute)
	var e events.SQSEvent
	for i, received := range []string{"1", "2", "4", "9", ""} {
		r := request(t, core.Idempotent, future).Records[0]
		r.MessageId = fmt.Sprint("m", i)
		r.ReceiptHandle = fmt.Sprint("r", i)
		r.Attributes = map[string]string{"ApproximateReceiveCount": received}
		e.Records = append(e.Records, r)
	}
	answer, err := f(context.Background(), e)
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, len(e.Records))
	after := map[string]int{}
	for _, x := range s.Extended() {
		after[x.Receipt] = x.Seconds
	}
	for receipt, least := range map[string]int{"r0": 2, "r1": 4, "r2": 16, "r3": 180, "r4": 2} {
		got := after[receipt]
		require.GreaterOrEqual(t, got, least, receipt)
		require.LessOrEqual(t, got, min(least*3/2, 180), receipt)
	}
	line := awsstub.About(t, log.Lines(), "the agent is not ready")
	why, _ := line["error"].(string)
	require.Contains(t, why, `agent "payment"`)
	require.Contains(t, why, "secret TOKEN: arn:token")
	require.Contains(t, why, "role may read")
	require.InDelta(t, 5, line["messages"], 0)
	s.Allow("secretsmanager:GetSecretValue")
	_ = s.Calls()
	over, cancel := context.WithCancel(context.Background())
	cancel()
	answer, err = f(over, e)
	require.NoError(t, err)
	require.Len(t, answer.BatchItemFailures, len(e.Records))
	require.NotContains(t, s.Calls(), "GetSecretValue arn:token")
	answer, err = f(context.Background(), e)
	require.NoError(t, err)
	require.Empty(t, answer.BatchItemFailures)
}

// A secret whose value makes settings that cannot be used is found when there is work: each request
// stays, and the log says what is wrong, and not the value.
func TestSecretThatCannotBeUsed(t *testing.T) {
	for want, url := range map[string]string{
		"url is not an address": "'${env:TOKEN}', allow: {hosts: [payment.example]}",
		"certificate cannot be read": "https://payment.example, " +
			"auth: {certificate: {chain: '${env:TOKEN}', key: '${env:TOKEN}'}}",
	} {
		s := awsstub.New(t)
		log := awsstub.NewLog(t)
		f, err := newFunction(s.Environment(variables(s, folder(t, url))), io.Discard, log.Logger)
		require.NoError(t, err)
		answer, err := f(context.Background(), request(t, core.Idempotent, time.Now().Add(time.Minute)))
		require.NoError(t, err)
		require.Len(t, answer.BatchItemFailures, 1)
		line := awsstub.About(t, log.Lines(), "the agent is not ready")
		why, _ := line["error"].(string)
		require.Contains(t, why, "payment", want)
		require.Contains(t, why, want)
		require.NotContains(t, why, "s3cret", want)
	}
}

func TestCannotStart(t *testing.T) {
	s := awsstub.New(t)
	good := variables(s, folder(t, "https://payment.example"))
	other := maps.Clone(good)
	other[deployment.VarAgent] = "shipping"
	other[deployment.VarQueues] = s.Queues("requests-shipping", "replies", "quarantine")
	_, err := newFunction(s.Environment(other), io.Discard, nil)
	require.ErrorContains(t, err, `no agent "shipping"`)
	for name, c := range map[string]struct{ variable, value, want string }{
		"another agent's name": {deployment.VarAgent, "shipping", `lacks the queue "requests-shipping"`},
		"no secret":            {deployment.VarSecrets, "", "TOKEN is not set"},
		"no file":              {deployment.VarAgentConfig, "/nowhere/agent.json", "/nowhere/agent.json"},
		"no Region":            {"AWS_REGION", "", "AWS_REGION"},
	} {
		changed := map[string]string{}
		maps.Copy(changed, good)
		changed[c.variable] = c.value
		_, err := newFunction(s.Environment(changed), io.Discard, nil)
		require.ErrorContains(t, err, c.want, "%v", name)
	}
}
