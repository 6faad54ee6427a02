package token

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/regularfile"
)

// FileName is the name of the file that holds the keys in the data folder of `stepkeeper dev`.
const FileName = "token-keys.json"

// Open reads the keys from a data folder. If the folder has no keys, Open makes and stores new ones. If the
// folder has keys and replace is true, Open adds a new current key. Only one process at a time may use a data
// folder.
func Open(folder string, replace bool, now core.Time) (*Keys, error) {
	name := filepath.Join(folder, FileName)
	data, err := regularfile.Read(name, 1<<20)
	if errors.Is(err, fs.ErrNotExist) {
		k := New()
		return k, write(name, k.Encode())
	}
	if err != nil {
		return nil, fmt.Errorf("the keys of tokens in %s: %w", name, err)
	}
	k, err := Parse(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w; restore it from a backup, or remove it: the links that were sent do "+
			"not work then", name, err)
	}
	if !replace {
		return k, nil
	}
	k = k.Replace(now)
	return k, write(name, k.Encode())
}

// Exposed returns an error if every user of the machine may read or write the keys in a data folder. It
// permits access by a group, because Kubernetes with fsGroup lets a group read each file of a volume.
func Exposed(folder string) error {
	name := filepath.Join(folder, FileName)
	info, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("the keys of tokens: %w", err)
	case info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows": // Windows has no such modes
		return fmt.Errorf("others of this machine may use the keys of tokens in %s (mode %#o); "+
			"run chmod 600 on it, and replace the key if one may have read it", name, info.Mode().Perm())
	}
	return nil
}

// write replaces a file as a whole. After a crash the folder contains either the old file or the new file.
func write(name string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), FileName+".*") // CreateTemp sets mode 0600
	if err != nil {
		return fmt.Errorf("the keys of tokens: %w", err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), name)
	}
	if err != nil {
		return fmt.Errorf("the keys of tokens cannot be stored: %w", err)
	}
	return nil
}
