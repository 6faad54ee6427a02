package scaffold

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A program that has no module version writes a project that needs no module.
func TestProjectWithoutModule(t *testing.T) {
	dir := t.TempDir()
	files, err := Project{Path: "example.com/shop", Go: "1.26.0"}.Write(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if (name == "go.mod" || strings.HasSuffix(name, ".go")) &&
			strings.Contains(string(text), modulePath) {
			t.Errorf("%s needs a module that cannot be found:\n%s", name, text)
		}
		if name == bookingTest || strings.Contains(string(text), bookingTest) ||
			strings.Contains(string(text), "go test") {
			t.Errorf("%s names a test that was not written:\n%s", name, text)
		}
		if name == "README.md" && (!strings.Contains(string(text), "| `order.json` |") ||
			!strings.Contains(string(text), "stepkeeper simulate workflows/booking.yaml")) {
			t.Errorf("%s lacks what is there:\n%s", name, text)
		}
	}
}

func TestModules(t *testing.T) {
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	for _, m := range []func() (Module, error){
		func() (Module, error) { return FindModule(root) },
		func() (Module, error) { return FindModule("") }, // it was built there
	} {
		if m, err := m(); err != nil || m != (Module{Dir: root}) || m.Fetch() {
			t.Errorf("%+v, %v", m, err)
		}
	}
	if _, err := FindModule("."); !errors.Is(err, ErrNoModule) {
		t.Errorf("%v", err)
	}
	// A path that go.mod must quote.
	odd := filepath.Join(t.TempDir(), "a folder (1)")
	if err := os.CopyFS(odd, os.DirFS(filepath.Join(root, "cmd/stepkeeper/internal/streams"))); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(odd, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	files, err := Module{Dir: odd}.files(filepath.Dir(odd), "example.com/shop", "1.26.0", agentModules)
	if err != nil || !strings.Contains(string(files["go.mod"]), `=> "./a folder (1)"`) ||
		len(files["go.sum"]) == 0 {
		t.Errorf("%v\n%s", err, files["go.mod"])
	}
	files, err = Module{Version: "v1.2.3"}.files(".", "example.com/shop", "1.26.0", agentModules)
	if err != nil || !strings.Contains(string(files["go.mod"]), "require "+modulePath+" v1.2.3") ||
		files["go.sum"] != nil {
		t.Errorf("%v\n%s", err, files["go.mod"])
	}
}
