package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/demo/services"
)

// TestAgentNewCompiles generates an agent and builds and tests it as its user would.
func TestAgentNewCompiles(t *testing.T) {
	if testing.Short() {
		t.Skip("builds a module of its own")
	}
	root, err := filepath.Abs("../../../..")
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "card-payment")
	call{}.run(t, "agent", "new", "card-payment", "--operation", "charge", "--undo", "refund", "--dir",
		dir, "--module-dir", root).
		want(t, failure.OK, "wrote the agent card-payment", "go test ./...")
	call{}.run(t, "workflow", "validate", filepath.Join(dir, "workflows"), "--agents",
		filepath.Join(dir, "agents.yaml")).
		want(t, failure.OK, "valid, workflow card-payment-example, 1 step,")
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
	fleet, err := services.Start(t.Context(), services.Options{Dir: t.TempDir()})
	require.NoError(t, err)
	defer func() { require.NoError(t, fleet.Close()) }()
	t.Setenv("CARD_PAYMENT_URL", fleet.URL()+"/"+services.Payment)
	rows := func(kind string) string {
		return `$(grep -c '"` + kind + `","key":"'"$KEY"'"' '` + fleet.Ledger(services.Payment) + `')`
	}
	call{}.run(t, "agent", "test", "card-payment", "--do", "charge", "--undo", "refund", "--input",
		`{"card":"tok_visa","amount":1,"currency":"EUR"}`, "--between", "3",
		"--effects", `echo $((`+rows("do")+` - `+rows("undo")+`))`, "--earns", "idempotent", "--", program).
		want(t, failure.OK, "card-payment earns idempotent")
}

// The files of each language are complete. TestAgentNewCompiles builds those of Go, and the make target test-sdk runs
// the tests of the others, with the packages installed.
func TestAgentNew(t *testing.T) {
	t.Chdir(t.TempDir())
	for language, requires := range map[string][2]string{
		"go":         {"go.mod", "=> "},
		"python":     {"requirements.txt", "sdk/python"},
		"typescript": {"package.json", "sdk/typescript"},
	} {
		r := call{}.run(t, "agent", "new", "car-hire", "--language", language, "--dir", language, "--output", "json")
		r.want(t, failure.OK)
		d := decodeLines(t, r.out)
		require.Equal(t, language, d[0]["folder"])
		for _, f := range d[0]["files"].([]any) {
			text := read(t, filepath.Join(language, f.(string)))
			require.NotEmpty(t, text, "%v", f)
			require.NotContains(t, text, "{{", "%v", f)
			require.NotContains(t, text, "<no value>", "%v", f)
		}
		require.Contains(t, read(t, filepath.Join(language, requires[0])), requires[1])
		readme := read(t, filepath.Join(language, "README.md"))
		require.Contains(t, readme, `agent := agents["car-hire"]`)
		require.Contains(t, readme, "CAR_HIRE_URL")
	}
	r := call{}.run(t, "agent", "new", "courier")
	r.want(t, failure.OK, "wrote the agent courier to courier: ", "cd courier\n", "go test ./...")
	require.NotContains(t, r.out, "go mod tidy", "nothing is to be fetched for a working copy")
	readme := read(t, filepath.Join("courier", "README.md"))
	require.Contains(t, readme, "stepkeeper agent test courier --do create --undo remove --input")
	require.Contains(t, readme, "TestEarnsItsGrade")
}

func TestAgentValidate(t *testing.T) {
	t.Setenv("UNSET", "")
	good := write(t, "agents.yaml", `agents: {payment: {url: "https://payment.example", headers: {a: "${env:UNSET}"}}, stock: {external: true}}`)
	call{}.run(t, "agent", "validate", good).want(t, failure.OK, "valid, 2 agents: payment, stock\n",
		"that are not set: UNSET")
	r := call{}.run(t, "agent", "validate", good, "--output", "json")
	require.Empty(t, r.err)
	d := decodeLines(t, r.out)
	require.Equal(t, true, d[0]["valid"])
	require.Equal(t, []any{"UNSET"}, d[0]["unset"])
}
