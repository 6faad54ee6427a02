//go:build !unix

package embedded

import "os/exec"

// endWithChildren does nothing on systems without process groups. Only the command itself is ended.
func endWithChildren(*exec.Cmd) {}
