package sqs_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs/schemas"
	"github.com/aws/smithy-go"
	"github.com/aws/smithy-go/traits"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/sqs"
)

// local is the environment of a client without any account.
func local(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"AWS_REGION", "AWS_DEFAULT_REGION", "AWS_ACCESS_KEY_ID", "AWS_PROFILE",
		"AWS_ENDPOINT_URL",
	} {
		t.Setenv(name, "")
	}
}

func connect(t *testing.T, h http.Handler, c sqs.Config) *sqs.Queues {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	sdk, err := awsclient.Load(context.Background(), awsclient.Options{Endpoint: srv.URL})
	require.NoError(t, err)
	sdk.RetryMaxAttempts = 1
	return sqs.New(sdk, c)
}

// TestErrors: every operation reports what an error of SQS means to its caller, and names its queue. The codes are
// those of the SDK's own schemas and of its lists of errors that are worth another attempt.
func TestErrors(t *testing.T) {
	local(t)
	sentinels := []error{port.ErrReceipt, port.ErrNotFound, port.ErrTooLarge, port.ErrUnavailable, port.ErrForbidden}
	cases := []struct {
		situation string
		want      error // nil if none of the sentinels fits: another attempt would fail too
		errors    []string
	}{
		{"receipt", port.ErrReceipt, codes(schemas.ReceiptHandleIsInvalid, schemas.MessageNotInflight)},
		{"expired receipt", port.ErrReceipt, []string{"InvalidParameterValue"}},
		{"deleted queue", port.ErrNotFound, codes(schemas.QueueDoesNotExist)},
		{"long batch", port.ErrTooLarge, codes(schemas.BatchRequestTooLong)},
		{
			"throttled", port.ErrUnavailable,
			codes(schemas.RequestThrottled, schemas.OverLimit, schemas.KmsThrottled),
		},
		{
			"throttled, the SDK's list", port.ErrUnavailable,
			slices.Sorted(maps.Keys(retry.DefaultThrottleErrorCodes)),
		},
		{"SQS fails", port.ErrUnavailable, []string{"InternalFailure", "ServiceUnavailable"}},
		{"broken connection", port.ErrUnavailable, []string{""}},
		{"wrong request", nil, codes(schemas.UnsupportedOperation)},
		{"no use of the key", port.ErrForbidden, codes(schemas.KmsAccessDenied, schemas.KmsDisabled,
			schemas.KmsInvalidKeyUsage, schemas.KmsInvalidState, schemas.KmsNotFound, schemas.KmsOptInRequired)},
		{"no permission", port.ErrForbidden, []string{
			"AccessDenied", "AccessDeniedException",
			"InvalidClientTokenId", "UnrecognizedClientException", "SignatureDoesNotMatch",
		}},
	}
	for _, c := range cases {
		for _, code := range c.errors {
			t.Run(strings.TrimSpace(c.situation+" "+code), func(t *testing.T) {
				for operation, err := range failures(t, code) {
					for _, sentinel := range sentinels {
						require.Equal(t, errors.Is(c.want, sentinel), errors.Is(err, sentinel), operation)
					}
					text := fmt.Sprint(err)
					require.True(t, strings.HasPrefix(text, operation), operation)
					require.Contains(t, text, code, operation)
				}
			})
		}
	}
}

// codes returns the names of errors, and their codes of the former protocol of SQS. AWS answers with the latter,
// because the SDK asks for them.
func codes(errs ...*smithy.Schema) (all []string) {
	for _, err := range errs {
		all = append(all, err.ID().Name)
		if query, other := smithy.SchemaTrait[*traits.AWSQueryError](err); other {
			all = append(all, query.ErrorCode)
		}
	}
	return all
}

