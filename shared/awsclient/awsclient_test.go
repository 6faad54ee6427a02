package awsclient

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/smithy-go/logging"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
)

// hasty replies to each request as soon as the headers have arrived, and reads the body afterwards. It counts
// connections and requests.
type hasty struct {
	listener        net.Listener
	conns, requests atomic.Int32
}

func newHasty(t *testing.T) *hasty {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	h := &hasty{listener: l}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			h.conns.Add(1)
			go h.serve(conn)
		}
	}()
	return h
}

func (h *hasty) serve(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			return
		}
		h.requests.Add(1)
		_, _ = io.WriteString(conn,
			"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: 2\r\n\r\n")
		_, _ = io.Copy(io.Discard, req.Body)
		_, _ = io.WriteString(conn, "{}")
	}
}

func load(t *testing.T, o Options) aws.Config {
	t.Helper()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID",
		"AWS_SECRET_ACCESS_KEY", "AWS_PROFILE", "AWS_ENDPOINT_URL",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	t.Setenv("AWS_CONFIG_FILE", t.TempDir()+"/none")
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", t.TempDir()+"/none")
	c, err := Load(context.Background(), o)
	require.NoError(t, err)
	return c
}

// If a server replies before it has read the body, the SDK with a plain transport repeats some calls that took effect.
// With the transport of package wire, each call is one request.
func TestTheSDKCallsOnce(t *testing.T) {
	h := newHasty(t)
	client := sqs.NewFromConfig(load(t, Options{Endpoint: "http://" + h.listener.Addr().String()}))
	body := strings.Repeat("x", 60<<10)
	for range 200 {
		_, err := client.GetQueueUrl(context.Background(),
			&sqs.GetQueueUrlInput{QueueName: &body})
		require.NoError(t, err)
	}
	require.EqualValues(t, 200, h.requests.Load())
}

func TestAttemptsAndTimeOfACall(t *testing.T) {
	var calls atomic.Int32
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		if r.Header.Get("X-Amz-Target") == "AmazonSQS.ListQueues" {
			select {
			case <-release:
			case <-r.Context().Done():
			}
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer srv.Close()
	defer close(release)
	c := load(t, Options{Endpoint: srv.URL})
	c.RetryMaxAttempts = 2
	client := sqs.NewFromConfig(c)
	name := "q"
	_, err := client.GetQueueUrl(context.Background(),
		&sqs.GetQueueUrlInput{QueueName: &name})
	require.Error(t, err)
	require.EqualValues(t, 2, calls.Load())
	ctx := wire.WithCallTimeout(context.Background(), 50*time.Millisecond)
	start := time.Now()
	_, err = client.ListQueues(ctx, &sqs.ListQueuesInput{})
	require.Error(t, err)
	require.LessOrEqual(t, time.Since(start), 5*time.Second)
}

// A call ends with the context that it was given, however long calls may take; a limit of one call's own
// changes nothing of that.
func TestACancelledCallEnds(t *testing.T) {
	arrived := make(chan struct{}, 2)
	release := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		arrived <- struct{}{}
		<-release
	}))
	defer srv.Close()
	defer close(release)
	client := sqs.NewFromConfig(load(t, Options{Endpoint: srv.URL}))
	for name, limited := range map[string]func(context.Context) context.Context{
		"the usual limit": func(ctx context.Context) context.Context { return ctx },
		"its own limit": func(ctx context.Context) context.Context {
			return wire.WithCallTimeout(ctx,
				time.Minute)
		},
	} {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() {
			_, err := client.ListQueues(limited(ctx), &sqs.ListQueuesInput{})
			ended <- err
		}()
		<-arrived
		cancel()
		select {
		case err := <-ended:
			require.ErrorIs(t, err, context.Canceled, name)
		case <-time.After(5 * time.Second):
			t.Fatalf("%s: the call goes on without its caller", name)
		}
	}
}

