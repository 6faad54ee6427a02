package shifted_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/shifted"
)

func TestClockFollowsItsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	for _, off := range []time.Duration{0, time.Hour, -2 * time.Hour} {
		if err := shifted.Set(path, off); err != nil {
			t.Fatal(err)
		}
		c, err := shifted.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, next := range []time.Duration{off, off + time.Hour, off - time.Hour} {
			if err := shifted.Set(path, next); err != nil {
				t.Fatal(err)
			}
			end := time.Now().Add(20 * time.Second)
			for (time.Until(c.Now()) - next).Abs() > time.Minute {
				if time.Now().After(end) {
					t.Fatalf("the clock shows %s, it is to be off by %s", c.Now(), next)
				}
				time.Sleep(time.Millisecond)
			}
		}
	}
}

func TestFileThatSaysNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "offset")
	if _, err := shifted.Open(path); err == nil {
		t.Error("a file that is not there was taken")
	}
	if err := os.WriteFile(path, []byte("soon"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := shifted.Open(path); err == nil || !strings.Contains(err.Error(), "1h") {
		t.Errorf("error %v, want one that shows what to write", err)
	}
}
