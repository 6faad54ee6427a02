//go:build !linux

package sqlite

import (
	"io/fs"
	"os"
)

// identity tells a file from all other files of the machine.
type identity struct{ info fs.FileInfo }

func identityOf(name string) (identity, error) {
	info, err := os.Stat(name)
	return identity{info}, err
}

func (i identity) same(other identity) bool { return os.SameFile(i.info, other.info) }
