package dynamo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/port/storetest"
)

// The suite's documents are no tasks', so that they are kept as they are. Here each is put into a
// task's document, as it is written in real life: member by member.
func TestContractMemberByMember(t *testing.T) {
	t.Parallel()
	storetest.Run(t, options(false), func(t *testing.T) storetest.Backends {
		b := backends(t, dynamo.Options{Shards: 3})
		b.Store = tasks{b.Store}
		b.Definitions, b.Leases, b.Ledger = nil, nil, nil
		return b
	})
}

// tasks wraps documents on their way in and unwraps them on their way out.
type tasks struct{ port.Store }

// wrapped is a task around a document.
type wrapped struct {
	Schema       int
	OrderID      string
	ProcessState string
	LockedBy     *string
	CompleteBy   *string
	FailureCount int
	Version      int64
	Workflow     string
	Created      string
	Output       json.RawMessage  `json:"output,omitempty"`
	Steps        map[string]inner `json:"Steps"`
}

type inner struct {
	N      int
	Output string `json:"output"`
}

const largest = 150_000 // of a document that is wrapped; text is written twice as long at worst

func (s tasks) Commit(ctx context.Context, writes []port.Write) []error {
	inside := make([]port.Write, len(writes))
	for i, w := range writes {
		inside[i] = w
		r := &inside[i].Record
		if r.ID == "" || len(r.Document) > largest || !utf8.Valid(r.Document) {
			continue
		}
		task := wrapped{Schema: 1, OrderID: r.ID, ProcessState: r.State, Version: r.Version,
			Workflow: r.Workflow,
			Created:  r.Created.UTC().Format("2006-01-02T15:04:05.000Z"),
			Steps:    map[string]inner{"only": {Output: string(r.Document)}}}
		var compact bytes.Buffer // as Marshal writes it: only what it leaves alone stands there twice
		if json.Compact(&compact, r.Document) == nil && bytes.Equal(compact.Bytes(), r.Document) {
			task.Output = r.Document
		}
		r.Document, _ = json.Marshal(task)
	}
	return s.Store.Commit(ctx, inside)
}

func unwrap(r *port.Record) {
	var task wrapped
	if r == nil || json.Unmarshal(r.Document, &task) != nil || task.OrderID == "" {
		return
	}
	r.Document = []byte(task.Steps["only"].Output)
	if len(task.Output) > 0 && !bytes.Equal(task.Output, r.Document) {
		r.Document = []byte("the two copies differ: " + string(task.Output))
	}
}

func (s tasks) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records, errs := s.Store.Load(ctx, ids)
	for _, r := range records {
		unwrap(r)
	}
	return records, errs
}

func (s tasks) List(ctx context.Context, q port.Query) (port.Page, error) {
	page, err := s.Store.List(ctx, q)
	for i := range page.Records {
		unwrap(&page.Records[i])
	}
	return page, err
}

// Every kind of number and text comes back from a real table.
func TestValuesSurviveTheTable(t *testing.T) {
	b := backends(t, dynamo.Options{})
	document := []byte(`{"Schema":1,"OrderID":"a","ProcessState":"Processing","LockedBy":null,"CompleteBy":null,"FailureCount":0,"Version":1,` +
		`"Workflow":"order","Created":"2026-11-21T10:00:00.000Z","Steps":{"z":{"N":0,"output":[0,-1,10,100,1000000,12345678901234567,99999999999999999,` +
		`123456789012345678,1.5,0.1,0.01,0.001,0.0001,-0.5,1e3,1E400,1.0,-0,12345.678901,"",null,true,{},[],{"b":1,"a":2},"é\n\u0007"]},` +
		`"a":{"N":1,"output":{"deep":[[[[1]]]],"text":"line\nline","unsorted":{"z":1,"y":{"x":1,"w":2}}}}}}`)
	w := port.Write{Record: port.Record{ID: "a", Version: 1, State: "Processing", Workflow: "order",
		Created: created, Document: document}}
	if err := b.Store.Commit(t.Context(), []port.Write{w})[0]; err != nil {
		t.Fatal(err)
	}
	records, errs := b.Store.Load(t.Context(), []string{"a"})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	var got, want map[string]any
	for text, to := range map[string]*map[string]any{string(records[0].Document): &got,
		string(document): &want} {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		if err := d.Decode(to); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("\n%s\ncomes back as\n%s", document, records[0].Document)
	}
	// What people and services have sent comes back byte for byte.
	for _, output := range []string{`[0,-1,10,100,1000000,12345678901234567,`,
		`1e3,1E400,1.0,-0,12345.678901,`, `"unsorted":{"z":1,"y":{"x":1,"w":2}}`} {
		if !bytes.Contains(records[0].Document, []byte(output)) {
			t.Errorf("%s is missing in %s", output, records[0].Document)
		}
	}
}

// Finished orders that are in no index are refused, not passed over.
func TestFinishedOrdersAreNotListed(t *testing.T) {
	b := backends(t, dynamo.Options{})
	for _, state := range []string{"Processed", "Compensated", "Cancelled"} {
		if _, err := b.Store.List(t.Context(), port.Query{State: state, Limit: 10}); !errors.Is(err,
			dynamo.ErrNotListed) {
			t.Errorf("%s: %v", state, err)
		}
	}
}

// Nothing but this machine, or an account by its number (rule 27).
func TestTargets(t *testing.T) {
	for target, good := range map[string]bool{
		"http://127.0.0.1:8000": true, "http://localhost:4566": true, "http://[::1]:8000": true,
		"account:123456789012":                     true,
		"https://dynamodb.us-east-1.amazonaws.com": false, "http://10.0.0.1:8000": false,
		"127.0.0.1:8000": false, "account:": false, "account:1": false,
	} {
		if err := dynamotest.Check(target); (err == nil) != good {
			t.Errorf("%s: %v", target, err)
		}
	}
}
