package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// TestFullDisk: writes that find no room are answered ErrUnavailable and leave nothing; what was
// acknowledged stays; once there is room, writing goes on.
func TestFullDisk(t *testing.T) {
	folder := t.TempDir()
	s := open(t, folder, sqlite.Options{})
	pages, err := s.Pages()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.LimitPages(pages + 40); err != nil {
		t.Fatal(err)
	}
	acknowledged := map[string]bool{}
	refused := ""
	for i := 0; refused == ""; i++ {
		w := creation(fmt.Sprint("task-", i))
		w.Record.Document = []byte(strings.Repeat("x", 5000))
		switch err := s.Commit(t.Context(), []port.Write{w})[0]; {
		case err == nil:
			acknowledged[w.Record.ID] = true
		case errors.Is(err, port.ErrUnavailable) && strings.Contains(err.Error(), "disk is full"):
			refused = w.Record.ID
		default:
			t.Fatalf("on a full disk: %v, want %v", err, port.ErrUnavailable)
		}
	}
	if err := s.PutDefinition(t.Context(), core.DefinitionHash(make([]byte, 100_000)),
		make([]byte, 100_000)); !errors.Is(err, port.ErrUnavailable) {
		t.Errorf("a definition on a full disk: %v, want %v", err, port.ErrUnavailable)
	}
	small := replacement("task-0", 1) // this one needs no room, and finds its place
	large := creation("large")
	large.Record.Document = make([]byte, port.MaxDocument)
	together := make(chan error)
	go func() { together <- s.Commit(t.Context(), []port.Write{large})[0] }()
	must(t, s.Commit(t.Context(), []port.Write{small}))
	if err := <-together; !errors.Is(err, port.ErrUnavailable) {
		t.Errorf("a large task: %v, want %v", err, port.ErrUnavailable)
	}
	stored(t, s, acknowledged, refused, "large")

	if err := s.LimitPages(1 << 30); err != nil {
		t.Fatal(err)
	}
	must(t, s.Commit(t.Context(), []port.Write{creation(refused), large}))
	acknowledged[refused] = true
	acknowledged["large"] = true
	closed(t, s)
	s = open(t, folder, sqlite.Options{})
	defer closed(t, s)
	stored(t, s, acknowledged)
}

// stored checks that all those tasks are there, and the others are not.
func stored(t *testing.T, s *sqlite.Store, there map[string]bool, others ...string) {
	t.Helper()
	if len(there) == 0 {
		t.Fatal("nothing was acknowledged")
	}
	for id := range there {
		if r, errs := s.Load(t.Context(), []string{id}); errs[0] != nil || r[0] == nil {
			t.Errorf("task %q was acknowledged and is not there (%v)", id, errs)
		}
		if _, err := s.Content(t.Context(), id, "hash"); err != nil {
			t.Errorf("order %q: %v", id, err)
		}
	}
	for _, id := range others {
		if r, errs := s.Load(t.Context(), []string{id}); errs[0] != nil || r[0] != nil {
			t.Errorf("task %q was refused and is there (%v)", id, errs)
		}
		if _, err := s.Content(t.Context(), id, "hash"); !errors.Is(err, port.ErrNotFound) {
			t.Errorf("order %q: %v, want %v", id, err, port.ErrNotFound)
		}
	}
}
