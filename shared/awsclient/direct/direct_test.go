package direct_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/direct"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// served returns a configuration whose calls a test answers.
func served(t *testing.T, answer http.HandlerFunc) aws.Config {
	t.Helper()
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	c := awsstub.ConfigAt(t, server.URL)
	c.Retryer = func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) { o.MaxBackoff = time.Millisecond })
	}
	return c
}

// A form goes out, and XML comes back.
func TestQuery(t *testing.T) {
	var got awsstub.Call
	c := awsstub.Config(t, func(call awsstub.Call) (int, string) {
		got = call
		return 200, `<?xml version="1.0"?><PublishResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">` +
			`<PublishResult><MessageId>m-1</MessageId></PublishResult></PublishResponse>`
	})
	var out struct {
		ID string `xml:"PublishResult>MessageId"`
	}
	err := direct.New(c, direct.SNS).Query(t.Context(), "Publish", url.Values{"Message": {"ü & =+ %"}}, &out)
	require.NoError(t, err)
	require.Equal(t, "m-1", out.ID)
	require.Equal(t, "sns:Publish", got.Action)
	require.Equal(t, "eu-central-1", got.Region)
	require.Empty(t, cmp.Diff(url.Values{"Action": {"Publish"}, "Version": {"2010-03-31"}, "Message": {"ü & =+ %"}},
		got.Form))
	require.Equal(t, "application/x-www-form-urlencoded", got.Header.Get("Content-Type"))
	require.Contains(t, got.Header.Get("User-Agent"), "api/sns")
}

// JSON goes out with the name of the operation in a header, and JSON comes back.
func TestJSON(t *testing.T) {
	var got awsstub.Call
	c := awsstub.Config(t, func(call awsstub.Call) (int, string) {
		got = call
		return 200, `{"status":"RUNNING"}`
	})
	var out struct{ Status string }
	err := direct.New(c, direct.StepFunctions).JSON(t.Context(), "DescribeExecution",
		map[string]string{"executionArn": "x"}, &out)
	require.NoError(t, err)
	require.Equal(t, "RUNNING", out.Status)
	require.Equal(t, "states:DescribeExecution", got.Action)
	require.JSONEq(t, `{"executionArn":"x"}`, got.Body)
	require.Equal(t, "AWSStepFunctions.DescribeExecution", got.Header.Get("X-Amz-Target"))
	require.Equal(t, "application/x-amz-json-1.0", got.Header.Get("Content-Type"))
}

// A server that signs what it received as AWS does finds the same signature.
func TestSignature(t *testing.T) {
	type signed struct {
		service direct.Service
		name    string
		request direct.Request
	}
	for name, c := range map[string]signed{
		"a form": {direct.SNS, "sns", direct.Request{Body: []byte("Action=Publish")}},
		"a path with an ARN": {direct.Lambda, "lambda", direct.Request{
			Method: http.MethodGet,
			Path:   "/2015-03-31/functions/arn%3Aaws%3Alambda/x",
		}},
		"a key of S3": {direct.S3, "s3", direct.Request{
			Method: http.MethodPut, Path: "/bucket/a%20b/c.zip",
			Body: []byte("zip"),
		}},
	} {
		t.Run(name, func(t *testing.T) {
			var want, got string
			var failed error
			config := served(t, func(_ http.ResponseWriter, r *http.Request) {
				got = r.Header.Get("Authorization")
				want, failed = signature(r, c.name)
			})
			config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "token"}, nil
			})
			_, err := direct.New(config, c.service).Do(t.Context(), c.request)
			require.NoError(t, err)
			require.NoError(t, failed)
			require.NotEmpty(t, got)
			require.Equal(t, want, got)
		})
	}
}

// signature signs a request that has arrived with the headers that the client signed.
func signature(r *http.Request, service string) (string, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	at, err := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
	if err != nil {
		return "", err
	}
	again, err := http.NewRequest(r.Method, "http://"+r.Host+r.URL.RequestURI(), strings.NewReader(string(body)))
	if err != nil {
		return "", err
	}
	_, names, _ := strings.Cut(r.Header.Get("Authorization"), "SignedHeaders=")
	names, _, _ = strings.Cut(names, ",")
	for name := range strings.SplitSeq(names, ";") {
		if value := r.Header.Values(name); len(value) > 0 {
			again.Header[http.CanonicalHeaderKey(name)] = value
		}
	}
	sum := sha256.Sum256(body)
	err = v4.NewSigner(func(o *v4.SignerOptions) { o.DisableURIPathEscaping = service == "s3" }).SignHTTP(
		context.Background(), aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "secret", SessionToken: "token"},
		again, hex.EncodeToString(sum[:]), service, "eu-central-1", at)
	return again.Header.Get("Authorization"), err
}

