package awsclient_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sort"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// No error of a client shows the credentials of its request, though AWS repeats the headers of a request whose
// signature it refuses.
func TestErrorsShowNoCredentials(t *testing.T) {
	const key, session = "AKIAIOSFODNN7EXAMPLE", "IQoJb3JpZ2luX2VjE+/Ym9ndXM="
	var signature string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, signature, _ = strings.Cut(r.Header.Get("Authorization"), "Signature=")
		var headers []string
		for name := range r.Header {
			headers = append(headers, strings.ToLower(name)+":"+r.Header.Get(name))
		}
		sort.Strings(headers)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(http.StatusForbidden)
		_ = json.NewEncoder(w).Encode(map[string]string{
			"__type": "SignatureDoesNotMatch",
			"message": "The request signature we calculated does not match the signature you provided.\n\nThe " +
				"Canonical String for this request should have been\n'POST\n/\n\n" + strings.Join(headers, "\n") + "'",
		})
	}))
	defer server.Close()
	environment := map[string]string{
		"AWS_REGION": "eu-central-1", "AWS_ACCESS_KEY_ID": key,
		"AWS_SECRET_ACCESS_KEY": "secret", "AWS_SESSION_TOKEN": session, "AWS_ENDPOINT_URL": server.URL,
	}
	for name, value := range environment {
		t.Setenv(name, value)
	}
	function, err := wire.Environment(func(name string) (string, bool) { return environment[name], true })
	require.NoError(t, err)
	command, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: server.URL})
	require.NoError(t, err)
	for name, c := range map[string]aws.Config{"a function": function, "a command": command} {
		_, queue := sqs.NewFromConfig(c).GetQueueUrl(t.Context(), &sqs.GetQueueUrlInput{QueueName: aws.String("q")})
		_, table := dynamodb.NewFromConfig(c).ListTables(t.Context(), &dynamodb.ListTablesInput{})
		for service, err := range map[string]error{"SQS": queue, "DynamoDB": table} {
			t.Run(name+", "+service, func(t *testing.T) {
				var refused smithy.APIError
				require.ErrorAs(t, err, &refused)
				require.Equal(t, "SignatureDoesNotMatch", refused.ErrorCode())
				for _, shown := range []string{err.Error(), refused.ErrorMessage(), fmt.Sprintf("%+v", refused)} {
					for _, secret := range []string{key, session, signature} {
						require.NotContains(t, shown, secret)
					}
					require.Contains(t, shown, "x-amz-security-token:[hidden]")
				}
			})
		}
	}
}
