package e2e

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/stretchr/testify/require"
)

// limitFiles bounds the size of the files that the process can write.
func (p *process) limitFiles(bytes uint64) {
	p.t.Helper()
	limit := unix.Rlimit{Cur: bytes, Max: unix.RLIM_INFINITY}
	if err := unix.Prlimit(p.Pid(), unix.RLIMIT_FSIZE, &limit, nil); err != nil {
		p.t.Skipf("SKIPPED: the limit of another process cannot be set here: %v", err)
	}
}

// largest is the size of the largest file of the data folder.
func (s *site) largest() uint64 {
	s.t.Helper()
	var largest int64
	files, err := filepath.Glob(filepath.Join(s.path("data"), "*"))
	require.NoError(s.t, err)
	for _, f := range files {
		if info, err := os.Stat(f); err == nil {
			largest = max(largest, info.Size())
		}
	}
	return uint64(largest) //nolint:gosec // sizes are not negative
}

// readiness asks for it, and answers whether it has that status, and what it says.
func (p *process) readiness(status int) (is bool, text string) {
	p.t.Helper()
	res, err := http.Get(p.URL() + "/readyz")
	require.NoError(p.t, err)
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	require.NoError(p.t, err)
	return res.StatusCode == status, string(body)
}

// A disk that is full stops the acknowledging of orders, loses nothing that was acknowledged, and
// when there is space again everything goes on by itself.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	shop := newShop(t, 20*time.Millisecond)
	s := shop.newSite(t)
	p := s.start()
	ids := p.submit("before", 100) // still under way when the disk is full
	p.limitFiles(s.largest())

	padding := strings.Repeat("x", 8<<10)
	submit := func(id string) *http.Response {
		res, _ := p.post(fmt.Appendf(nil,
			`{"schema":1,"orderId":%q,"workflow":"sale","order":{"card":"tok_visa","padding":%q}}`, id, padding))
		return res
	}
	refused := 0
	// long enough for replies that cannot be stored to come back several times
	full := time.Now().Add(2 * time.Second)
	for i := 0; refused < 20 || time.Now().Before(full); i++ {
		id := fmt.Sprintf("full-%d", i)
		switch res := submit(id); res.StatusCode {
		case http.StatusCreated, http.StatusOK, http.StatusAccepted:
			ids = append(ids, id)
		case http.StatusServiceUnavailable:
			require.NotEmpty(t, res.Header.Get("Retry-After"))
			refused++
			time.Sleep(10 * time.Millisecond) // the pace of the load, nothing is waited for
		default:
			t.Fatalf("order %s: status %s", id, res.Status)
		}
		require.NotEqual(t, 5000, i)
	}
	res, err := http.Get(p.URL() + "/healthz")
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, res.StatusCode)
	var text string
	eventually(t, "readiness is taken back", func() (unready bool) {
		unready, text = p.readiness(http.StatusServiceUnavailable)
		return unready
	})
	if !strings.Contains(text, "disk") || !strings.Contains(text, "room") &&
		!strings.Contains(text, "space") {
		t.Errorf("readiness does not say what is wrong: %s", text)
	}
	for _, id := range ids { // what was acknowledged can be read
		p.get(id)
	}
	t.Logf("%d orders acknowledged, %d refused for the full disk", len(ids), refused)

	p.limitFiles(unix.RLIM_INFINITY)
	began := time.Now()
	eventually(t, "orders are taken again", func() bool {
		code := submit("after").StatusCode
		return code/100 == 2
	})
	taken := time.Since(began)
	eventually(t, "it is ready again", func() bool {
		ready, _ := p.readiness(http.StatusOK)
		return ready
	})
	for _, id := range append(ids, "after") {
		p.end(id, "Processed")
	}
	t.Logf("with space again: orders taken after %s, all done after %s", taken.Round(time.Millisecond),
		time.Since(began).Round(time.Millisecond))
	p.stop()
	shop.holds(t, processed(append(ids, "after")))
}

// TestStopOnAFullDisk mounts a small disk for the data of `dev`, fills it while orders run, ends the process
// by a signal, and frees space. The next process starts, and each acknowledged order ends with its effects
// made once.
func TestStopOnAFullDisk(t *testing.T) {
	t.Parallel()
	shop := newShop(t, 0)
	s := shop.newSite(t)
	require.NoError(t, os.Mkdir(s.path("data"), 0o700))
	if err := syscall.Mount("tmpfs", s.path("data"), "tmpfs", 0, "size=16m"); err != nil {
		t.Skipf("SKIPPED: NO DISK IS FILLED HERE: mounting a tmpfs needs root: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(s.path("data"), syscall.MNT_DETACH) })
	ballast := s.path("data/ballast")
	full := make([]byte, 16<<20)
	var ids []string
	for round := range 6 {
		p := s.start()
		ids = append(ids, p.submit(fmt.Sprint("round-", round), 20)...)
		_ = os.WriteFile(ballast, full, 0o600) // it ends early: the disk is full
		eventually(t, "the disk is full", func() bool {
			id := fmt.Sprintf("full-%d-%d", round, len(ids))
			res, _ := p.post(fmt.Appendf(nil, `{"schema":1,"orderId":%q,"workflow":"sale","order":%s}`, id, good))
			if res.StatusCode/100 == 2 {
				ids = append(ids, id)
			}
			return res.StatusCode == http.StatusServiceUnavailable
		})
		if round%2 == 0 {
			_ = p.Stop() // its exit code tells of the full disk
		} else {
			p.kill()
		}
		require.NoError(t, os.Remove(ballast))
	}
	p := s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
	p.stop()
	shop.holds(t, processed(ids))
}

// What was acknowledged before and while the disk was full outlives a kill too.
func TestKilledWithFullDisk(t *testing.T) {
	t.Parallel()
	shop := newShop(t, 20*time.Millisecond)
	s := shop.newSite(t)
	p := s.start()
	ids := p.submit("before", 100)
	p.limitFiles(s.largest())
	eventually(t, "the disk is full", func() bool {
		res, _ := p.post([]byte(`{"schema":1,"orderId":"probe","workflow":"sale","order":` + good + `}`))
		return res.StatusCode == http.StatusServiceUnavailable
	})
	p.kill()
	p = s.start()
	for _, id := range ids {
		p.end(id, "Processed")
	}
}
