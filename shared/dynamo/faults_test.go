package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// faulty is a store whose calls meet the plan's faults, and a client that meets none.
type faulty struct {
	*dynamo.Store
	ledger *dynamo.Ledger
	plan   *faultPlan
	clean  *dynamodb.Client
	names  dynamotest.Names
}

func newFaulty(t *testing.T, o dynamo.Options) faulty {
	t.Helper()
	c := dynamotest.Config(t, awsclient.Options{})
	f := faulty{plan: &faultPlan{}, clean: dynamo.NewClient(c)}
	f.names = dynamotest.Tables(t, f.clean)
	f.plan.into(&c)
	o.Clock = memory.NewClock(now)
	client := dynamo.NewClient(c)
	f.Store = dynamo.New(client, f.names.Tables, o)
	f.ledger = dynamo.NewLedger(client, f.names.Ledger)
	return f
}

var created = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func write(id string, version int64) port.Write {
	w := port.Write{Expected: version - 1, Record: port.Record{
		ID: id, Version: version, State: "Processing",
		Workflow: "order", Created: created,
		Bucket: port.DueBucket, IndexAt: created.Add(time.Minute),
		Document: fmt.Appendf(nil, `{"version":%d}`, version),
	}}
	return w
}

func (f faulty) commit(w port.Write) error {
	return f.Commit(context.Background(), []port.Write{w})[0]
}

// Every fault in a write, and what the caller gets. Refused writes are not stored;
// those without an answer may be stored or not.
func TestFaultsInWrites(t *testing.T) {
	const l, u, h, w, x = faultLostAnswer, faultUnsent, faultThrottled, faultTwice, faultConflict
	f := newFaulty(t, dynamo.Options{Shards: 4})
	for i, tt := range []struct {
		name    string
		version int64
		faults  []fault
		want    error // nil: stored
	}{
		{"create: an answer is lost (rules 9, 10)", 1, []fault{l}, nil},
		{"create: three answers are lost", 1, []fault{l, l, l}, nil},
		{"create: it arrives twice", 1, []fault{w}, nil},
		{"create: conflicts that pass (rule 10)", 1, []fault{x, x, x}, nil},
		{"create: throttles that pass", 1, []fault{h, h, h}, nil},
		{"create: conflict and lost answer", 1, []fault{x, l, x}, nil},
		{"create: conflicts without end", 1, []fault{x, x, x, x}, port.ErrUnavailable},
		{"create: throttled without end", 1, []fault{h, h, h, h}, port.ErrUnavailable},
		{"replace: an answer is lost (rules 9, 23)", 2, []fault{l}, nil},
		{"replace: answers are lost in turn", 2, []fault{u, l, l}, nil},
		{"replace: it arrives twice", 2, []fault{w}, nil},
		{"replace: it never gets through", 2, []fault{u, u, u}, nil},
		{"replace: conflicts that pass", 2, []fault{x, x, x}, nil},
		{"replace: throttles that pass", 2, []fault{h, h, h}, nil},
		{"replace: conflicts without end", 2, []fault{x, x, x, x}, port.ErrUnavailable},
		{"replace: throttled without end", 2, []fault{h, h, h, h}, port.ErrUnavailable},
	} {
		t.Run(tt.name, func(t *testing.T) {
			const operation = "PutItem"
			id := fmt.Sprint("task-", i)
			if tt.version == 2 {
				if err := f.commit(write(id, 1)); err != nil {
					t.Fatal(err)
				}
			}
			f.plan.next(operation, tt.faults...)
			if err := f.commit(write(id, tt.version)); !errors.Is(err, tt.want) {
				t.Errorf("answer %v, want %v", err, tt.want)
			}
			f.plan.drop(operation) // faults that were not met are none of the next test's
			records, errs := f.Load(context.Background(), []string{id})
			if errs[0] != nil {
				t.Fatal(errs[0])
			}
			stored := records[0] != nil && records[0].Version == tt.version
			if want := tt.want == nil; stored != want {
				t.Errorf("stored: %v, want %v", stored, want)
			}
		})
	}
}

// An answer that stays lost leaves the caller in doubt, never with a wrong answer.
func TestAnswersThatStayLost(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	const operation = "PutItem"
	for version := int64(1); version <= 2; version++ {
		f.plan.next(operation, faultLostAnswer, faultLostAnswer, faultLostAnswer, faultLostAnswer)
		err := f.commit(write("a", version))
		for _, sentinel := range []error{
			nil, port.ErrExists, port.ErrConflict, port.ErrNotFound,
			port.ErrUnavailable,
		} {
			if errors.Is(err, sentinel) {
				t.Errorf("%s: %v says %v, which is unknown", operation, err, sentinel)
			}
		}
		if err := f.commit(write("a", version)); !errors.Is(err, port.ErrExists) &&
			!errors.Is(err, port.ErrConflict) {
			t.Errorf("%s again: %v, want a refusal: another write, for all that DynamoDB knows", operation,
				err)
		}
	}
}

