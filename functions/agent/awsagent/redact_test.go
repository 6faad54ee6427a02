package awsagent_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
)

// An endpoint, such as an emulator or AWS itself in the text of SignatureDoesNotMatch, may repeat the credentials
// of a request. They are in no output and in no error.
func TestNoCredentialIsStored(t *testing.T) {
	const key, session = "AKIAIOSFODNN7EXAMPLE", "IQoJb3JpZ2luX2VjE+/Ym9ndXM="
	const invoke, express = "{invoke: '%s'}", "{startExecution: '%s', express: true}"
	function := arn("lambda", "function:reserve")
	machine := arn("states", "stateMachine:ship")
	for name, c := range map[string]struct {
		entry  string
		status int
		error  string // X-Amz-Function-Error
		body   func(text string) any
	}{
		"output": {
			fmt.Sprintf(invoke, function), 200, "",
			func(text string) any { return map[string]any{text: text, "deep": []string{text}} },
		},
		"output of an execution": {fmt.Sprintf(express, machine), 200, "", func(text string) any {
			out, _ := json.Marshal(text)
			return map[string]any{
				"executionArn": "x", "startDate": 1, "stopDate": 2, "status": "SUCCEEDED",
				"output": string(out),
			}
		}},
		"function failed": {
			fmt.Sprintf(invoke, function), 200, "Unhandled",
			func(text string) any { return map[string]any{"errorType": text, "errorMessage": "a " + text} },
		},
		"execution failed": {fmt.Sprintf(express, machine), 200, "", func(text string) any {
			return map[string]any{
				"executionArn": "x", "startDate": 1, "stopDate": 2, "status": "FAILED",
				"error": text, "cause": text,
			}
		}},
		"call refused": {fmt.Sprintf(express, machine), 403, "", func(text string) any {
			return map[string]any{"__type": "SignatureDoesNotMatch", "message": "canonical: " + text}
		}},
		"code of the refusal": {
			fmt.Sprintf(express, machine), 400, "",
			func(text string) any { return map[string]any{"__type": text, "message": "no"} },
		},
	} {
		for encoding, encode := range map[string]func(string) string{
			"as it is": func(text string) string { return text },
			"base64":   func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) },
			"form":     url.QueryEscape,
		} {
			for _, of := range []string{"key", "signature", "session"} {
				t.Run(name+", "+encoding+", "+of, func(t *testing.T) {
					secret := ""
					srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
						_, signature, _ := strings.Cut(r.Header.Get("Authorization"), "Signature=")
						secret = encode(map[string]string{
							"key": key, "signature": signature,
							"session": r.Header.Get("X-Amz-Security-Token"),
						}[of])
						w.Header().Set("Content-Type", "application/x-amz-json-1.0")
						if c.error != "" {
							w.Header().Set("X-Amz-Function-Error", c.error)
						}
						w.WriteHeader(c.status)
						_ = json.NewEncoder(w).Encode(c.body(secret))
					}))
					defer srv.Close()
					cfg := awsstub.ConfigAt(t, srv.URL)
					cfg.Credentials = credentials.NewStaticCredentialsProvider(key, "secret", session)
					out, f := run(t, cfg, entry(t, c.entry), call())
					shown := out
					if f != nil {
						shown = f.Code + " " + f.Error()
					}
					require.Contains(t, shown, "[hidden]")
					require.NotContains(t, shown, strings.TrimRight(secret, "=")[:len(secret)*3/4])
				})
			}
		}
	}
}