// Errors have the code and the text of the service, whatever its protocol.
func TestErrors(t *testing.T) {
	for name, c := range map[string]struct {
		status     int
		header     string // X-Amzn-ErrorType
		body       string
		code, text string
	}{
		"XML of the query protocol": {403, "", `<ErrorResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/">` +
			`<Error><Type>Sender</Type><Code>AuthorizationError</Code><Message>ann may not</Message></Error>` +
			`<RequestId>r</RequestId></ErrorResponse>`, "AuthorizationError", "ann may not"},
		"XML of S3": {
			409, "", `<Error><Code>BucketAlreadyOwnedByYou</Code><Message>yours</Message></Error>`,
			"BucketAlreadyOwnedByYou", "yours",
		},
		"type in JSON": {
			400, "", `{"__type":"com.amazonaws.states#ExecutionDoesNotExist","message":"none"}`,
			"ExecutionDoesNotExist", "none",
		},
		"type in a header": {
			404, "ResourceNotFoundException:http://x/", `{"Type":"User","Message":"no function"}`,
			"ResourceNotFoundException", "no function",
		},
		"code in JSON": {400, "", `{"code":"InvalidName"}`, "InvalidName", "InvalidName"},
		"no code":      {400, "", `{}`, "UnknownError", "UnknownError"},
		"no body":      {404, "", ``, "UnknownError", "UnknownError"},
	} {
		t.Run(name, func(t *testing.T) {
			config := served(t, func(w http.ResponseWriter, _ *http.Request) {
				if c.header != "" {
					w.Header().Set("X-Amzn-Errortype", c.header)
				}
				w.Header().Set("X-Amzn-Requestid", "r-1")
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			_, err := direct.New(config, direct.Lambda).Do(t.Context(), direct.Request{Operation: "Invoke"})
			var api smithy.APIError
			require.ErrorAs(t, err, &api)
			require.Equal(t, c.code, api.ErrorCode())
			require.Equal(t, c.code, direct.Code(err))
			require.Equal(t, c.text, api.ErrorMessage())
			var response *awshttp.ResponseError
			require.ErrorAs(t, err, &response)
			require.Equal(t, c.status, response.HTTPStatusCode())
			require.Equal(t, "r-1", response.RequestID)
			require.ErrorContains(t, err, "operation error Lambda: Invoke")
		})
	}
}

// A response that is not of the service is no error of the service, and is not read without a bound.
func TestForeignResponses(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a page of a proxy":       {403, "<html><p>blocked", "reading the error"},
		"a page in XML":           {403, "<html><p>blocked</p></html>", "it has no code"},
		"a text of a proxy":       {403, "blocked", "reading the error"},
		"a page instead of XML":   {200, "hello", "EOF"},
		"more than can be stored": {200, strings.Repeat(" ", 32<<20+1), "too large"},
	} {
		t.Run(name, func(t *testing.T) {
			config := served(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			config.HTTPClient = http.DefaultClient // has no bound of its own
			err := direct.New(config, direct.SNS).Query(t.Context(), "Publish", nil, &struct{}{})
			var foreign *smithy.DeserializationError
			require.ErrorAs(t, err, &foreign)
			require.ErrorContains(t, err, c.want)
			require.Empty(t, direct.Code(err))
		})
	}
}

// Throttles and failures are repeated, other refusals are not.
func TestAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		status   int
		body     string
		attempts int
	}{
		"throttled": {400, `<ErrorResponse><Error><Code>Throttling</Code></Error></ErrorResponse>`, 4},
		"failed":    {503, `<html>`, 4},
		"refused":   {403, `<ErrorResponse><Error><Code>AccessDenied</Code></Error></ErrorResponse>`, 1},
	} {
		t.Run(name, func(t *testing.T) {
			var bodies []string
			config := served(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				bodies = append(bodies, string(body))
				w.WriteHeader(c.status)
				_, _ = io.WriteString(w, c.body)
			})
			err := direct.New(config, direct.SNS).Query(t.Context(), "Publish", nil, nil)
			require.Error(t, err)
			require.Len(t, bodies, c.attempts)
			for _, body := range bodies {
				require.Equal(t, "Action=Publish&Version=2010-03-31", body)
			}
		})
	}
}