// A write of another is never taken for one's own, however it looks.
func TestAnothersWriteIsNoneOfOurs(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	other := dynamo.New(f.clean, f.names.Tables, dynamo.Options{Shards: 4})
	for version, want := range map[int64]error{1: port.ErrExists, 2: port.ErrConflict} {
		id := fmt.Sprint("task-", version)
		for v := int64(1); v <= version; v++ {
			if err := other.Commit(context.Background(), []port.Write{write(id, v)})[0]; err != nil {
				t.Fatal(err)
			}
		}
		f.plan.next("PutItem", faultLostAnswer)
		if err := f.commit(write(id, version)); !errors.Is(err, want) {
			t.Errorf("version %d: %v, want %v", version, err, want)
		}
	}
}

// A write whose answer was lost and on top of which others have written is neither theirs nor
// refused: that is unknown, and the caller gets that error.
func TestAnOvertakenWriteIsInDoubt(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	other := dynamo.New(f.clean, f.names.Tables, dynamo.Options{Shards: 4})
	for _, id := range []string{"a", "b"} {
		if err := f.commit(write(id, 1)); err != nil {
			t.Fatal(err)
		}
	}
	tries := 0
	f.plan.always(func(string) fault {
		if tries++; tries == 1 {
			return faultLostAnswer
		}
		if err := other.Commit(context.Background(), []port.Write{write("a", 3)})[0]; err != nil {
			t.Error(err)
		}
		return faultNone
	})
	err := f.commit(write("a", 2))
	f.plan.always(nil)
	for _, sentinel := range []error{nil, port.ErrConflict, port.ErrNotFound, port.ErrUnavailable} {
		if errors.Is(err, sentinel) {
			t.Errorf("overtaken: %v says %v", err, sentinel)
		}
	}
	// With no answer lost it is a plain conflict, however far the others are.
	for v := int64(2); v < 5; v++ {
		if err := other.Commit(context.Background(), []port.Write{write("b", v)})[0]; err != nil {
			t.Fatal(err)
		}
	}
	if err := f.commit(write("b", 2)); !errors.Is(err, port.ErrConflict) {
		t.Errorf("a plain conflict: %v", err)
	}
}

// A ledger whose answer is lost must not forget that the call was started (P31).
func TestLostAnswerOfALedger(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	for version, state := range []string{"started", "done"} {
		f.plan.next("PutItem", faultLostAnswer, faultLostAnswer)
		if err := f.ledger.Move(context.Background(),
			port.LedgerEntry{Key: "k", State: state, Version: int64(version)}); err != nil {
			t.Errorf("%s: %v", state, err)
		}
	}
	if err := f.ledger.Move(context.Background(),
		port.LedgerEntry{Key: "k", State: "done", Version: 1}); !errors.Is(err, port.ErrConflict) {
		t.Errorf("an old move: %v", err)
	}
}

// Reads are repeated, and past that unavailable.
func TestFaultsInReads(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	if err := f.commit(write("a", 1)); err != nil {
		t.Fatal(err)
	}
	f.plan.next("GetItem", faultThrottled, faultLostAnswer, faultUnsent)
	if records, errs := f.Load(context.Background(), []string{"a"}); errs[0] != nil || records[0] == nil {
		t.Errorf("Load: %v, %v", records, errs)
	}
	for operation, read := range map[string]func() error{
		"GetItem": func() error { _, errs := f.Load(context.Background(), []string{"a"}); return errs[0] },
		"Query": func() error {
			_, err := f.Due(context.Background(), port.DueBucket, 0, created, nil, 10)
			return err
		},
	} {
		f.plan.next(operation, faultThrottled, faultThrottled, faultThrottled, faultUnsent)
		if err := read(); !errors.Is(err, port.ErrUnavailable) {
			t.Errorf("%s: %v", operation, err)
		}
	}
}

// Rule 23: with one answer in ten lost, and one call in ten sent twice, no write that has landed is
// answered as refused, and none is made twice.
func TestManyLostAnswers(t *testing.T) {
	f := newFaulty(t, dynamo.Options{Shards: 4})
	dice := rand.New(rand.NewPCG(4, 23))
	f.plan.always(func(string) fault {
		switch dice.IntN(10) {
		case 0:
			return faultLostAnswer
		case 1:
			return faultTwice
		}
		return faultNone
	})
	const tasks, versions = 40, 10
	refused := 0
	doubt := 0
	for v := int64(1); v <= versions; v++ {
		var writes []port.Write
		for i := range tasks {
			writes = append(writes, write(fmt.Sprint("task-", i), v))
		}
		for i, err := range f.Commit(context.Background(), writes) {
			switch {
			case err == nil:
			case errors.Is(err, port.ErrConflict), errors.Is(err, port.ErrExists):
				refused++
				t.Errorf("%s, version %d: %v", writes[i].Record.ID, v, err)
			default:
				doubt++
			}
		}
		if t.Failed() {
			break
		}
	}
	t.Logf("%d writes, %d answers lost, %d sent twice: %d refused, %d in doubt", tasks*versions,
		f.plan.hits(faultLostAnswer), f.plan.hits(faultTwice), refused, doubt)
	if f.plan.hits(faultLostAnswer) < 20 {
		t.Error("too few answers were lost to show anything")
	}
}