// Invented credentials are used for this machine only.
func TestLocalDefaults(t *testing.T) {
	for _, endpoint := range []string{
		"http://127.0.0.1:7070", "https://127.0.0.2", "http://localhost:7070",
		"http://LocalHost", "http://[::1]:7070", "http://[::ffff:127.0.0.1]",
	} {
		c := load(t, Options{Endpoint: endpoint})
		got, err := c.Credentials.Retrieve(context.Background())
		require.NoError(t, err, endpoint)
		require.Equal(t, "local", got.AccessKeyID, endpoint)
		require.Equal(t, "us-east-1", c.Region, endpoint)
	}
	for _, endpoint := range []string{
		"", "https://sqs.example", "http://10.0.0.1",
		"http://127.0.0.1.example", "http://localhost.evil.example",
	} {
		_, err := Load(context.Background(), Options{Endpoint: endpoint})
		require.Error(t, err, endpoint)
	}
	for _, endpoint := range []string{
		"127.0.0.1:7070", "ftp://127.0.0.1", "http://", "http:127.0.0.1",
		"http://[::1",
	} {
		_, err := Load(context.Background(), Options{Endpoint: endpoint})
		require.ErrorContains(t, err, "http://", endpoint)
	}
	t.Setenv("AWS_PROFILE", "nosuchprofile")
	_, err := Load(context.Background(), Options{Region: "eu-central-1"})
	require.ErrorContains(t, err, "nosuchprofile", "a profile that is not there")
}

// A profile that asks for a code of MFA is an error, which says how to get on.
func TestProfileWithMFA(t *testing.T) {
	_ = load(t, Options{Region: "eu-central-1"}) // clears the environment
	file := filepath.Join(t.TempDir(), "config")
	require.NoError(t, os.WriteFile(file, []byte("[profile shop]\nrole_arn = arn:aws:iam::111122223333:role/operator\n"+
		"source_profile = shop\nmfa_serial = arn:aws:iam::111122223333:mfa/ada\naws_access_key_id = AKID\n"+
		"aws_secret_access_key = secret\n"), 0o600))
	t.Setenv("AWS_CONFIG_FILE", file)
	t.Setenv("AWS_PROFILE", "shop")
	_, err := Load(t.Context(), Options{Region: "eu-central-1"})
	require.ErrorContains(t, err, "aws configure export-credentials --profile shop")
}

// Nothing is invented for this machine if the user has set credentials.
func TestLocalKeepsWhatIsSet(t *testing.T) {
	const local = "http://127.0.0.1:7070"
	_ = load(t, Options{Endpoint: local}) // clears the environment
	for name, want := range map[string]string{"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-2"} {
		t.Setenv(name, want)
		c, err := Load(context.Background(), Options{Endpoint: local})
		require.NoError(t, err, name)
		require.Equal(t, want, c.Region, name)
		c, err = Load(context.Background(), Options{Endpoint: local, Region: "eu-west-3"})
		require.NoError(t, err, name)
		require.Equal(t, "eu-west-3", c.Region, name)
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "mine")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	c, err := Load(context.Background(), Options{Endpoint: local})
	require.NoError(t, err)
	got, err := c.Credentials.Retrieve(context.Background())
	require.NoError(t, err)
	require.Equal(t, "mine", got.AccessKeyID)
}

// Rule 13: attempts and connections are stated, because the SDK's defaults change.
func TestDefaultsAreStated(t *testing.T) {
	var wrapped int
	c := load(t, Options{Region: "eu-central-1", Wrap: func(next http.RoundTripper) http.RoundTripper {
		wrapped++
		base, ok := next.(*http.Transport)
		if !ok || base.MaxIdleConnsPerHost != 64 || base.MaxIdleConns != 128 {
			t.Errorf("the transport is %+v", next)
		}
		return next
	}})
	require.Equal(t, aws.RetryModeStandard, c.RetryMode)
	require.Equal(t, 4, c.RetryMaxAttempts)
	require.Equal(t, 1, wrapped)
	require.Nil(t, c.BaseEndpoint)
}

func TestEndpointOfTheEnvironment(t *testing.T) {
	for _, name := range []string{"STEPKEEPER_ENDPOINT", "AWS_ENDPOINT_URL_SQS", "AWS_ENDPOINT_URL"} {
		t.Setenv(name, "")
	}
	for i, name := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_SQS", "STEPKEEPER_ENDPOINT"} {
		t.Setenv(name, fmt.Sprint("http://", i))
		require.Equal(t, fmt.Sprint("http://", i), Endpoint("sqs"), name)
	}
}

// The SDK writes nothing beside what the program prints, which may be JSON.
func TestTheSDKIsSilent(t *testing.T) {
	require.Equal(t, logging.Nop{}, load(t, Options{Region: "eu-central-1"}).Logger)
}
