package wire_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

func environment(more map[string]string) func(string) (string, bool) {
	env := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": "AKID",
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": "token",
	}
	maps.Copy(env, more)
	return func(name string) (string, bool) { v, ok := env[name]; return v, ok }
}

func TestEnvironment(t *testing.T) {
	var calls atomic.Int32
	var authorization, token string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		authorization = r.Header.Get("Authorization")
		token = r.Header.Get("X-Amz-Security-Token")
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	c, err := wire.Environment(environment(map[string]string{"AWS_ENDPOINT_URL": srv.URL}))
	require.NoError(t, err)
	c.RetryMaxAttempts = 2
	start := time.Now()
	_, err = sqs.NewFromConfig(c).ListQueues(context.Background(), &sqs.ListQueuesInput{})
	require.Error(t, err)
	require.EqualValues(t, 2, calls.Load())
	require.LessOrEqual(t, time.Since(start), 5*time.Second)
	require.Contains(t, authorization, "Credential=AKID/")
	require.Contains(t, authorization, "/eu-central-1/")
	require.Equal(t, "token", token)
}

// AWS_ENDPOINT_URL_<SERVICE> goes before AWS_ENDPOINT_URL, for that service alone.
func TestEndpointOfOneService(t *testing.T) {
	var asked atomic.Value
	answer := func(who string) *httptest.Server {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Store(who)
			w.WriteHeader(http.StatusForbidden)
		}))
		t.Cleanup(srv.Close)
		return srv
	}
	general := answer("all").URL
	special := answer("one").URL
	for _, secrets := range []string{"", special} {
		more := map[string]string{"AWS_ENDPOINT_URL": general}
		if secrets != "" {
			more["AWS_ENDPOINT_URL_SECRETS_MANAGER"] = secrets
		}
		for name, value := range more { // the SDK looks whether they are there
			t.Setenv(name, value)
		}
		c, err := wire.Environment(environment(more))
		require.NoError(t, err)
		want := "all"
		if secrets != "" {
			want = "one"
		}
		_, _ = secretsmanager.NewFromConfig(c).GetSecretValue(t.Context(),
			&secretsmanager.GetSecretValueInput{SecretId: aws.String("s")})
		require.EqualValues(t, want, asked.Load())
		_, _ = sqs.NewFromConfig(c).ListQueues(t.Context(), &sqs.ListQueuesInput{})
		require.EqualValues(t, "all", asked.Load())
	}
}

// One error lists all missing variables.
func TestEnvironmentMissing(t *testing.T) {
	_, err := wire.Environment(func(string) (string, bool) { return "", false })
	for _, want := range []string{"AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		require.ErrorContains(t, err, want)
		_, err := wire.Environment(environment(map[string]string{want: ""}))
		require.Error(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), "is not set"), want)
		require.ErrorContains(t, err, want)
	}
}

// Rule 13: attempts, and how many connections are kept for each host, are stated, because the SDK's
// defaults change.
func TestDefaultsAreStated(t *testing.T) {
	c, err := wire.Environment(environment(nil))
	require.NoError(t, err)
	transport := wire.BuildableClient().GetTransport()
	for _, field := range []struct {
		name      string
		got, want any
	}{
		{"RetryMode", c.RetryMode, aws.RetryModeStandard},
		{"RetryMaxAttempts", c.RetryMaxAttempts, 4},
		{"Retryer().MaxAttempts()", c.Retryer().MaxAttempts(), 4},
		{"BaseEndpoint is nil", c.BaseEndpoint == nil, true},
		{"MaxIdleConnsPerHost", transport.MaxIdleConnsPerHost, 64},
		{"MaxIdleConns", transport.MaxIdleConns, 128},
	} {
		require.Equal(t, field.want, field.got, field.name)
	}
}

// A signed request is not sent to the address of a redirect.
func TestRedirectsAreNotFollowed(t *testing.T) {
	followed := false
	elsewhere := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed = true }))
	defer elsewhere.Close()
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	c, err := wire.Environment(environment(map[string]string{"AWS_ENDPOINT_URL": srv.URL}))
	require.NoError(t, err)
	_, err = sqs.NewFromConfig(c).ListQueues(t.Context(), &sqs.ListQueuesInput{})
	require.Error(t, err)
	require.False(t, followed, "followed %v, %v", followed, err)
}
