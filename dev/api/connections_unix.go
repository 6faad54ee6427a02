//go:build unix

package api

import "syscall"

// ofFiles returns most, or a quarter of the files that the process may open if that is less.
func ofFiles(most int) int {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		return most
	}
	return int(min(files.Cur/4, uint64(most))) //nolint:gosec // most is positive
}
