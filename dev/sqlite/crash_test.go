package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// crashFolder names the data folder to the child process.
const crashFolder = "STEPKEEPER_CRASH_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(crashFolder); folder != "" {
		writeUntilKilled(folder)
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled prints a line for each write once it was acknowledged. A SIGTERM closes the store.
func writeUntilKilled(folder string) {
	s, err := sqlite.Open(context.Background(), folder,
		sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status"}}})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	status, err := s.Queues().Queue("status")
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	terminated := make(chan os.Signal, 1)
	signal.Notify(terminated, syscall.SIGTERM)
	go func() {
		<-terminated
		if err := s.Close(); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}()
	round := time.Now().UnixNano()
	var mu sync.Mutex
	var all sync.WaitGroup
	for worker := range 16 {
		all.Go(func() {
			for n := 0; ; n++ {
				id := fmt.Sprintf("task-%d-%d-%d", round, worker, n)
				for version := int64(1); version <= 3; version++ {
					w := replacement(id, version-1)
					if version == 1 {
						w = creation(id)
					}
					err := s.Commit(context.Background(), []port.Write{w})[0]
					if err == nil && version == 3 {
						err = status.Send(context.Background(), []port.Message{{Body: []byte(id)}})[0]
						version++
					}
					mu.Lock()
					if err != nil {
						fmt.Println("error", err)
					} else {
						fmt.Println(id, version)
					}
					mu.Unlock()
					if err != nil {
						break
					}
				}
			}
		})
	}
	all.Wait()
}

// TestKilledAtAnyTime: what was acknowledged is there after SIGKILL, time after time on one folder.
func TestKilledAtAnyTime(t *testing.T) {
	folder := t.TempDir()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 1))
	acknowledged := map[string]int64{}
	for round := range 6 {
		crashOnce(t, folder, time.Duration(20+random.IntN(150))*time.Millisecond, acknowledged)
		checkAcknowledged(t, folder, acknowledged)
		require.False(t, t.Failed(), "round %d", round)
	}
	t.Logf("%d tasks", len(acknowledged))
}

// crashOnce runs the child, kills it a while after its first acknowledgement, and notes the
// highest version acknowledged of each task; 4 stands for the status sent after version 3.
func crashOnce(t *testing.T, folder string, after time.Duration, acknowledged map[string]int64) {
	t.Helper()
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), crashFolder+"="+folder)
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, child.Start())
	lines := bufio.NewReader(out)
	for first := true; ; first = false {
		line, err := lines.ReadString('\n')
		if err != nil {
			break // killed; the last line may be cut off
		}
		var id string
		var version int64
		if _, err := fmt.Sscanf(line, "%s %d", &id, &version); err != nil || !strings.HasPrefix(id, "task-") {
			t.Errorf("the child says %q", line)
			break
		}
		acknowledged[id] = max(acknowledged[id], version)
		if first {
			time.AfterFunc(after, func() { _ = child.Process.Kill() })
		}
	}
	_ = child.Process.Kill()
	_ = child.Wait()
}

func checkAcknowledged(t *testing.T, folder string, acknowledged map[string]int64) {
	t.Helper()
	s := open(t, folder, sqlite.Options{Queues: []sqlite.QueueConfig{{Name: "status"}}})
	defer closed(t, s)
	verdict, err := s.Integrity()
	require.NoError(t, err)
	require.Equal(t, "ok", verdict)
	require.NotEmpty(t, acknowledged)
	reported := 0
	for id, version := range acknowledged {
		records, errs := s.Load(t.Context(), []string{id})
		require.NoError(t, errors.Join(errs...), "%+v", version)
		require.NotNil(t, records[0], "%+v", version)
		require.GreaterOrEqual(t, records[0].Version, min(version, 3), "%+v", version)
		_, err := s.Content(t.Context(), id, "hash")
		require.NoError(t, err, id)
		if version == 4 {
			reported++
		}
	}
	q, err := s.Queues().Queue("status")
	require.NoError(t, err)
	d, err := q.Depth(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, d.Visible, reported)
}
