package secrets_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/secrets"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// kept speaks as much of the two services as is needed.
func kept(c awsstub.Call) (int, string) {
	var in struct {
		SecretID       string `json:"SecretId"`
		Name           string
		WithDecryption bool
	}
	_ = json.Unmarshal([]byte(c.Body), &in)
	switch {
	case c.Action == "secretsmanager:GetSecretValue" && in.SecretID == "plain":
		return http.StatusOK, `{"SecretString":"swordfish"}`
	case c.Action == "secretsmanager:GetSecretValue" && in.SecretID == "object":
		return http.StatusOK, `{"SecretString":"{\"token\":\"t0ken\",\"n\":1}"}`
	case c.Action == "secretsmanager:GetSecretValue" && in.SecretID == "binary":
		return http.StatusOK, `{"SecretBinary":"c3dvcmRmaXNo"}`
	case c.Action == "ssm:GetParameter" && in.Name == "/pay/key" && in.WithDecryption:
		return http.StatusOK, `{"Parameter":{"Value":"k3y"}}`
	}
	return http.StatusBadRequest, `{"__type":"ResourceNotFoundException","message":"none"}`
}

func TestRead(t *testing.T) {
	r := secrets.New(awsstub.Config(t, kept))
	got, err := r.Read(context.Background(), map[string]deployment.Secret{
		"A": {Secret: "plain"}, "B": {Secret: "object", Field: "token"}, "C": {Parameter: "/pay/key"},
	})
	if err != nil || len(got) != 3 || got["A"] != "swordfish" || got["B"] != "t0ken" || got["C"] != "k3y" {
		t.Errorf("%v %v", got, err)
	}
	_, err = r.Read(context.Background(), map[string]deployment.Secret{
		"A": {Secret: "plain"}, "D": {Secret: "plain", Field: "token"}, "E": {Secret: "object", Field: "n"},
		"F": {Parameter: "none"}, "G": {Secret: "none"}, "H": {Secret: "binary"},
	})
	for _, want := range []string{"secret D", "secret E", "secret F", "secret G", "secret H"} {
		require.ErrorContains(t, err, want)
	}
	if err != nil && strings.Contains(err.Error(), "swordfish") {
		t.Errorf("a value is reported: %v", err)
	}
	ended, cancel := context.WithCancel(context.Background())
	cancel()
	for name, where := range map[string]deployment.Secret{
		"A": {Secret: "plain"},
		"C": {Parameter: "/pay/key"},
	} {
		got, err := r.Read(ended, map[string]deployment.Secret{name: where})
		require.ErrorIs(t, err, context.Canceled, name)
		require.Nil(t, got, name)
	}
}
