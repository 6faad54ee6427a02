//go:build unix

package embedded

import (
	"os/exec"
	"syscall"
)

// endWithChildren sets cmd so that, when the command's context ends, the command and its child processes are
// killed.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
