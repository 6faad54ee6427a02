//go:build !unix

package embedded

import "os/exec"

// endWithChildren does nothing where there are no process groups: the command alone is ended.
func endWithChildren(*exec.Cmd) {}
