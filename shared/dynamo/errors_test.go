package dynamo_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// answering is a store whose DynamoDB gives one answer to everything.
func answering(t *testing.T, status int, body string) *dynamo.Store {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if status == 0 {
			panic(http.ErrAbortHandler)
		}
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		w.WriteHeader(status)
		fmt.Fprint(w, body)
	}))
	t.Cleanup(server.Close)
	c, err := awsclient.Load(t.Context(), awsclient.Options{
		Endpoint: server.URL, Region: "us-east-1",
	})
	require.NoError(t, err)
	c.RetryMaxAttempts = 1
	return dynamo.New(dynamo.NewClient(c), dynamo.Tables{Orders: "o", Definitions: "d"}, dynamo.Options{})
}

func coded(code, message string) string {
	return fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":%q}`, code, message)
}

// What each kind of answer means: a write is "perhaps stored" unless DynamoDB said that it was not
// carried out; a read may pass later unless DynamoDB said that it never will (rules 8 to 10, 13).
func TestWhatAnswersMean(t *testing.T) {
	const passes, never = "unavailable", "another error"
	for _, tt := range []struct {
		name        string
		status      int
		body        string
		write, read string
	}{
		{"throttled", 400, coded("ProvisionedThroughputExceededException", "slow down"), passes, passes},
		{"throttled by the account", 400, coded("ThrottlingException", "slow down"), passes, passes},
		{"too many requests", 400, coded("RequestLimitExceeded", "slow down"), passes, passes},
		{"another transaction", 400, coded("TransactionConflictException", "ongoing"), passes, never},
		{"an error of DynamoDB's", 500, coded("InternalServerError", "sorry"), never, passes},
		{
			"a throttle that is a 5xx says nothing of the write", 503, coded("ThrottlingException", "slow down"),
			never, passes,
		},
		{"502 without a code", 502, "<html>bad gateway</html>", never, passes},
		{"503 without a code", 503, "", never, passes},
		{"503 with JSON of another service", 503, `{"message":"Service Unavailable"}`, never, passes},
		{"504 without a code", 504, "", never, passes},
		{"denied", 400, coded("AccessDeniedException", "not authorized"), never, never},
		{"no such table", 400, coded("ResourceNotFoundException", "no table"), never, never},
		{"nonsense", 400, coded("ValidationException", "no such attribute"), never, never},
		{"half an answer", 200, `{"Item":`, never, passes},
		{"no answer", 0, "", never, passes},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := answering(t, tt.status, tt.body)
			check := func(what string, err error, want string) {
				t.Helper()
				require.Error(t, err)
				require.Equal(t, want == passes, errors.Is(err, port.ErrUnavailable))
				for _, wrong := range []error{
					port.ErrExists, port.ErrConflict, port.ErrNotFound,
					port.ErrTooLarge,
				} {
					require.NotErrorIs(t, err, wrong)
				}
			}
			if !strings.HasPrefix(tt.name, "half") { // a PutItem needs nothing of its answer
				check("replace", s.Commit(t.Context(), []port.Write{write("a", 2)})[0], tt.write)
				_, err := s.Acquire(t.Context(), "sweep", "me", created, time.Minute)
				check("lease", err, tt.write)
				check("put definition", s.PutDefinition(t.Context(), core.DefinitionHash([]byte("{}")),
					[]byte("{}")), tt.write)
				check("move", s.Schedules().Move(t.Context(), port.LedgerEntry{Key: "k"}), tt.write)
			}
			_, errs := s.Load(t.Context(), []string{"a"})
			check("load", errs[0], tt.read)
			_, err := s.Content(t.Context(), "a", "h")
			check("content", err, tt.read)
			_, err = s.Ended(t.Context(), "a")
			check("ended", err, tt.read)
			_, err = s.Due(t.Context(), port.DueBucket, 0, created, nil, 1)
			check("due", err, tt.read)
			_, err = s.Definition(t.Context(), "h")
			check("definition", err, tt.read)
			_, err = s.List(t.Context(), port.Query{Limit: 10})
			check("list", err, tt.read)
			_, err = s.Schedules().Entry(t.Context(), "k")
			check("entry", err, tt.read)
		})
	}
}

