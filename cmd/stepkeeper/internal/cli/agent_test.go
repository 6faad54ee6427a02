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

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// writeAgent writes an agent into a folder, against this working copy.
func writeAgent(t *testing.T) (dir string) {
	t.Helper()
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
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
	require.NoError(t, err)
	require.Len(t, sources, 3)
	for _, file := range sources {
		text, err := format.Source([]byte(read(t, file)))
		require.NoError(t, err)
		require.Equal(t, read(t, file), string(text))
	}
}

// TestAgentNewCompiles generates an agent and builds and tests it as its user would.
func TestAgentNewCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	dir := writeAgent(t)
	goMod := read(t, filepath.Join(dir, "go.mod"))
	n := strings.Count(goMod, "// indirect")
	require.GreaterOrEqual(t, n, 10)
	require.LessOrEqual(t, n, 25)
	require.NotContains(t, goMod, "=> /")
	program := filepath.Join(t.TempDir(), "agent")
	for _, args := range [][]string{{"vet", "./..."}, {"test", "./..."}, {"build", "-o", program, "."}} {
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
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
	for language, requirement := range map[string]string{
		"python":     "requirements.txt",
		"typescript": "package.json",
	} {
		r := call{}.run(t, "agent", "new", "car-hire", "--language", language, "--dir", language)
		r.want(t, failure.OK, "wrote the agent car-hire to "+language, "README.md")
		text, err := os.ReadFile(filepath.Join(language, requirement))
		require.NoError(t, err, requirement)
		require.Contains(t, string(text), "sdk/"+language, requirement)
		readme, err := os.ReadFile(filepath.Join(language, "README.md"))
		require.NoError(t, err, language)
		require.Contains(t, string(readme), `agent := agents["car-hire"]`, language)
		require.NotContains(t, string(readme), "{{", language)
	}
	call{}.run(t, "agent", "new", "x", "--language", "cobol").want(t, failure.Usage,
		"choose go, python, typescript")
}

func TestAgentNew(t *testing.T) {
	t.Chdir(t.TempDir())
	r := call{}.run(t, "agent", "new", "payment", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, "payment", d[0]["folder"])
	for _, f := range d[0]["files"].([]any) {
		text, err := os.ReadFile(filepath.Join("payment", f.(string)))
		require.NoError(t, err, "%v", f)
		require.NotEmpty(t, text, "%v", f)
		require.NotContains(t, string(text), "{{", "%v", f)
		require.NotContains(t, string(text), "<no value>", "%v", f)
	}
	readme, err := os.ReadFile(filepath.Join("payment", "README.md"))
	require.NoError(t, err)
	for _, want := range []string{
		`agent := agents["payment"]`,
		"stepkeeper agent test payment --do create --undo remove --input", "TestEarnsItsGrade",
	} {
		require.Contains(t, string(readme), want)
	}
	r = call{}.run(t, "agent", "new", "courier")
	r.want(t, failure.OK, "wrote the agent courier to courier: ", "cd courier\n", "go test ./...")
	require.NotContains(t, r.out, "go mod tidy", "nothing is to be fetched for a working copy")
	call{}.run(t, "agent", "new", "payment").want(t, failure.Usage, "is not empty", "--dir")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--module-dir", ".").want(t, failure.Usage,
		"is not a clone", "--module-dir FOLDER")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--undo", "create").want(t, failure.Usage,
		"different names")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--undo", "re fund").want(t, failure.Usage,
		"is not an operation's name")
	call{}.run(t, "agent", "new", "payment", "--dir", "p2", "--module", "a b").want(t, failure.Usage,
		"is not a module path")
	require.NoDirExists(t, "p2")
}

func TestAgentValidate(t *testing.T) {
	t.Setenv("UNSET", "")
	good := write(t, "agents.yaml", `agents: {payment: {url: "https://payment.example", headers: {a: "${env:UNSET}"}}, stock: {external: true}}`)
	call{}.run(t, "agent", "validate", good).want(t, failure.OK, "valid, 2 agents: payment, stock\n",
		"that are not set: UNSET")
	r := call{}.run(t, "agent", "validate", good, "--output", "json")
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, true, d[0]["valid"])
	require.Empty(t, r.err)
	require.Equal(t, "[UNSET]", fmt.Sprint(d[0]["unset"]))
	bad := write(t, "agents.yaml", "agents:\n  payment:\n    url: https://payment.example\n    timout: 3s\n")
	call{}.run(t, "agent", "validate", bad).want(t, failure.Usage, bad,
		"line 4, column 5: unknown field timout; fix: did you mean timeout?")
	order := "../../../../examples/order/order.yaml"
	call{}.run(t, "workflow", "validate", order, "--agents", bad).want(t, failure.Usage,
		"unknown field timout")
	call{}.run(t, "agent", "validate", "no-such.yaml").want(t, failure.NotFound, "no-such.yaml")
}
