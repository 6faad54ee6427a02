package scaffold

import (
	"bytes"
	"io/fs"
	"maps"
	"os"

	"github.com/stepkeeper/stepkeeper/examples/booking"
)

// bookingTest is the file of the project that needs Stepkeeper as a module, and goTest the command that runs
// it.
const (
	bookingTest = "booking_test.go"
	goTest      = "go test ./..."
)

// Project is a small working project: a workflow, the services that it calls, an order, a test.
type Project struct {
	Path       string // path of its Go module
	Go         string // Go release, for go.mod
	Stepkeeper Module // module to build against; if unknown, the project has no test of its workflow
	AWS        bool   // adds the files that deploy the project
}

// Check returns an error if the path is not valid.
func (p Project) Check() error { return checkPath(p.Path, "example.com/shop") }

// Write writes the project into a folder, which it makes, and returns the files' names. If one of the files
// exists already, it writes nothing and returns an ExistsError.
func (p Project) Write(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, err := p.Stepkeeper.files(dir, p.Path, p.Go, projectModules)
	if err != nil {
		return nil, err
	}
	err = fs.WalkDir(booking.Files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name == bookingTest && !p.Stepkeeper.Known() {
			return err
		}
		files[hidden(name)], err = booking.Files.ReadFile(name)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !p.Stepkeeper.Known() {
		files["README.md"] = withoutTest(files["README.md"])
	}
	if p.AWS {
		own, err := AWS{Go: p.Go, Stepkeeper: p.Stepkeeper}.files(dir, p.Path)
		if err != nil {
			return nil, err
		}
		maps.Copy(files, own)
	}
	return write(dir, files)
}

func withoutTest(readme []byte) []byte {
	var kept []byte
	for line := range bytes.Lines(readme) {
		if !bytes.Contains(line, []byte(bookingTest)) && !bytes.Contains(line, []byte(goTest)) {
			kept = append(kept, line...)
		}
	}
	return kept
}