// An item that is too large by DynamoDB's own count will never fit.
func TestTooLargeForDynamoDB(t *testing.T) {
	s := answering(t, 400, coded("ValidationException", "Item size has exceeded the maximum allowed size"))
	require.ErrorIs(t, s.Commit(t.Context(), []port.Write{write("a", 2)})[0], port.ErrTooLarge)
}

// One that is too large by our count is not sent; the error names the task.
func TestTooLargeIsNotSent(t *testing.T) {
	s := scripted(t, func(request) (int, string) {
		t.Error("it was sent")
		return 200, "{}"
	})
	for want, change := range map[string]func(*port.Record){
		`task "a": its item has`: func(r *port.Record) { r.Workflow = strings.Repeat("w", 400<<10) },
		`task "a": its document has`: func(r *port.Record) {
			r.Document = []byte(`{"x":"` + strings.Repeat("x", port.MaxDocument) + `"}`)
		},
	} {
		large := write("a", 2)
		change(&large.Record)
		err := s.Commit(t.Context(), []port.Write{large})[0]
		require.ErrorIs(t, err, port.ErrTooLarge, want)
		require.ErrorContains(t, err, want)
	}
}

// scripted is a store whose DynamoDB answers its calls one after the other, the last answer for ever.
// An answer is made of the request, its item above all.
func scripted(t *testing.T, answers ...func(request) (int, string)) *dynamo.Store {
	t.Helper()
	s, _ := scriptedWith(t, answers...)
	return s
}

func scriptedWith(t *testing.T, answers ...func(request) (int, string)) (*dynamo.Store, *dynamodb.Client) {
	t.Helper()
	var n atomic.Int64
	c := dynamo.NewClient(without(t, func(c awsstub.Call) (int, string) {
		var in request
		require.NoError(t, json.Unmarshal([]byte(c.Body), &in))
		return answers[min(int(n.Add(1)), len(answers))-1](in)
	}))
	return dynamo.New(c, dynamo.Tables{Orders: "o", Definitions: "d"}, dynamo.Options{}), c
}

func client(t *testing.T, url string) *dynamodb.Client {
	t.Helper()
	c, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: url, Region: "us-east-1"})
	require.NoError(t, err)
	return dynamo.NewClient(c)
}

// request is what is looked at of a call.
type request struct {
	Item                                map[string]map[string]any
	Key                                 map[string]map[string]any
	TableName                           string
	ConsistentRead                      bool
	ConditionExpression                 string
	ReturnValuesOnConditionCheckFailure string
	ExpressionAttributeValues           map[string]map[string]string
}

func lost(request) (int, string)      { return 500, coded("InternalServerError", "sorry") }
func throttled(request) (int, string) { return 400, coded("ThrottlingException", "slow down") }

// standing refuses the condition: this version stands there, of this write itself or of another.
func standing(version int, own bool) func(request) (int, string) {
	return func(in request) (int, string) {
		writer := "b3RoZXI="
		if own {
			writer = fmt.Sprint(in.Item["Writer"]["B"])
		}
		return 400, fmt.Sprintf(`{"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"no","Item":{"Version":{"N":"%d"},"Writer":{"B":%q}}}`, version, writer)
	}
}

func stored(request) (int, string) { return 200, "{}" }

// conflicting refuses a write beside a transaction of another program.
func conflicting(request) (int, string) {
	return 400, coded("TransactionConflictException", "ongoing")
}

