// Package regularfile reads regular files up to a given size. It refuses directories, pipes, sockets and
// devices: reading a named pipe would block, and reading a device may never end. ReadIn also refuses a link
// to a file outside its directory.
package regularfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"
)

// ErrNotRegular means that the file is a directory, a named pipe, a socket or a device.
var ErrNotRegular = errors.New("not a regular file")

// ErrOutside means that the file is a link, and that its target is unreadable or outside the directory.
var ErrOutside = errors.New("it is a link that leads out of its directory, or to nothing that can be read")

// Read reads a file that the operator has named. It returns at most limit bytes. It follows links.
func Read(file string, limit int64) ([]byte, error) {
	return read(file, limit, os.Stat, os.OpenFile)
}

// ReadIn reads a file in a directory. It returns at most limit bytes. It follows a link if the target is in
// the directory too.
func ReadIn(dir *os.Root, name string, limit int64) ([]byte, error) {
	data, err := read(name, limit, dir.Stat, dir.OpenFile)
	if info, gone := dir.Lstat(name); err != nil && gone == nil && info.Mode()&fs.ModeSymlink != 0 &&
		!errors.Is(err, ErrNotRegular) {
		return nil, ErrOutside // the error of os.Root would show the target
	}
	return data, err
}

// Check returns an error if the name belongs to anything but a regular file. It does not follow links.
func Check(name string) error { return check(os.Lstat(name)) }

func read(name string, limit int64, stat func(string) (os.FileInfo, error),
	open func(string, int, os.FileMode) (*os.File, error),
) ([]byte, error) {
	// Check before opening the file, because opening a device can have an effect.
	if err := check(stat(name)); err != nil {
		return nil, err
	}
	f, err := open(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // O_NONBLOCK, because the file may be a pipe now
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if err := check(f.Stat()); err != nil {
		return nil, err
	}
	return io.ReadAll(io.LimitReader(f, limit))
}

func check(info fs.FileInfo, err error) error {
	if err != nil {
		return err
	}
	kind := "a device or another special file"
	switch mode := info.Mode(); {
	case mode.IsRegular():
		return nil
	case mode.IsDir():
		kind = "a directory"
	case mode&fs.ModeSymlink != 0:
		kind = "a link"
	case mode&fs.ModeNamedPipe != 0:
		kind = "a named pipe"
	case mode&fs.ModeSocket != 0:
		kind = "a socket"
	}
	return fmt.Errorf("it is %s, %w", kind, ErrNotRegular)
}
