package dynamo_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Every kind of number and text comes back from a real table.
func TestValuesSurviveTheTable(t *testing.T) {
	s := newStore(t, dynamo.Options{})
	document := []byte(`{"Schema":1,"OrderID":"a","ProcessState":"Processing","LockedBy":null,"CompleteBy":null,"FailureCount":0,"Version":1,` +
		`"Workflow":"order","Created":"2026-11-21T10:00:00.000Z","Steps":{"z":{"N":0,"output":[0,-1,10,100,1000000,12345678901234567,99999999999999999,` +
		`123456789012345678,1.5,0.1,0.01,0.001,0.0001,-0.5,1e3,1E400,1.0,-0,12345.678901,"",null,true,{},[],{"b":1,"a":2},"é\n\u0007"]},` +
		`"a":{"N":1,"output":{"deep":[[[[1]]]],"text":"line\nline","unsorted":{"z":1,"y":{"x":1,"w":2}}}}}}`)
	w := port.Write{Record: port.Record{
		ID: "a", Version: 1, State: "Processing", Workflow: "order",
		Created: created, Document: document,
	}}
	if err := s.Commit(t.Context(), []port.Write{w})[0]; err != nil {
		t.Fatal(err)
	}
	records, errs := s.Load(t.Context(), []string{"a"})
	if errs[0] != nil {
		t.Fatal(errs[0])
	}
	var got, want map[string]any
	for text, to := range map[string]*map[string]any{
		string(records[0].Document): &got,
		string(document):            &want,
	} {
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
	for _, output := range []string{
		`[0,-1,10,100,1000000,12345678901234567,`,
		`1e3,1E400,1.0,-0,12345.678901,`, `"unsorted":{"z":1,"y":{"x":1,"w":2}}`,
	} {
		if !bytes.Contains(records[0].Document, []byte(output)) {
			t.Errorf("%s is missing in %s", output, records[0].Document)
		}
	}
}

// Finished orders that are in no index are refused, not passed over.
func TestFinishedOrdersAreNotListed(t *testing.T) {
	s := newStore(t, dynamo.Options{})
	for _, state := range []string{"Processed", "Compensated", "Cancelled"} {
		if _, err := s.List(t.Context(), port.Query{State: state, Limit: 10}); !errors.Is(err,
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