// What a write answers after each course of its tries: a replace of version 1 by version 2, and a create (rules 8 to
// 10, 23).
func TestWhatTriesMean(t *testing.T) {
	doubt := errors.New("in doubt")
	type course struct {
		name    string
		answers []func(request) (int, string)
		want    error
	}
	creates := []course{
		{"its own write stands there", []func(request) (int, string){lost, lost, lost, standing(1, true)}, nil},
		{"it arrives twice", []func(request) (int, string){standing(1, true)}, nil},
		{"conflicts that pass", []func(request) (int, string){conflicting, lost, conflicting, stored}, nil},
		{"conflicts without end", []func(request) (int, string){conflicting}, port.ErrUnavailable},
		{"throttles that pass", []func(request) (int, string){throttled, throttled, throttled, stored}, nil},
		{"throttles without end", []func(request) (int, string){throttled}, port.ErrUnavailable},
		{"an answer lost, and another's stands there", []func(request) (int, string){lost, standing(1, false)}, port.ErrExists},
		{"a newer one stands there", []func(request) (int, string){standing(3, false)}, port.ErrExists},
		{"an answer lost, and a newer one stands there", []func(request) (int, string){lost, standing(3, false)}, doubt},
		{"all answers lost", []func(request) (int, string){lost}, doubt},
	}
	replaces := []course{
		{"its own write stands there", []func(request) (int, string){lost, standing(2, true)}, nil},
		{"another's stands there", []func(request) (int, string){standing(2, false)}, port.ErrConflict},
		{
			"an answer lost, and another's of the same version stands there",
			[]func(request) (int, string){lost, standing(2, false)},
			port.ErrConflict,
		},
		{
			"an answer lost, and a newer one stands there",
			[]func(request) (int, string){lost, standing(3, false)},
			doubt,
		},
		{"a newer one stands there", []func(request) (int, string){standing(3, false)}, port.ErrConflict},
		{
			"throttled, and a newer one stands there",
			[]func(request) (int, string){throttled, standing(3, false)},
			port.ErrConflict,
		},
		{"throttled for long", []func(request) (int, string){throttled}, port.ErrUnavailable},
		{"an answer lost, then throttled for long", []func(request) (int, string){lost, throttled}, doubt},
		{
			"throttled, then an answer lost, then throttled for long",
			[]func(request) (int, string){throttled, lost, throttled},
			doubt,
		},
		{"all answers lost", []func(request) (int, string){lost}, doubt},
		{"it arrives twice", []func(request) (int, string){standing(2, true)}, nil},
		{"conflicts that pass", []func(request) (int, string){conflicting, conflicting, conflicting, stored}, nil},
	}
	for version, courses := range map[int64][]course{1: creates, 2: replaces} {
		for _, tt := range courses {
			t.Run(fmt.Sprintf("version %d: %s", version, tt.name), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					err := scripted(t, tt.answers...).Commit(t.Context(), []port.Write{write("a", version)})[0]
					if tt.want != doubt { //nolint:errorlint // it stands for no sentinel at all
						require.ErrorIs(t, err, tt.want)
						return
					}
					require.Error(t, err)
					for _, sentinel := range []error{
						port.ErrConflict, port.ErrExists, port.ErrNotFound, port.ErrUnavailable,
					} {
						require.NotErrorIs(t, err, sentinel)
					}
				})
			})
		}
	}
}

// A read that fails says nothing of the others: each ID has its own answer, at its place.
func TestReadsFailOneByOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := scripted(t, func(in request) (int, string) {
			if in.Key["OrderID"]["S"] == "b" {
				return throttled(in)
			}
			return 200, fmt.Sprintf(`{"Item":{"OrderID":{"S":%q},"Version":{"N":"1"}}}`, in.Key["OrderID"]["S"])
		})
		records, errs := s.Load(t.Context(), []string{"a", "b", "c", "d"})
		for i, id := range []string{"a", "", "c", "d"} {
			switch {
			case id == "" && (records[i] != nil || !errors.Is(errs[i], port.ErrUnavailable)):
				t.Errorf("the read that failed answers %+v, %v", records[i], errs[i])
			case id != "" && (errs[i] != nil || records[i] == nil || records[i].ID != id):
				t.Errorf("%s: %+v, %v", id, records[i], errs[i])
			}
		}
	})
}

// without returns the settings of clients whose calls pass through no socket, so that time can be the clock of
// synctest.
func without(t *testing.T, answers awsstub.Answers) aws.Config {
	t.Helper()
	c, err := awsclient.Load(t.Context(), awsclient.Options{
		Endpoint: "http://localhost", Region: "us-east-1",
		Wrap: func(http.RoundTripper) http.RoundTripper { return answers },
	})
	require.NoError(t, err)
	return c
}

