package build

import (
	"archive/zip"
	"compress/flate"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// entryTime is the time of every entry of an archive, the earliest that the format can express.
var entryTime = time.Date(1980, time.January, 1, 0, 0, 0, 0, time.UTC)

// Zip writes an archive with the content of a folder, which is the code of a function. Each entry has one of
// two sets of rights, 0755 for folders and programs and 0644 for all other files, and the same time. Lambda runs
// functions as a user who owns none of the files, so a function cannot read a file that only its owner may read.
// Without fixed rights, the archive would depend on the umask of the machine that built it. Equal contents give
// equal bytes, and the hash of the archive covers the rights.
func Zip(out io.Writer, folder string) error {
	w := zip.NewWriter(out)
	w.RegisterCompressor(zip.Deflate,
		func(to io.Writer) (io.WriteCloser, error) { return flate.NewWriter(to, flate.BestCompression) })
	err := filepath.WalkDir(folder, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || path == folder {
			return err
		}
		return addEntry(w, folder, path)
	})
	return errors.Join(err, w.Close())
}

// ZipFile is like Zip, and writes the archive to a file.
func ZipFile(file, folder string) error {
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	return errors.Join(Zip(out, folder), out.Close())
}

// addEntry adds a folder, or a file with its content. An entry for a link has the content of the link's target.
func addEntry(w *zip.Writer, folder, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	name, err := filepath.Rel(folder, path)
	if err != nil {
		return err
	}
	header := &zip.FileHeader{Name: filepath.ToSlash(name), Method: zip.Deflate, Modified: entryTime}
	switch {
	case info.IsDir():
		header.Name = header.Name + "/"
		header.Method = zip.Store
		header.SetMode(fs.ModeDir | 0o755)
	case !info.Mode().IsRegular():
		return fmt.Errorf("%s is neither a file nor a folder; remove it", path)
	case header.Name == "bootstrap" || info.Mode()&0o100 != 0:
		header.SetMode(0o755)
	default:
		header.SetMode(0o644)
	}
	entry, err := w.CreateHeader(header)
	if err != nil || info.IsDir() {
		return err
	}
	source, err := os.Open(path)
	if err != nil {
		return err
	}
	_, err = io.Copy(entry, source)
	return errors.Join(err, source.Close())
}
