package cli

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// A new project contains the files that deploy it. The CDK app is a module of its own, ignores the files of
// npm, and compiles without the network.
func TestInitForAWS(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "2nd Shop! été")
	call{}.run(t, "init", dir, "--aws", "--module", "example.com/shop").want(t, failure.OK,
		"aws/main.go", ".github/workflows/aws.yaml", "stepkeeper aws local up")
	text := read(t, filepath.Join(dir, "aws/main.go"))
	require.Contains(t, text, `"app-2nd-shop-t-"+stage`, "the app is not short, or its stacks have another name")
	require.LessOrEqual(t, strings.Count(text, "\n"), 70)
	module := read(t, filepath.Join(dir, "aws/go.mod"))
	for _, want := range []string{"module example.com/shop/aws\n", "ignore ./node_modules", "=> ../.."} {
		require.Contains(t, module, want)
	}
	require.NotContains(t, read(t, filepath.Join(dir, "go.mod")), "aws-cdk", "the project's module has grown")
	var ci struct {
		Permissions map[string]string
		Jobs        map[string]struct{ Permissions map[string]string }
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(dir, ".github/workflows/aws.yaml"))),
		&ci))
	require.Equal(t, "read", ci.Permissions["contents"])
	require.Len(t, ci.Permissions, 1)
	require.Empty(t, ci.Jobs["test"].Permissions)
	require.Equal(t, "write", ci.Jobs["diff"].Permissions["id-token"])
	require.Equal(t, "write", ci.Jobs["deploy"].Permissions["id-token"])
	// An agent can have Go files that do not compile, and so can the packages that npm installs beside the
	// app.
	broken := filepath.Join(dir, "aws/node_modules/aws-cdk/%name%.template.go")
	require.NoError(t, os.MkdirAll(filepath.Dir(broken), 0o700))
	overwrite(t, broken, "package %name%\n")
	if testing.Short() {
		t.Skip("builds modules of their own")
	}
	for _, in := range []string{".", "aws"} {
		cmd := exec.Command("go", "vet", "./...")
		cmd.Dir = filepath.Join(dir, in)
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off", "GOPROXY=off")
		out, err := cmd.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

// The pipeline tests each agent outside the project's own module, and fails at the first agent that fails.
func TestPipelineTestsAgents(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pipeline's commands are for bash")
	}
	dir := t.TempDir()
	call{}.run(t, "init", dir, "--aws").want(t, failure.OK)
	var ci struct {
		Jobs map[string]struct {
			Steps []struct {
				Name, Run string
			}
		}
	}
	require.NoError(t, yaml.Unmarshal([]byte(read(t, filepath.Join(dir, ".github/workflows/aws.yaml"))),
		&ci))
	steps := ci.Jobs["test"].Steps
	script := steps[len(steps)-1].Run
	for language, folder := range map[string]string{
		"go": "mail", "python": "agents/stock",
		"typescript": "agents/two words",
	} {
		call{}.run(t, "agent", "new", strings.ToLower(language)+"-agent", "--language", language, "--dir",
			filepath.Join(dir, folder)).want(t, failure.OK)
	}
	bin := t.TempDir()
	for _, tool := range []string{"go", "python", "npm"} {
		overwrite(t, filepath.Join(bin, tool), "#!/bin/sh\n"+
			`echo "${PWD##*/}: `+tool+` $*"; [ "${PWD##*/} $*" != "$FAIL" ]`+"\n")
		require.NoError(t, os.Chmod(filepath.Join(bin, tool), 0o700))
	}
	run := func(fail string) (string, error) {
		cmd := exec.Command("bash", "-e", "-c", script) // GitHub runs it in this way
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GITHUB_WORKSPACE="+dir, "FAIL="+fail,
			"PATH="+bin+string(os.PathListSeparator)+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	const want = "mail: go test ./...\nstock: python -m pip install -r requirements.txt\n" +
		"stock: python -m unittest\ntwo words: npm install\ntwo words: npm test\n"
	out, err := run("nothing")
	require.NoError(t, err, out)
	require.Equal(t, want, out)
	for _, fail := range []string{"mail test ./...", "stock -m unittest", "two words test"} {
		out, err := run(fail)
		require.Error(t, err, "%s failed, and the pipeline goes on:\n%s", fail, out)
	}
}

// An existing project gets the same files. None of its own files is changed.
func TestAWSInit(t *testing.T) {
	t.Chdir(t.TempDir())
	call{}.run(t, "init", "shop").want(t, failure.OK)
	call{}.run(t, "init", "--aws", "shop", "--module-dir", ".").want(t, failure.Usage, "is not a clone",
		"--module-dir FOLDER")
	require.NoError(t, os.MkdirAll("shop/.github/workflows", 0o700))
	overwrite(t, "shop/.github/workflows/aws.yaml", "mine")
	call{}.run(t, "init", "--aws", "shop").want(t, failure.Usage,
		"nothing was written: shop/.github/workflows/aws.yaml is there already", "move it away")
	require.NoDirExists(t, "shop/aws")
	require.NoError(t, os.Remove("shop/.github/workflows/aws.yaml"))
	r := call{}.run(t, "init", "--aws", "shop", "--output", "json")
	r.want(t, failure.OK)
	d := decodeLines(t, r.out)
	require.Len(t, d, 1)
	require.Equal(t, "shop", d[0]["folder"])
	require.Len(t, d[0]["files"].([]any), 9)
	call{}.run(t, "init", "--aws", "shop").want(t, failure.Usage, "is there already")
}

// The user gets the CDK's command line that this repository is tested with.
func TestSameCommandLineOfTheCDK(t *testing.T) {
	version := func(folder string) (v struct {
		Packages map[string]struct{ Version, Integrity string }
	},
	) {
		text := read(t, filepath.Join(root, folder, "package-lock.json"))
		require.NoError(t, json.Unmarshal([]byte(text), &v))
		return v
	}
	const name = "node_modules/aws-cdk"
	own := version("infra").Packages[name]
	user := version(
		"cmd/stepkeeper/internal/scaffold/template/aws/aws").Packages[name]
	require.Equal(t, user, own)
	require.NotEmpty(t, own.Version)
}

func TestAWSLocalRefuses(t *testing.T) {
	t.Chdir(t.TempDir())
	closed := call{env: map[string]string{"LOCALSTACK_PORT": "1"}}
	closed.run(t, "aws", "local", "deploy").want(t, failure.General,
		"LocalStack at http://127.0.0.1:1 does not respond", "stepkeeper aws local up")
	call{}.run(t, "aws", "local", "deploy", "a", "b").want(t, failure.Usage, "one folder at most")
	t.Setenv("PATH", t.TempDir())
	call{}.run(t, "aws", "local", "deploy").want(t, failure.Usage, "go is missing")
	call{}.run(t, "aws", "local", "up").want(t, failure.General, "need bash")
}
