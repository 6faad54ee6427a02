//go:build unix

package api

import "syscall"

// mostConnections returns the largest number of streams of events, and of connections that stay open between their
// requests. It is at most a quarter of the files that the process may open.
func mostConnections() int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return manyConnections
	}
	return int(min(files.Cur/4, manyConnections))
}
