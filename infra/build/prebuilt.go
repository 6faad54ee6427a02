package build

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

var archives = map[string]string{Scheduler: "scheduler", Supervisor: "supervisor", HTTPAgent: "agent"}

// maxArchive limits an archive, and the program in the archive, in bytes. It equals Lambda's limit for a
// function's code.
const maxArchive = 250 << 20

// Prebuilt returns a Builder that uses the function archives of a release, so that an app does not need
// Stepkeeper's sources. The folder contains checksums.txt and the archives scheduler_arm64.zip,
// supervisor_arm64.zip and agent_arm64.zip. Archives for x86-64 have amd64 in their names. The Builder builds
// all other packages with Go. If an archive is missing or has a wrong checksum, the error names the archive.
func Prebuilt(folder string) Builder {
	return func(b Binary) error {
		name, shipped := archives[b.Package]
		if !shipped {
			return Go(b)
		}
		if b.X86 {
			name += "_amd64.zip"
		} else {
			name += "_arm64.zip"
		}
		if err := extract(folder, name, b.Out); err != nil {
			return fmt.Errorf("%s of the release in %s: %w; download the files of one release again", name,
				folder, err)
		}
		return nil
	}
}

func extract(folder, name, out string) error {
	data, err := readBounded(os.Open(filepath.Join(folder, name)))
	if err != nil {
		return err
	}
	sums, err := readBounded(os.Open(filepath.Join(folder, "checksums.txt")))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	line := "\n" + hex.EncodeToString(sum[:]) + "  " + name + "\n"
	if !bytes.Contains(append([]byte("\n"), sums...), []byte(line)) {
		return errors.New("checksums.txt has another checksum, or none")
	}
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return err
	}
	program, err := readBounded(archive.Open("bootstrap"))
	if err != nil {
		return err
	}
	return os.WriteFile(out, program, 0o755)
}

func readBounded[F io.ReadCloser](f F, err error) ([]byte, error) {
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxArchive+1))
	if len(data) > maxArchive {
		err = fmt.Errorf("it has more than %d bytes", maxArchive)
	}
	return data, errors.Join(err, f.Close())
}
