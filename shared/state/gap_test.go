package state_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// overtaken lets others commit between a write and its answer.
type overtaken struct {
	*memory.Store
	after func()
	asked int
}

func (s *overtaken) Commit(ctx context.Context, writes []port.Write) []error {
	s.asked += len(writes)
	errs := s.Store.Commit(ctx, writes)
	if f := s.after; f != nil {
		s.after = nil
		f()
	}
	return errs
}

// P8: a commit whose answer comes after that of a newer one puts nothing old into the cache, also
// where the newer one, an end, was let go.
func TestOvertakenCommitLeavesNothing(t *testing.T) {
	under := &overtaken{Store: memory.NewStore(1)}
	s := state.New(state.Config{Store: under, Definitions: memory.NewDefinitions(), CacheTasks: 10})
	create(t, s, "o-1")
	end := task("o-1", 3)
	end.ProcessState = core.Processed
	end.Due = 0
	under.after = func() {
		require.NoError(t, s.Commit(ctx, []state.Change{{Task: end}})[0])
	}
	require.NoError(t, s.Commit(ctx, []state.Change{{Task: task("o-1", 2)}})[0])
	require.EqualValues(t, 3, load(t, s, "o-1").Version)
}

// P28: a document that is too large is not even sent to the store.
func TestDocumentTooLargeStaysHere(t *testing.T) {
	for limit, size := range map[int]int{0: port.MaxDocument, 2000: 2000} {
		under := &overtaken{Store: memory.NewStore(1)}
		s := state.New(state.Config{Store: under, Definitions: memory.NewDefinitions(), Limit: limit})
		create(t, s, "o-1")
		huge := task("o-1", 2)
		huge.Output = json.RawMessage(`"` + strings.Repeat("x", size) + `"`)
		require.ErrorIs(t, s.Commit(ctx, []state.Change{{Task: huge}})[0], port.ErrTooLarge)
		require.Equal(t, 1, under.asked)
		require.Equal(t, size, int(s.Room()))
	}
}
