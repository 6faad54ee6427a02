package failure_test

import (
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// The advice about rights is not given if the process has too many open files.
func TestAdviceNamesTheLimitOfOpenFiles(t *testing.T) {
	for err, want := range map[error]string{
		syscall.EMFILE: "ulimit -n 4096", syscall.ENFILE: "ulimit -n 4096", fs.ErrPermission: "check the rights",
	} {
		failed := failure.Wrap(fmt.Errorf("open a: %w", err), failure.General, "check the rights", "it cannot start")
		require.Contains(t, failed.Do, want)
	}
}
