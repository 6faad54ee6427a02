package storetest

import (
	"bytes"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// epoch is when the suite's tasks were created.
var epoch = time.Date(2026, 11, 21, 10, 0, 0, 0, time.UTC)

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// record is a running task of that version.
func record(id string, version int64) port.Record {
	return port.Record{
		ID: id, Version: version, State: "Processing", Workflow: "order", Created: epoch,
		Bucket: port.DueBucket, IndexAt: at(60), Document: fmt.Appendf(nil, `{"id":%q,"version":%d}`, id, version),
	}
}

func order(id string) *port.Order {
	return &port.Order{ID: id, ContentHash: "hash-of-" + id, Body: []byte(`{"item":"` + id + `"}`), Created: epoch}
}

func creation(id string) port.Write { return port.Write{Record: record(id, 1), Order: order(id)} }

func replacement(id string, expected int64) port.Write {
	return port.Write{Record: record(id, expected+1), Expected: expected}
}

// commit1 commits one write and answers its error.
func (s *suite) commit1(w port.Write) error {
	s.Helper()
	return s.commit(w)[0]
}

func (s *suite) commit(writes ...port.Write) []error {
	s.Helper()
	errs := s.Store.Commit(s.ctx, writes)
	if len(errs) != len(writes) {
		s.Fatalf("Commit of %d writes answers %d errors; each write needs its place", len(writes), len(errs))
	}
	return errs
}

// must commits writes that have to succeed.
func (s *suite) must(writes ...port.Write) {
	s.Helper()
	for i, err := range s.commit(writes...) {
		if err != nil {
			s.Fatalf("Commit of %q, expected version %d: %v", writes[i].Record.ID, writes[i].Expected, err)
		}
	}
}

// is checks an error against a sentinel; nil: no error.
func (s *suite) is(what string, err, sentinel error) {
	s.Helper()
	if !errors.Is(err, sentinel) {
		s.Errorf("%s: error %v, want %v", what, err, sentinel)
	}
}

// load answers the one record, nil where there is none.
func (s *suite) load(id string) *port.Record {
	s.Helper()
	records, errs := s.Store.Load(s.ctx, []string{id})
	if len(records) != 1 || len(errs) != 1 {
		s.Fatalf("Load of one ID answers %d records, %d errors", len(records), len(errs))
	}
	if errs[0] != nil {
		s.Fatalf("Load of %q: %v", id, errs[0])
	}
	return records[0]
}

// holds checks that exactly this record is stored.
func (s *suite) holds(want port.Record) {
	s.Helper()
	got := s.load(want.ID)
	if got == nil {
		s.Errorf("task %q is not there", want.ID)
		return
	}
	if diff := difference(*got, want); diff != "" {
		s.Errorf("task %q: %s", want.ID, diff)
	}
}

// difference says in what two records differ. In no bucket the sort key means nothing.
func difference(got, want port.Record) string {
	if want.Bucket == port.NoBucket {
		got.IndexAt, want.IndexAt = time.Time{}, time.Time{}
	}
	for _, field := range []struct {
		name      string
		same      bool
		got, want any
	}{
		{"ID", got.ID == want.ID, got.ID, want.ID},
		{"Version", got.Version == want.Version, got.Version, want.Version},
		{"State", got.State == want.State, got.State, want.State},
		{"Workflow", got.Workflow == want.Workflow, got.Workflow, want.Workflow},
		{"Created", got.Created.Equal(want.Created), got.Created, want.Created},
		{"Bucket", got.Bucket == want.Bucket, got.Bucket, want.Bucket},
		{"IndexAt", got.IndexAt.Equal(want.IndexAt), got.IndexAt, want.IndexAt},
		{"Document", bytes.Equal(got.Document, want.Document), len(got.Document), len(want.Document)},
	} {
		if !field.same {
			return fmt.Sprintf("%s is %v, want %v", field.name, field.got, field.want)
		}
	}
	return ""
}

// absent checks that neither order nor record is stored.
func (s *suite) absent(id string) {
	s.Helper()
	if got := s.load(id); got != nil {
		s.Errorf("task %q is there, with version %d", id, got.Version)
	}
	if _, err := s.Store.LoadOrder(s.ctx, id); !errors.Is(err, port.ErrNotFound) {
		s.Errorf("order %q: error %v, want %v", id, err, port.ErrNotFound)
	}
}

// eventually repeats check until it answers "", or says in the end what was wrong. An adapter
// whose index is not stale has one try.
func (s *suite) eventually(check func() string) {
	s.Helper()
	deadline := time.Now().Add(s.options.Settle)
	for {
		wrong := check()
		if wrong == "" {
			return
		}
		if !s.options.StaleIndex || time.Now().After(deadline) {
			s.Errorf("%s", wrong)
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}