// handlerStore is a store as a handler has it, whose DynamoDB answers by the number of the attempt.
func handlerStore(t *testing.T, answer func(attempt int64) (int, string)) (*dynamo.Store, *atomic.Int64) {
	t.Helper()
	var n atomic.Int64
	c := without(t, func(awsstub.Call) (int, string) { return answer(n.Add(1)) })
	return dynamo.New(dynamo.NewHandlerClient(c), dynamo.Tables{Orders: "o", Definitions: "d"},
		dynamo.Options{}), &n
}

// The worker gives a write to its ledger less than a second near the end of its handler, and the call has all of it.
func TestACallToALedgerHasAllOfItsTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := without(t, func(awsstub.Call) (int, string) { return 0, "" })
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 700*time.Millisecond)
		defer cancel()
		_, err := dynamo.NewLedger(dynamo.NewLedgerClient(c), "ledger").Entry(ctx, "k")
		require.Error(t, err)
		require.Equal(t, 700*time.Millisecond, time.Since(start))
	})
}

// A handler's calls are tried again until a second before its context ends, however often they are
// throttled; what was refused each time is unavailable then, and not "perhaps stored".
func TestHandlersRetryThrottles(t *testing.T) {
	load := func(ctx context.Context, s *dynamo.Store) error {
		_, errs := s.Load(ctx, []string{"a"})
		return errs[0]
	}
	commit := func(version int64) func(context.Context, *dynamo.Store) error {
		return func(ctx context.Context, s *dynamo.Store) error {
			return s.Commit(ctx, []port.Write{write("a", version)})[0]
		}
	}
	for name, c := range map[string]struct {
		call   func(context.Context, *dynamo.Store) error
		refuse string
	}{
		"load":                         {load, coded("ThrottlingException", "slow down")},
		"replace":                      {commit(2), coded("ThrottlingException", "slow down")},
		"create":                       {commit(1), coded("ThrottlingException", "slow down")},
		"replace beside a transaction": {commit(2), coded("TransactionConflictException", "ongoing")},
		"create beside a transaction":  {commit(1), coded("TransactionConflictException", "ongoing")},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, _ := handlerStore(t, func(attempt int64) (int, string) {
					if attempt <= 12 {
						return 400, c.refuse
					}
					return 200, "{}"
				})
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				require.NoError(t, c.call(ctx, s), "throttled twelve times")
				s, n := handlerStore(t, func(int64) (int, string) { return 400, c.refuse })
				ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				began := time.Now()
				err := c.call(ctx, s)
				took := time.Since(began)
				require.ErrorIs(t, err, port.ErrUnavailable)
				require.GreaterOrEqual(t, n.Load(), int64(12))
				require.Equal(t, 59*time.Second, took)
			})
		})
	}
}

// Many calls are throttled at once: the SDK's quota of retries, which all calls of a client share, ends none
// of them.
func TestHandlersRetriesHaveNoQuota(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const calls, throttles = 60, 4
		s, n := handlerStore(t, func(attempt int64) (int, string) {
			if attempt <= calls*throttles {
				return throttled(request{})
			}
			return 200, "{}"
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		failed := make(chan error, calls)
		for range calls {
			go func() {
				_, errs := s.Load(ctx, []string{"a"})
				failed <- errs[0]
			}()
		}
		for range calls {
			if err := <-failed; err != nil {
				t.Errorf("after %d attempts: %v", n.Load(), err)
			}
		}
	})
}

// An attempt that gets no answer ends after three seconds, and is made again.
func TestHandlersRetryAttemptsWithoutAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, n := handlerStore(t, func(attempt int64) (int, string) {
			if attempt == 1 {
				return 0, ""
			}
			return 200, `{"Item":{"OrderID":{"S":"a"},"Version":{"N":"1"}}}`
		})
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		began := time.Now()
		records, errs := s.Load(ctx, []string{"a"})
		if took := time.Since(began); errs[0] != nil || records[0] == nil || n.Load() != 2 ||
			took < 3*time.Second || took > 4*time.Second {
			t.Errorf("%v, %v after %d attempts, %s", records, errs, n.Load(), took)
		}
	})
}