// refusing refuses one of the calls that pass through it, by its number from 1; 0: none.
type refusing struct {
	next         http.RoundTripper
	mu           sync.Mutex
	calls, which int
}

func (x *refusing) RoundTrip(r *http.Request) (*http.Response, error) {
	x.mu.Lock()
	x.calls++
	refused := x.calls == x.which
	x.mu.Unlock()
	if !refused {
		return x.next.RoundTrip(r)
	}
	return &http.Response{
		StatusCode: 400,
		Header:     http.Header{"Content-Type": {"application/x-amz-json-1.0"}}, Request: r,
		Body: io.NopCloser(strings.NewReader(coded("AccessDeniedException",
			"not authorized to perform this"))),
	}, nil
}

func (x *refusing) from(which int) (before int) {
	x.mu.Lock()
	defer x.mu.Unlock()
	before = x.calls
	x.calls = 0
	x.which = which
	return before
}

// Whichever of its calls DynamoDB refuses, an operation answers with the error, and never with a part of the
// result.
func TestNoRefusedCallIsPassedOver(t *testing.T) {
	x := &refusing{}
	client := dynamo.NewClient(dynamotest.Config(t,
		awsclient.Options{Wrap: func(next http.RoundTripper) http.RoundTripper { x.next = next; return x }}))
	names := dynamotest.Tables(t, client)
	s := dynamo.New(client, names.Tables,
		dynamo.Options{Shards: 1, FinishedIndex: true, Clock: memory.NewClock(now)})
	ledger := dynamo.NewLedger(client, names.Ledger)
	for i, bucket := range []port.Bucket{
		port.DueBucket, port.AttentionBucket, port.NoBucket,
		port.DueBucket,
	} {
		w := write(fmt.Sprint("task-", i), 1)
		w.Hash = "h"
		w.Apart = true
		w.Content = []byte("{}")
		w.Record.Bucket = bucket
		if err := s.Commit(t.Context(), []port.Write{w})[0]; err != nil {
			t.Fatal(err)
		}
	}
	due, err := s.Due(t.Context(), port.DueBucket, 0, now, nil, 10)
	if err != nil || len(due) != 2 {
		t.Fatalf("%v, %v", due, err)
	}
	const hash = "44136fa355b3678a1146ad16f7e8649e" // of {}
	if err := s.PutDefinition(t.Context(), hash, []byte("{}")); err != nil {
		t.Fatal(err)
	}
	attempt := 0
	for name, do := range map[string]func() error{
		"commit": func() error {
			attempt++
			w := write(fmt.Sprint("new-", attempt), 1)
			w.Hash = "h"
			w.Apart = true
			w.Content = []byte("{}")
			return s.Commit(t.Context(), []port.Write{w})[0]
		},
		"load": func() error {
			_, errs := s.Load(t.Context(), []string{"task-0", "task-1"})
			return errors.Join(errs...)
		},
		"content": func() error { _, err := s.Content(t.Context(), "task-0", "h"); return err },
		"ended":   func() error { _, err := s.Ended(t.Context(), "task-0"); return err },
		"due": func() error {
			_, err := s.Due(t.Context(), port.DueBucket, 0, now, nil,
				10)
			return err
		},
		"due, a page on": func() error {
			_, err := s.Due(t.Context(), port.DueBucket, 0, now, &due[0],
				10)
			return err
		},
		"list": func() error { _, err := s.List(t.Context(), port.Query{Limit: 10}); return err },
		"list of a state": func() error {
			_, err := s.List(t.Context(), port.Query{Limit: 1, State: "Processing"})
			return err
		},
		"definition": func() error { _, err := s.Definition(t.Context(), hash); return err },
		"acquire": func() error {
			_,
				err := s.Acquire(t.Context(), "lease", "a", now, time.Minute)
			return err
		},
		"lease": func() error { _, err := s.LeaseUntil(t.Context(), "lease"); return err },
		"entry": func() error { _, err := ledger.Entry(t.Context(), "key"); return err },
		"move": func() error {
			attempt++
			return ledger.Move(t.Context(),
				port.LedgerEntry{Key: fmt.Sprint("key-", attempt), State: "Doing"})
		},
	} {
		x.from(0)
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		calls := x.from(0)
		for which := 1; which <= calls; which++ {
			x.from(which)
			if err := do(); err == nil || !strings.Contains(err.Error(), "not authorized") {
				t.Errorf("%s, call %d of %d refused: %v", name, which, calls, err)
			}
		}
		if calls == 0 {
			t.Errorf("%s: no call", name)
		}
	}
}
