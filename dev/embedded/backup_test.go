package embedded_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// A backup that is made while orders come in and run holds each order that was acknowledged before it began.
// All of them run to their end in a runtime on the copy.
func TestABackupUnderLoadIsRestored(t *testing.T) {
	w := newFixture(t, "5s")
	s := w.open()
	var mu sync.Mutex
	var acknowledged []string
	known := func() []string {
		mu.Lock()
		defer mu.Unlock()
		return acknowledged[:len(acknowledged):len(acknowledged)]
	}
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for sender := range 4 {
		senders.Go(func() {
			for i := 0; ; i++ {
				select {
				case <-stop:
					return
				default:
				}
				id := fmt.Sprintf("o-%d-%d", sender, i)
				if r := s.Submit(t.Context(), []message.SubmitOrder{order(t, id, "")})[0]; r.Err != nil {
					t.Errorf("order %s: %v", id, r.Err)
					return
				}
				mu.Lock()
				acknowledged = append(acknowledged, id)
				mu.Unlock()
			}
		})
	}
	eventually(t, "there is load", func() bool { return len(known()) >= 200 })
	var before []string
	var backup string
	var err error
	during := 0
	for err == nil && during == 0 {
		before = known()
		backup = filepath.Join(t.TempDir(), "backup.db")
		_, err = sqlite.Backup(t.Context(), w.options.Data, backup)
		during = len(known()) - len(before)
	}
	close(stop)
	senders.Wait()
	closeRuntime(t, s)
	require.NoError(t, err)

	copied := newFixture(t, "5s")
	data, err := os.ReadFile(backup)
	if err == nil {
		err = os.MkdirAll(copied.options.Data, 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(copied.options.Data, sqlite.FileName), data, 0o600)
	}
	require.NoError(t, err)
	s = copied.open()
	defer closeRuntime(t, s)
	for _, id := range before {
		require.Equal(t, core.Processed, wait(t, s, id).ProcessState, id)
	}
	t.Logf("%d orders before the backup, %d while it was made", len(before), during)
}