// Every write states its condition and asks for what stands there (P8, rule 8). A content needs no condition,
// because its key says what it holds. It is put before its order.
func TestEveryWriteHasACondition(t *testing.T) {
	var seen []string
	s := scripted(t, func(in request) (int, string) {
		if in.Item != nil {
			seen = append(seen, fmt.Sprint(in.Item["OrderID"]["S"], in.Item["Hash"]["S"], " ",
				in.ConditionExpression, " ", in.ReturnValuesOnConditionCheckFailure))
		}
		return 200, "{}"
	})
	apart := write("b", 1)
	apart.Hash = "h"
	apart.Apart = true
	apart.Content = []byte("{}")
	for _, err := range []error{
		s.Commit(t.Context(), []port.Write{write("a", 1)})[0],
		s.Commit(t.Context(), []port.Write{write("a", 2)})[0],
		s.Commit(t.Context(), []port.Write{apart})[0],
		s.PutDefinition(t.Context(), core.DefinitionHash([]byte("{}")), []byte("{}")),
	} {
		require.NoError(t, err)
	}
	require.ErrorIs(t, s.PutDefinition(t.Context(), "h", []byte("{}")), port.ErrHash, "bytes of another hash")
	hash := core.DefinitionHash([]byte("{}"))
	want := []string{
		"a<nil> attribute_not_exists(#id) ALL_OLD", "a<nil> #version = :expected ALL_OLD",
		"b#h<nil> attribute_not_exists(#erased) ", "b<nil> attribute_not_exists(#id) ALL_OLD",
		"<nil>" + hash + " attribute_not_exists(#hash) ALL_OLD",
	}
	require.Equal(t, want, seen)
}

// What a decision rests on is read strongly consistent (P8); a content, which never changes, is first looked
// for at half the price, and before a definition is put it is only looked whether that can be spared.
func TestWhichReadsAreConsistent(t *testing.T) {
	var seen []string
	s, c := scriptedWith(t, func(in request) (int, string) {
		for _, key := range in.Key {
			seen = append(seen, fmt.Sprint(in.TableName, " ", key["S"], " ", in.ConsistentRead))
		}
		return 200, "{}"
	})
	_, errs := s.Load(t.Context(), []string{"a"})
	require.NoError(t, errs[0])
	_, err := s.Content(t.Context(), "b", "h")
	require.ErrorIs(t, err, port.ErrNotFound, "a content that is not there")
	ended, err := s.Ended(t.Context(), "c")
	require.False(t, ended, "a tombstone that is not there: %t, %v", ended, err)
	require.NoError(t, err)
	_, err = s.Definition(t.Context(), "h")
	require.ErrorIs(t, err, port.ErrNotFound, "a definition that is not there")
	hash := core.DefinitionHash([]byte("{}"))
	require.NoError(t, s.PutDefinition(t.Context(), hash, []byte("{}")))
	e, err := dynamo.NewLedger(c, "l").Entry(t.Context(), "k")
	require.NoError(t, err)
	require.Equal(t, "k", e.Key)
	require.Zero(t, e.Version)
	want := []string{
		"o a true", "o b#h false", "o b#h true", "o c#ended true", "d h true",
		"d " + hash + " false", "l k true",
	}
	require.Equal(t, want, seen)
}

// A batch has no more calls under way than it may, and makes use of them.
func TestParallelCallsAreBounded(t *testing.T) {
	const parallel, batch = 3, 12
	var lock sync.Mutex
	at := 0
	most := 0
	joined := 0
	group := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		lock.Lock()
		at++
		most = max(most, at)
		together := group
		if joined++; joined == parallel { // they are answered in groups
			close(group)
			joined = 0
			group = make(chan struct{})
		}
		lock.Unlock()
		<-together
		lock.Lock()
		at--
		lock.Unlock()
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		fmt.Fprint(w, "{}")
	}))
	defer server.Close()
	s := dynamo.New(client(t, server.URL), dynamo.Tables{Orders: "o", Definitions: "d"},
		dynamo.Options{Parallel: parallel})
	var ids []string
	var writes []port.Write
	for i := range batch {
		ids = append(ids, fmt.Sprint(i))
		writes = append(writes, write(fmt.Sprint(i), 2))
	}
	for name, all := range map[string]func() []error{
		"load":   func() []error { _, errs := s.Load(t.Context(), ids); return errs },
		"commit": func() []error { return s.Commit(t.Context(), writes) },
	} {
		most = 0
		if err := errors.Join(all()...); err != nil || most != parallel {
			t.Errorf("%s: %d calls at once, want %d; %v", name, most, parallel, err)
		}
	}
}

