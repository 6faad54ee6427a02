package secrets_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/secrets"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// A program asks for its secret by one name: on Lambda it is kept elsewhere, beside dev it is the
// variable.
func TestValues(t *testing.T) {
	s := awsstub.New(t)
	now := time.Now()
	v, err := secrets.Environment(s.Environment(map[string]string{
		deployment.VarSecrets: `{"TOKEN":{"secret":"arn:token"},"KEY":{"parameter":"/pay/key"}}`,
		"PLAIN":               "as it is",
	}), func() time.Time { return now })
	require.NoError(t, err)
	require.Empty(t, s.Calls())
	get := func(name, want string) {
		t.Helper()
		got, err := v.Get(context.Background(), name)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	asked := func(want string) {
		t.Helper()
		require.Equal(t, want, strings.Join(s.Calls(), ", "))
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = v.Get(ended, "TOKEN")
	require.ErrorIs(t, err, context.Canceled)
	get("TOKEN", "s3cret")
	get("KEY", "p4ram")
	get("PLAIN", "as it is")
	asked("GetParameter /pay/key, GetSecretValue arn:token")
	now = now.Add(secrets.RenewAfter - 1)
	get("TOKEN", "s3cret")
	asked("")
	now = now.Add(1)
	get("TOKEN", "s3cret")
	asked("GetParameter /pay/key, GetSecretValue arn:token")
	s.Fail("secretsmanager:GetSecretValue")
	now = now.Add(secrets.RenewAfter)
	get("TOKEN", "s3cret") // what was read before stays
	_, err = v.Get(context.Background(), "OTHER")
	require.ErrorContains(t, err, "OTHER")
}

// What was made of secrets is made again when they are old, and what was made of none is not.
func TestMaxAge(t *testing.T) {
	with, without := secrets.MaxAge(map[string]deployment.Secret{"TOKEN": {}}), secrets.MaxAge(nil)
	require.Equal(t, 15*time.Minute, with)
	require.GreaterOrEqual(t, without, 1000*time.Hour)
}

// Operations that ask at the same time have the secrets read once.
func TestValuesAreReadOnce(t *testing.T) {
	s := awsstub.New(t)
	v, err := secrets.Environment(
		s.Environment(map[string]string{deployment.VarSecrets: `{"TOKEN":{"secret":"arn:token"}}`}), time.Now)
	require.NoError(t, err)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if got, err := v.Get(context.Background(), "TOKEN"); err != nil || got != "s3cret" {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
	all.Wait()
	require.Len(t, s.Calls(), 1)
}

func TestValuesThatCannotBeRead(t *testing.T) {
	s := awsstub.New(t)
	s.Fail("secretsmanager:GetSecretValue")
	v, err := secrets.Environment(
		s.Environment(map[string]string{deployment.VarSecrets: `{"TOKEN":{"secret":"arn:token"}}`}), time.Now)
	require.NoError(t, err)
	_, err = v.Get(context.Background(), "TOKEN")
	require.ErrorContains(t, err, "secret TOKEN")
	for name, env := range map[string]map[string]string{
		deployment.VarSecrets: {deployment.VarSecrets: `{"TOKEN":{}}`},
		"AWS_REGION":          {deployment.VarSecrets: `{"TOKEN":{"secret":"arn:token"}}`, "AWS_REGION": ""},
	} {
		_, err := secrets.Environment(s.Environment(env), time.Now)
		require.ErrorContains(t, err, name)
	}
}