// failures returns the error of each operation, by the words that it must begin with. The server answers
// every call with the code; an empty code breaks the connection.
func failures(t *testing.T, code string) map[string]error {
	t.Helper()
	queues := connect(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if code == "" {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		status, fault := statusOf(code)
		w.Header().Set("X-Amzn-Query-Error", code+";"+fault)
		w.WriteHeader(status)
		_, _ = fmt.Fprintf(w, `{"__type":"com.amazonaws.sqs#%s","message":"no"}`, code)
	}), sqs.Config{LookUp: true, URLs: map[string]string{
		"replies": "http://127.0.0.1/1/replies", "intake": "http://127.0.0.1/1/in",
		"intake-high": "http://127.0.0.1/1/high",
	}})
	replies, err := queues.Queue("replies")
	require.NoError(t, err)
	intake, err := queues.Queue("intake")
	require.NoError(t, err)
	ctx := t.Context()
	_, depth := replies.Depth(ctx)
	_, receive := replies.Receive(ctx, 1, 0, time.Second)
	_, address := queues.Queue("other")
	return map[string]error{
		`queue "replies": depth: `:   depth,
		`queue "replies": receive: `: receive,
		`queue "replies": delete: `:  replies.Delete(ctx, []string{"r"})[0],
		`queue "replies": extend`:    replies.Extend(ctx, []port.Extension{{Receipt: "r"}})[0],
		`queue "replies": extend: `:  replies.Extend(ctx, []port.Extension{{Receipt: "r", For: port.MaxVisibility}})[0],
		`queue "replies": send: `:    replies.Send(ctx, text("{}"))[0],
		`queue "intake": send: `: intake.Send(ctx,
			[]port.Message{{Body: []byte("{}"), High: true}})[0],
		`queue "other": looking up its address: `: address,
	}
}

func statusOf(code string) (status int, fault string) {
	if slices.Contains([]string{"InternalFailure", "ServiceUnavailable"}, code) {
		return http.StatusInternalServerError, "Receiver"
	}
	return http.StatusBadRequest, "Sender"
}

// A depth that is not reported is an error, and not a queue that is empty.
func TestDepthThatIsNotReported(t *testing.T) {
	local(t)
	queues := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		more := ""
		if body, err := io.ReadAll(r.Body); err != nil || strings.Contains(string(body), "/complete") {
			more = `,"ApproximateNumberOfMessagesNotVisible":"1","ApproximateNumberOfMessagesDelayed":"2"`
		}
		_, _ = io.WriteString(w, `{"Attributes":{"ApproximateNumberOfMessages":"7"`+more+`}}`)
	}), sqs.Config{URLs: map[string]string{
		"replies": "http://127.0.0.1/000000000000/replies",
		"intake":  "http://127.0.0.1/1/complete", "intake-high": "http://127.0.0.1/1/high",
	}})
	// The intake queue reports its depth, and the queue of its high priority does not.
	for _, name := range []string{"replies", "intake"} {
		q, err := queues.Queue(name)
		require.NoError(t, err)
		_, err = q.Depth(context.Background())
		require.ErrorContains(t, err, `queue "`+name+`": ApproximateNumberOfMessagesNotVisible is no number`, name)
	}
}

// A name is looked up with the prefix, and none is empty. What ends with the caller's context is said so.
func TestNamesAndThePrefix(t *testing.T) {
	local(t)
	asked := ""
	queues := connect(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		asked += string(text)
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = io.WriteString(w,
			`{"QueueUrl":"http://127.0.0.1/1/shop-replies"}`)
	}), sqs.Config{LookUp: true, Prefix: "shop-"})
	_, err := queues.Queue("")
	require.ErrorIs(t, err, port.ErrNotFound, "no name")
	q, err := queues.Queue("replies")
	require.NoError(t, err)
	require.Equal(t, `{"QueueName":"shop-replies"}`, asked)
	over, cancel := context.WithCancel(t.Context())
	cancel()
	err = q.Extend(over, []port.Extension{{Receipt: "r"}})[0]
	require.ErrorIs(t, err, context.Canceled)
	require.NotErrorIs(t, err, port.ErrUnavailable)
}

// A reply-to may be in another Region than the Scheduler. Its statuses go to that Region, because SQS looks for a queue
// only in the Region that gets the request.
func TestTheRegionOfAQueue(t *testing.T) {
	local(t)
	for name, c := range map[string]struct{ url, host string }{
		"its own": {"https://sqs.eu-central-1.amazonaws.com/111122223333/shop", "sqs.eu-central-1.amazonaws.com"},
		"another": {"https://sqs.eu-west-3.amazonaws.com/111122223333/shop", "sqs.eu-west-3.amazonaws.com"},
	} {
		t.Run(name, func(t *testing.T) {
			var host, signed string
			sdk, err := awsclient.Load(t.Context(), awsclient.Options{
				Region: "eu-central-1",
				Wrap: func(http.RoundTripper) http.RoundTripper {
					return tripper(func(r *http.Request) (*http.Response, error) {
						host = r.URL.Host
						signed = r.Header.Get("Authorization")
						return nil, http.ErrHandlerTimeout
					})
				},
			})
			require.NoError(t, err)
			sdk.RetryMaxAttempts = 1
			sdk.Credentials = credentials.NewStaticCredentialsProvider("AKID", "secret", "")
			q, err := sqs.New(sdk, sqs.Config{URLs: map[string]string{"shop": c.url}}).Queue("shop")
			require.NoError(t, err)
			require.Error(t, q.Send(t.Context(), text("{}"))[0])
			require.Equal(t, c.host, host)
			require.Contains(t, signed, "/"+strings.Split(host, ".")[1]+"/sqs/")
		})
	}
}

