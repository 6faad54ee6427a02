package scaffold

import (
	"bytes"
	"maps"
	"os"

	"github.com/stepkeeper/stepkeeper/examples/booking"
)

// Only the file bookingTest needs the module of Stepkeeper. The command goTest runs this file.
const (
	bookingTest = "booking_test.go"
	goTest      = "go test ./..."
)

// Project is a small complete project: a workflow, the services that the workflow calls, an order, and a
// test.
type Project struct {
	Path       string // path of the project's Go module
	Stepkeeper Module // required module of Stepkeeper; without a module, the project has no test
	AWS        bool   // true to add the files that deploy the project to AWS
}

// Check returns an error if the module path is not valid.
func (p Project) Check() error { return checkPath(p.Path) }

// Write creates a folder, writes the project to it and returns the files' names. If one of the files already
// exists, Write returns an ExistsError and writes no file.
func (p Project) Write(dir string) ([]string, error) {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	files, err := filled(booking.Files, ".", nil)
	if err != nil {
		return nil, err
	}
	module, err := p.Stepkeeper.files(dir, p.Path, projectModules)
	if err != nil {
		return nil, err
	}
	maps.Copy(files, module)
	if !p.Stepkeeper.Known() {
		delete(files, bookingTest)
		files["README.md"] = withoutTest(files["README.md"])
	}
	if p.AWS {
		own, err := AWS{Stepkeeper: p.Stepkeeper}.files(dir, p.Path)
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
