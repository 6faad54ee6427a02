//go:build unix

package sqlite

import (
	"os"
	"syscall"
)

// hasOtherNames reports whether a file exists and has several hard links.
func hasOtherNames(name string) bool {
	info, err := os.Lstat(name)
	if err != nil {
		return false
	}
	s, known := info.Sys().(*syscall.Stat_t)
	return known && s.Nlink > 1
}
