package storetest

import (
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// taskDocument is a document as the core writes it, with room for further members.
func taskDocument(further string) string {
	return `{"Schema":1,"OrderID":"a","ProcessState":"Processing","LockedBy":null,"CompleteBy":null,"FailureCount":0,"Version":1,` +
		`"Workflow":"order","Created":"2026-11-21T10:00:00.000Z"` + further + `,"Steps":{"pay":{"N":0,"ProcessState":"Pending","LockedBy":null,"CompleteBy":null,"FailureCount":0}}}`
}

// documentCases: a Store gives every document back byte for byte, those of newer code too.
func documentCases() []testCase {
	var cases []testCase
	for _, c := range []struct{ name, document string }{
		{"a task's", taskDocument("")},
		{"unknown fields of a task", taskDocument(`,"later":{"deep":[1,2,{"x":null}]},"aNewFlag":true`)},
		{"verdicts of a task (P5)", taskDocument(`,"verdicts":[{"n":1,"by":"c-1","at":"2026-11-21T10:00:00.000Z","code":"refused"}]`)},
		{"unknown fields of a step", strings.Replace(taskDocument(""), `"FailureCount":0}}`, `"FailureCount":0,"later":{"a":1}}}`, 1)},
		{"members in another order", `{"Workflow":"order","Version":1,"Steps":{},"OrderID":"a","ProcessState":"Processing","Created":"2026-11-21T10:00:00.000Z"}`},
		{"names that an index could have", taskDocument(`,"bucket":"due#0","dueAt":"x","expiresAt":1,"Writer":"w","Document":"d","row":1,"order_id":"b"`)},
		{"names that a query could have", taskDocument(`,"#n":1,":v":2,"a.b":3,"a[0]":4,"":5,"$.x":6,"select":7`)},
		{"names that stand twice", taskDocument(`,"x":1,"x":2`)},
		{"of another task", strings.Replace(taskDocument(""), `"OrderID":"a"`, `"OrderID":"b"`, 1)},
		{"of another version", strings.Replace(taskDocument(""), `"Version":1`, `"Version":7`, 1)},
		{"numbers of every form", taskDocument(`,"n":[0,-0,1.0,1e3,1E+400,0.0001,123456789012345678901234567890,-1.5e-7]`)},
		{"text of every form", taskDocument(`,"t":["é","\u00e9","\n","\u0000","\/","😀","\ud83d\ude00","' OR 1=1 --"]`)},
		{"empty things", taskDocument(`,"e":[{},[],"",null,[[]],[{}]]`)},
		{"deep", taskDocument(`,"d":` + strings.Repeat("[", 60) + strings.Repeat("]", 60))},
		{"white space", " { \"a\" :\t1 ,\n \"b\":[ 1 , 2 ] } "},
		{"an empty object", "{}"},
		{"no object", `["a",1]`},
		{"no JSON", "hello, 'world' \"; -- {"},
		{"not even text", "\xff\xfe\x00\x01\x80"},
	} {
		cases = append(cases, testCase{name: "kept byte for byte: " + c.name, run: func(s *suite) {
			w := creation("a")
			w.Record.Document = []byte(c.document)
			s.must(w)
			s.keeps(w.Record)
			w.Record.Version, w.Expected, w.Order = 2, 1, nil
			s.must(w)
			s.keeps(w.Record)
		}})
	}
	return cases
}

// keeps checks the record, and shows the document where it differs.
func (s *suite) keeps(want port.Record) {
	s.Helper()
	if got := s.load(want.ID); got == nil || string(got.Document) != string(want.Document) {
		s.Errorf("the document is\n%+v, want\n%s", got, want.Document)
		return
	}
	s.holds(want)
}

// sizeCases: around what is billed, paged and limited by.
func sizeCases() []testCase {
	var cases []testCase
	for _, size := range []int{2, 1023, 1024, 1025, 4095, 4096, 4097, 65_536, 262_145, port.MaxDocument - 1, port.MaxDocument} {
		cases = append(cases, testCase{name: fmt.Sprintf("a document of %d bytes", size), run: func(s *suite) {
			w := creation("a")
			w.Record.Document = document(size)
			s.must(w)
			s.holds(w.Record)
			s.must(replacement("a", 1))
			w = replacement("a", 2)
			w.Record.Document = document(size)
			s.must(w)
			s.holds(w.Record)
		}})
	}
	for _, size := range []int{2, 1024, 4096, port.MaxOrder - 1, port.MaxOrder} {
		cases = append(cases, testCase{name: fmt.Sprintf("an order of %d bytes", size), run: func(s *suite) {
			w := creation("a")
			w.Order.Body = document(size)
			s.must(w)
			s.orderIs("a", w.Order)
		}})
	}
	return cases
}

// fieldCases: the fields beside the document are kept, whatever is in them.
func fieldCases() []testCase {
	var cases []testCase
	add := func(name string, change func(*port.Record)) {
		cases = append(cases, testCase{name: name, run: func(s *suite) {
			w := creation("a")
			change(&w.Record)
			w.Order.Created = w.Record.Created
			s.must(w)
			s.holds(w.Record)
			s.orderIs("a", w.Order)
		}})
	}
	for _, state := range []string{"Pending", "Processing", "Processed", "Error", "Compensating", "Compensated", "Cancelled", "a state of later code"} {
		add("state "+state, func(r *port.Record) { r.State = state })
	}
	for _, workflow := range []string{"w", strings.Repeat("w", 40), "with space", "größe-日本", "'; DROP TABLE tasks; --"} {
		add("workflow "+workflow, func(r *port.Record) { r.Workflow = workflow })
	}
	for _, c := range []struct {
		name string
		t    time.Time
	}{
		{"at the beginning of time", time.Unix(0, 1e6)}, {"before the epoch", time.Date(1969, 12, 31, 23, 59, 59, 999e6, time.UTC)},
		{"far away", time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)}, {"a leap day", time.Date(2028, 2, 29, 0, 0, 0, 1e6, time.UTC)},
		{"of another zone", time.Date(2026, 11, 21, 1, 2, 3, 4e6, time.FixedZone("there", -5*3600))},
	} {
		add("created: "+c.name, func(r *port.Record) { r.Created = c.t })
		add("due: "+c.name, func(r *port.Record) { r.IndexAt = c.t })
	}
	return cases
}