// A clock that is wrong is corrected by the time in the response.
func TestClockThatIsWrong(t *testing.T) {
	ahead := time.Now().Add(20 * time.Minute)
	var times []time.Time
	config := served(t, func(w http.ResponseWriter, r *http.Request) {
		at, _ := time.Parse("20060102T150405Z", r.Header.Get("X-Amz-Date"))
		times = append(times, at)
		w.Header().Set("Date", ahead.UTC().Format(http.TimeFormat))
		if at.Before(ahead.Add(-5 * time.Minute)) {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `<ErrorResponse><Error><Code>SignatureDoesNotMatch</Code></Error></ErrorResponse>`)
		}
	})
	client := direct.New(config, direct.SNS)
	response, err := client.Do(t.Context(), direct.Request{Operation: "Publish"})
	require.NoError(t, err)
	require.Len(t, times, 2)
	server, known := awsmiddleware.GetServerTime(response.Metadata)
	require.True(t, known)
	require.WithinDuration(t, ahead, server, time.Second)
	_, err = client.Do(t.Context(), direct.Request{Operation: "Publish"})
	require.NoError(t, err)
	require.Len(t, times, 3) // the client knows the time now
}

// The limits of a configuration are those of the calls.
func TestLimits(t *testing.T) {
	hang := make(chan struct{})
	config := served(t, func(http.ResponseWriter, *http.Request) { <-hang })
	t.Cleanup(func() { close(hang) })
	ctx := wire.WithCallTimeout(t.Context(), 30*time.Millisecond)
	_, err := direct.New(config, direct.SNS).Do(ctx, direct.Request{Operation: "Publish"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	config.RetryMaxAttempts = 1
	_, err = direct.New(config, direct.SNS, wire.LimitAttempts(10*time.Millisecond)).Do(t.Context(),
		direct.Request{Operation: "Publish"})
	require.ErrorContains(t, err, "no answer within 10ms")
}

// Without credentials nothing is sent.
func TestNoCredentials(t *testing.T) {
	sent := false
	config := served(t, func(http.ResponseWriter, *http.Request) { sent = true })
	none := errors.New("the session has ended")
	config.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{}, none
	})
	_, err := direct.New(config, direct.SNS).Do(t.Context(), direct.Request{Operation: "Publish"})
	require.ErrorIs(t, err, none)
	require.ErrorContains(t, err, "get identity: get credentials")
	config.Credentials = nil
	_, err = direct.New(config, direct.SNS).Do(t.Context(), direct.Request{Operation: "Publish"})
	require.ErrorContains(t, err, "there are no credentials")
	require.False(t, sent)
}

// hosts is an HTTP client that keeps the hosts that are called, and the Regions of the signatures.
type hosts []string

func (h *hosts) Do(r *http.Request) (*http.Response, error) {
	_, scope, _ := strings.Cut(r.Header.Get("Authorization"), "Credential=stub/")
	*h = append(*h, r.URL.Scheme+"://"+r.URL.Host+" "+strings.Split(scope, "/")[1])
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: http.NoBody}, nil
}

