package secrets_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/secrets"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// kept speaks as much of the two services as is needed.
func kept(w http.ResponseWriter, r *http.Request) {
	var in struct {
		SecretID       string `json:"SecretId"`
		Name           string
		WithDecryption bool
	}
	_ = json.NewDecoder(r.Body).Decode(&in)
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	target := r.Header.Get("X-Amz-Target")
	switch {
	case target == "secretsmanager.GetSecretValue" && in.SecretID == "plain":
		fmt.Fprint(w, `{"SecretString":"swordfish"}`)
	case target == "secretsmanager.GetSecretValue" && in.SecretID == "object":
		fmt.Fprint(w, `{"SecretString":"{\"token\":\"t0ken\",\"n\":1}"}`)
	case target == "secretsmanager.GetSecretValue" && in.SecretID == "binary":
		fmt.Fprint(w, `{"SecretBinary":"c3dvcmRmaXNo"}`)
	case target == "AmazonSSM.GetParameter" && in.Name == "/pay/key" && in.WithDecryption:
		fmt.Fprint(w, `{"Parameter":{"Value":"k3y"}}`)
	default:
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, `{"__type":"ResourceNotFoundException","message":"none"}`)
	}
}

func TestRead(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(kept))
	defer srv.Close()
	c := awsstub.ConfigAt(t, srv.URL)
	r := secrets.New(c)
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
