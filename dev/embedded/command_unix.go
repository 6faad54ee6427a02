//go:build unix

package embedded

import (
	"os/exec"
	"syscall"
)

// endWithChildren makes the end of a command's context end the command and all processes that it has started.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