// Each service is called where AWS has it, with the signature of that Region.
func TestEndpointsOfAWS(t *testing.T) {
	for _, c := range []struct {
		region     string
		service    direct.Service
		fips, dual string
		want       string
	}{
		{"eu-central-1", direct.SNS, "", "", "https://sns.eu-central-1.amazonaws.com eu-central-1"},
		{"eu-central-1", direct.CloudWatch, "", "", "https://monitoring.eu-central-1.amazonaws.com eu-central-1"},
		{"eu-central-1", direct.SyncExecutions, "", "", "https://sync-states.eu-central-1.amazonaws.com eu-central-1"},
		{"cn-north-1", direct.Lambda, "", "", "https://lambda.cn-north-1.amazonaws.com.cn cn-north-1"},
		{"eusc-de-east-1", direct.SNS, "", "", "https://sns.eusc-de-east-1.amazonaws.eu eusc-de-east-1"},
		{"us-isob-east-1", direct.SNS, "", "", "https://sns.us-isob-east-1.sc2s.sgov.gov us-isob-east-1"},
		{"us-east-2", direct.CloudFormation, "true", "", "https://cloudformation-fips.us-east-2.amazonaws.com us-east-2"},
		{"us-east-2", direct.Lambda, "true", "true", "https://lambda-fips.us-east-2.api.aws us-east-2"},
		{"us-east-2", direct.EventBridge, "", "true", "https://events.us-east-2.api.aws us-east-2"},
		{"us-gov-west-1", direct.SNS, "true", "", "https://sns.us-gov-west-1.amazonaws.com us-gov-west-1"},
		{"us-gov-west-1", direct.Lambda, "true", "", "https://lambda-fips.us-gov-west-1.amazonaws.com us-gov-west-1"},
		{"eu-central-1", direct.IAM, "", "", "https://iam.amazonaws.com us-east-1"},
		{"eu-central-1", direct.IAM, "true", "", "https://iam-fips.amazonaws.com us-east-1"},
		{"eu-central-1", direct.IAM, "", "true", "https://iam.global.api.aws us-east-1"},
		{"cn-northwest-1", direct.IAM, "", "", "https://iam.cn-north-1.amazonaws.com.cn cn-north-1"},
		{"us-gov-east-1", direct.IAM, "", "", "https://iam.us-gov.amazonaws.com us-gov-west-1"},
	} {
		t.Run(c.want, func(t *testing.T) {
			environment(t, map[string]string{"AWS_USE_FIPS_ENDPOINT": c.fips, "AWS_USE_DUALSTACK_ENDPOINT": c.dual})
			var called hosts
			sdk, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(c.region))
			require.NoError(t, err)
			sdk.HTTPClient = &called
			_, err = direct.New(sdk, c.service).Do(t.Context(), direct.Request{Operation: "X"})
			require.NoError(t, err)
			require.Equal(t, hosts{c.want}, called)
		})
	}
	config := awsstub.ConfigAt(t, "")
	var called hosts
	config.HTTPClient = &called
	_, err := direct.New(config, direct.S3).Do(t.Context(), direct.Request{Path: "//evil.example/key?x#y"})
	require.NoError(t, err)
	require.Equal(t, hosts{"https://s3.eu-central-1.amazonaws.com eu-central-1"}, called)
	config.Region = "evil.example/"
	_, err = direct.New(config, direct.SNS).Do(t.Context(), direct.Request{Operation: "X"})
	require.ErrorContains(t, err, `"evil.example/" is no AWS region`)
}

// environment keeps the user's own settings out, and sets variables.
func environment(t *testing.T, more map[string]string) {
	t.Helper()
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": "stub", "AWS_SECRET_ACCESS_KEY": "stub",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_SHARED_CREDENTIALS_FILE": t.TempDir() + "/none",
		"AWS_CONFIG_FILE": t.TempDir() + "/none",
	} {
		t.Setenv(name, value)
	}
	for name, value := range more {
		if value != "" {
			t.Setenv(name, value)
		}
	}
}

// The variable of one service goes before the variable of all.
func TestConfiguredEndpoints(t *testing.T) {
	const all, one = "http://127.0.0.1:1", "http://127.0.0.1:2/path"
	for name, c := range map[string]struct {
		env  map[string]string
		want string
	}{
		"all":     {map[string]string{"AWS_ENDPOINT_URL": all}, all},
		"one":     {map[string]string{"AWS_ENDPOINT_URL": all, "AWS_ENDPOINT_URL_SNS": one}, "http://127.0.0.1:2"},
		"another": {map[string]string{"AWS_ENDPOINT_URL": all, "AWS_ENDPOINT_URL_SQS": one}, all},
		"ignored": {
			map[string]string{"AWS_ENDPOINT_URL_SNS": one, "AWS_IGNORE_CONFIGURED_ENDPOINT_URLS": "true"},
			"https://sns.eu-central-1.amazonaws.com",
		},
	} {
		t.Run(name, func(t *testing.T) {
			environment(t, c.env)
			var called hosts
			sdk, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("eu-central-1"))
			require.NoError(t, err)
			sdk.HTTPClient = &called
			_, err = direct.New(sdk, direct.SNS).Do(t.Context(), direct.Request{Operation: "X"})
			require.NoError(t, err)
			require.Equal(t, hosts{c.want + " eu-central-1"}, called)
		})
	}
	_, err := direct.New(awsstub.ConfigAt(t, "localhost:4566"), direct.SNS).Do(t.Context(), direct.Request{})
	require.ErrorContains(t, err, "no address that begins with http://")
}
