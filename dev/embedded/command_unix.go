//go:build unix

package embedded

import (
	"os/exec"
	"syscall"
)

// endWithChildren makes the end of the command's context kill the command and its child processes.
func endWithChildren(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}
