package sqlite_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

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
	require.NoError(t, err)
	require.NoError(t, s.LimitPages(pages+40))
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
	err = s.PutDefinition(t.Context(), core.DefinitionHash(make([]byte, 100_000)),
		make([]byte, 100_000))
	require.ErrorIs(t, err, port.ErrUnavailable, "a definition on a full disk")
	small := replacement("task-0", 1) // this one needs no room, and finds its place
	large := creation("large")
	large.Record.Document = make([]byte, port.MaxDocument)
	together := make(chan error)
	go func() { together <- s.Commit(t.Context(), []port.Write{large})[0] }()
	must(t, s.Commit(t.Context(), []port.Write{small}))
	require.ErrorIs(t, <-together, port.ErrUnavailable, "a large task")
	stored(t, s, acknowledged, refused, "large")

	require.NoError(t, s.LimitPages(1<<30))
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
	require.NotEmpty(t, there)
	for id := range there {
		r, errs := s.Load(t.Context(), []string{id})
		require.NoError(t, errs[0], id)
		require.NotNil(t, r[0], id)
		_, err := s.Content(t.Context(), id, "hash")
		require.NoError(t, err, id)
	}
	for _, id := range others {
		r, errs := s.Load(t.Context(), []string{id})
		require.NoError(t, errs[0], id)
		require.Nil(t, r[0], id)
		_, err := s.Content(t.Context(), id, "hash")
		require.ErrorIs(t, err, port.ErrNotFound, id)
	}
}
