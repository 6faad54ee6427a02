package cli

import (
	"fmt"
	"go/format"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// writeAgent writes an agent into a folder, against this working copy.
func writeAgent(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "card-payment")
	call{}.run(t, "agent", "new", "card-payment", "--operation", "charge", "--undo", "give-back", "--dir",
		dir, "--module-dir", root).
		want(t, failure.OK, "wrote the agent card-payment", "go test ./...")
	return dir
}

func TestAgentNewIsFormatted(t *testing.T) {
	dir := writeAgent(t)
	call{}.run(t, "workflow", "validate", filepath.Join(dir, "workflow.yaml"), "--agents",
		filepath.Join(dir, "agents.yaml")).
		want(t, failure.OK, "valid, workflow card-payment-example, 1 step,")
	sources, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(sources) != 3 {
		t.Fatalf("%v %v", sources, err)
	}
	for _, file := range sources {
		if text, err := format.Source([]byte(read(t, file))); err != nil || string(text) != read(t, file) {
			t.Errorf("%s is not formatted: %v", file, err)
		}
	}
}

// TestAgentNewCompiles generates an agent and builds and tests it as its user would.
func TestAgentNewCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	dir := writeAgent(t)
	goMod := read(t, filepath.Join(dir, "go.mod"))
	if n := strings.Count(goMod, "// indirect"); n < 10 || n > 25 || strings.Contains(goMod, "=> /") {
		t.Errorf("%d indirect requirements, at most 25 are allowed:\n%s", n, goMod)
	}
	program := filepath.Join(t.TempDir(), "agent")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}, {"build", "-o", program, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", args, err, out)
		}
	}
	// The grade that its README states: without a ledger of its own.
	service := &booksInFiles{folder: t.TempDir()}
	server := httptest.NewServer(service)
	defer server.Close()
	t.Setenv("CARD_PAYMENT_URL", server.URL)
	call{}.run(t, "agent", "test", "card-payment", "--do", "charge", "--undo", "give-back", "--input",
		`{"amount":1}`, "--between", "3",
		"--effects", `ls "`+service.folder+`" | grep -c "^$(echo "$KEY" | tr / "~")$" || true`, "--earns",
		"idempotent", "--", program).
		want(t, failure.OK, "card-payment earns idempotent")
}

// booksInFiles is a service that remembers keys. It has a file for each key that was charged.
type booksInFiles struct {
	mu     sync.Mutex
	folder string
}

func (s *booksInFiles) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := func(key string) string { return filepath.Join(s.folder, strings.ReplaceAll(key, "/", "~")) }
	var err error
	switch key := r.Header.Get("Idempotency-Key"); {
	case r.Method == http.MethodGet:
		_, err = os.Stat(file(r.FormValue("key")))
	case r.URL.Path == "/charge":
		err = os.WriteFile(file(key), nil, 0o600)
	default:
		err = os.RemoveAll(file(key))
	}
	if err != nil {
		w.WriteHeader(http.StatusNotFound)
	}
}

// The files are complete. The make target test-sdk runs their tests, with the packages installed.
func TestAgentNewInOtherLanguages(t *testing.T) {
	t.Chdir(t.TempDir())
	for language, requirement := range map[string]string{"python": "requirements.txt",
		"typescript": "package.json"} {
		r := call{}.run(t, "agent", "new", "car-hire", "--language", language, "--dir", language)
		r.want(t, failure.OK, "wrote the agent car-hire to "+language, "README.md")
		text, err := os.ReadFile(filepath.Join(language, requirement))
		if err != nil || !strings.Contains(string(text), "sdk/"+language) {
			t.Errorf("%s does not take the package from its folder: %v\n%s", requirement, err, text)
		}
		readme, err := os.ReadFile(filepath.Join(language, "README.md"))
		if err != nil || !strings.Contains(string(readme), `agent := agents["car-hire"]`) ||
			strings.Contains(string(readme), "{{") {
			t.Errorf("%s: README.md: %v\n%s", language, err, readme)
		}
	}
	call{}.run(t, "agent", "new", "x", "--language", "cobol").want(t, failure.Usage,
		"choose go, python, typescript")
}

func TestAgentNew(t *testing.T) {
	t.Chdir(t.TempDir())
	r := call{}.run(t, "agent", "new", "payment", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	if len(d) != 1 || d[0]["folder"] != "payment" {
		t.Fatalf("%s", r.out)
	}
	for _, f := range d[0]["files"].([]any) {
		text, err := os.ReadFile(filepath.Join("payment", f.(string)))
		if err != nil || len(text) == 0 || strings.Contains(string(text), "{{") ||
			strings.Contains(string(text), "<no value>") {
			t.Errorf("%s: %v\n%s", f, err, text)
		}
	}
	readme, err := os.ReadFile(filepath.Join("payment", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`agent := agents["payment"]`,
		"stepkeeper agent test payment --do create --undo remove --input", "TestEarnsItsGrade"} {
		if !strings.Contains(string(readme), want) {
			t.Errorf("README.md does not say %q", want)
		}
	}
	r = call{}.run(t, "agent", "new", "courier")
	r.want(t, failure.OK, "wrote the agent courier to courier: ", "cd courier\n", "go test ./...")
	if strings.Contains(r.out, "go mod tidy") {
		t.Errorf("nothing is to be fetched for a working copy: %s", r.out)
	}
	call{}.run(t, "agent", "new", "payment").want(t, failure.Usage, "is not empty", "--dir")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--module-dir", ".").want(t, failure.Usage,
		"is not a clone", "--module-dir FOLDER")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--undo", "create").want(t, failure.Usage,
		"different names")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--undo", "re fund").want(t, failure.Usage,
		"is not an operation's name")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--module", "a b").want(t, failure.Usage,
		"is not a module path")
	if _, err := os.Stat("p2"); err == nil {
		t.Error("a refused call has written something")
	}
}

func TestAgentValidate(t *testing.T) {
	t.Setenv("UNSET", "")
	good := write(t, "agents.yaml", `agents: {payment: {url: "https://payment.example", headers: {a: "${env:UNSET}"}}, stock: {external: true}}`)
	call{}.run(t, "agent", "validate", good).want(t, failure.OK, "valid, 2 agents: payment, stock\n",
		"that are not set: UNSET")
	r := call{}.run(t, "agent", "validate", good, "--output", "json")
	if d := decodeLines(t, r.out); len(d) != 1 || d[0]["valid"] != true || r.err != "" ||
		fmt.Sprint(d[0]["unset"]) != "[UNSET]" {
		t.Errorf("%+v", r)
	}
	bad := write(t, "agents.yaml", "agents:\n  payment:\n    url: https://payment.example\n    timout: 3s\n")
	call{}.run(t, "agent", "validate", bad).want(t, failure.Usage, bad,
		"line 4, column 5: unknown field timout; fix: did you mean timeout?")
	order := "../../../../workflows/order.yaml"
	call{}.run(t, "workflow", "validate", order, "--agents", bad).want(t, failure.Usage,
		"unknown field timout")
	call{}.run(t, "agent", "validate", "no-such.yaml").want(t, failure.NotFound, "no-such.yaml")
}