// An order that moves to attention while the open ones are listed is in the list: attention is read when due
// has been read.
func TestListReadsAttentionAfterDue(t *testing.T) {
	var dues atomic.Int64
	s := scripted(t, func(in request) (int, string) {
		bucket, _, _ := strings.Cut(in.ExpressionAttributeValues[":bucket"]["S"], "#")
		switch n := dues.Load(); {
		case bucket == string(port.DueBucket):
			dues.Add(1)
		case n < dynamo.DefaultShards:
			t.Errorf("attention was read when %d of %d shards of due had been", n, dynamo.DefaultShards)
		}
		return http.StatusOK, `{"Items":[]}`
	})
	_, err := s.List(t.Context(), port.Query{Limit: 10})
	require.NoError(t, err)
}

// Above 20,000 entries of open orders, List returns an error, or a part of the orders that names itself. The test's
// index has the IDs several times, because each ID is one read.
func TestListOfTooManyOrders(t *testing.T) {
	entries := func(id string, n int) string {
		return strings.TrimSuffix(strings.Repeat(fmt.Sprintf(`{"OrderID":{"S":%q},"dueAt":{"N":"1"}},`, id), n), ",")
	}
	for name, tt := range map[string]struct {
		waiting int // entries of orders that wait for the operator
		partial bool
		want    string
	}{
		"the most":                 {19_999, false, "[running waiting] false"},
		"the most, and a part":     {19_999, true, "[running waiting] false"},
		"more":                     {20_000, false, "more than 20000 orders are open"},
		"more, and a part is fine": {20_000, true, "[waiting] true"},
	} {
		t.Run(name, func(t *testing.T) {
			s := scripted(t, func(in request) (int, string) {
				switch in.ExpressionAttributeValues[":bucket"]["S"] {
				case "due#0":
					return http.StatusOK, `{"Items":[` + entries("running", 1) + `]}`
				case "attention#0":
					return http.StatusOK, `{"Items":[` + entries("waiting", tt.waiting) + `]}`
				}
				if id, read := in.Key["OrderID"]["S"]; read {
					return http.StatusOK, fmt.Sprintf(`{"Item":{"OrderID":{"S":%q}}}`, id)
				}
				return http.StatusOK, `{"Items":[]}`
			})
			page, err := s.List(t.Context(), port.Query{Limit: 10, Partial: tt.partial})
			if err != nil {
				require.ErrorContains(t, err, tt.want)
				return
			}
			var ids []string
			for _, r := range page.Records {
				ids = append(ids, r.ID)
			}
			slices.Sort(ids)
			require.Equal(t, tt.want, fmt.Sprint(ids, page.Partial))
		})
	}
}

// CreateTables returns only after each table is active.
func TestCreateTablesWaits(t *testing.T) {
	var calls atomic.Int64
	table := func(status string) func(request) (int, string) {
		return func(request) (int, string) {
			calls.Add(1)
			return http.StatusOK, fmt.Sprintf(`{"Table":{"TableStatus":%q}}`, status)
		}
	}
	_, c := scriptedWith(t, table("CREATING"), table("CREATING"), table("CREATING"), table("ACTIVE"))
	err := dynamo.CreateTables(t.Context(), c, dynamo.Tables{Orders: "o", Definitions: "d"})
	require.NoError(t, err)
	require.EqualValues(t, 5, calls.Load())
}

// Only an emulator sends responses without checksums.
func TestChecksumsAreValidatedOnAWS(t *testing.T) {
	for _, endpoint := range []*string{nil, aws.String("http://localhost")} {
		for i, c := range []*dynamodb.Client{
			dynamo.NewClient(aws.Config{BaseEndpoint: endpoint}),
			dynamo.NewHandlerClient(aws.Config{BaseEndpoint: endpoint}),
		} {
			if got := c.Options().DisableValidateResponseChecksum; got != (endpoint != nil) {
				t.Errorf("client %d, endpoint %v: %v", i, endpoint, got)
			}
		}
	}
}