type tripper func(*http.Request) (*http.Response, error)

func (t tripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// P46: messages of high priority go to the queue beside, where there is one, and its depth counts with the
// other's. Each outcome stands at the place of its message.
func TestHighPriority(t *testing.T) {
	local(t)
	sent := map[string][]string{}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct {
			QueueUrl string
			Entries  []struct{ Id, MessageBody string }
		}
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		queue := in.QueueUrl[strings.LastIndexByte(in.QueueUrl, '/')+1:]
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "GetQueueAttributes") {
			_, _ = fmt.Fprintf(w, `{"Attributes":{"ApproximateNumberOfMessages":"%[1]d","ApproximateNumberOfMessagesNotVisible":"1%[1]d","ApproximateNumberOfMessagesDelayed":"2%[1]d"}}`, len(queue))
			return
		}
		var failed []string
		for _, e := range in.Entries {
			sent[queue] = append(sent[queue], e.MessageBody)
			if e.MessageBody == `"bad"` {
				failed = append(failed, fmt.Sprintf(`{"Id":%q,"Code":"Refused","SenderFault":true}`, e.Id))
			}
		}
		_, _ = fmt.Fprintf(w, `{"Successful":[],"Failed":[%s]}`, strings.Join(failed, ","))
	})
	messages := []port.Message{
		{Body: []byte(`"a"`)},
		{Body: []byte(`"bad"`), High: true},
		{Body: []byte(`"b"`)},
		{Body: []byte(`"c"`), High: true},
	}
	urls := map[string]string{
		"intake": "http://127.0.0.1/1/in", "intake-high": "http://127.0.0.1/1/high",
		"replies": "http://127.0.0.1/1/replies",
	}
	for queue, want := range map[string]struct {
		sent  string
		depth port.Depth
	}{
		"intake": {
			`map[high:["bad" "c"] in:["a" "b"]]`,
			port.Depth{Visible: 2 + 4, InFlight: 12 + 14, Delayed: 22 + 24},
		},
		"replies": {`map[replies:["a" "bad" "b" "c"]]`, port.Depth{Visible: 7, InFlight: 17, Delayed: 27}},
	} {
		clear(sent)
		q, err := connect(t, h, sqs.Config{URLs: urls}).Queue(queue)
		require.NoError(t, err)
		errs := q.Send(context.Background(), messages)
		require.NoError(t, errs[0], queue)
		require.Error(t, errs[1], queue)
		require.NoError(t, errs[2], queue)
		require.NoError(t, errs[3], queue)
		require.Equal(t, want.sent, fmt.Sprint(sent), queue)
		got, err := q.Depth(context.Background())
		require.NoError(t, err, queue)
		require.Equal(t, want.depth, got, queue)
	}
}

// Rule 4: the group goes over the wire, and a message without one has none, which would be billed.
func TestGroup(t *testing.T) {
	local(t)
	var sent struct {
		Entries []map[string]any
	}
	h := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		_, _ = w.Write([]byte(`{"Successful":[{"Id":"0","MessageId":"m"},{"Id":"1","MessageId":"n"}]}`))
	})
	queues := connect(t, h, sqs.Config{URLs: map[string]string{"requests-payment": "http://127.0.0.1/1/pay"}})
	_, err := queues.Queue("control")
	require.ErrorIs(t, err, port.ErrNotFound, "with addresses handed over nothing is looked up")
	q, err := queues.Queue("requests-payment")
	require.NoError(t, err)
	_ = q.Send(context.Background(), []port.Message{
		{Body: []byte("{}"), Group: "acme"},
		{Body: []byte("{}")},
	})
	require.Len(t, sent.Entries, 2)
	require.EqualValues(t, "acme", sent.Entries[0]["MessageGroupId"])
	_, there := sent.Entries[1]["MessageGroupId"]
	require.False(t, there)
}

func text(body string) []port.Message { return []port.Message{{Body: []byte(body)}} }
