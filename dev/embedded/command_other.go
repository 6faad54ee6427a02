//go:build !unix

package embedded

import "os/exec"

// endWithChildren does nothing, because these systems have no process groups. Only the command itself is
// ended.
func endWithChildren(*exec.Cmd) {}
