package build_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

func TestLanguageOf(t *testing.T) {
	for want, files := range map[build.Language][]string{
		build.GoLanguage: {"main.go"}, build.Python: {"agent.py", "requirements.txt"},
		build.TypeScript: {"src/agent.ts", "package.json"}, "": {"agent.py", "src/agent.js", "package.json"},
	} {
		folder := t.TempDir()
		for _, file := range files {
			placeFile(t, folder, file, "")
		}
		require.Equal(t, want, build.LanguageOf(folder), "%+v", files)
	}
	if got := build.LanguageOf(""); got != "" { // not this package
		t.Errorf("no folder: %q", got)
	}
}

func placeFile(t *testing.T, folder, file, text string) {
	t.Helper()
	path := filepath.Join(folder, file)
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
}

// The functions of both languages start with what Bundle wrote, and nothing else of this machine. It fetches
// the requirements, so -short leaves it out.
func TestBundles(t *testing.T) {
	if testing.Short() {
		t.Skip("it fetches packages")
	}
	sdk, err := filepath.Abs("../../sdk")
	require.NoError(t, err)
	handle := map[build.Language][]string{
		build.Python: {"python3", "-c", "import agent; print(agent.handler({}))"},
		build.TypeScript: {
			"node", "-e",
			"import('./index.mjs').then(m => m.handler({})).then(a => console.log(JSON.stringify(a)))",
		},
	}
	for language, files := range map[build.Language]map[string]string{
		build.Python: {
			"agent.py":         "from stepkeeper import Agent\nhandler = Agent('coats').handler\n",
			"test_agent.py":    "",
			".venv/pyvenv.cfg": "",
			"coats/desk.py":    "",
			"requirements.txt": filepath.Join(sdk, "python") + "\n",
		},
		build.TypeScript: {
			"src/agent.ts": "import { Agent } from 'stepkeeper';\nconst agent: Agent = new Agent('coats');\n" +
				"export const handler = agent.handler;\nawait agent.run();\n",
			".npmrc": "install-links=true\n",
			"package.json": `{"type": "module", "dependencies": {"stepkeeper": "file:` +
				filepath.Join(sdk, "typescript") + `"}, "devDependencies": {"esbuild": "0.28.2"}}`,
		},
	} {
		t.Run(string(language), func(t *testing.T) {
			t.Parallel()
			folder := t.TempDir()
			out := filepath.Join(t.TempDir(), "out")
			for file, text := range files {
				placeFile(t, folder, file, text)
			}
			require.NoError(t, build.Bundle(folder, out, true))
			cmd := exec.Command(handle[language][0], handle[language][1:]...)
			cmd.Dir = out
			queues, _ := json.Marshal(map[string]string{
				"requests-coats": "https://sqs/1/a",
				"replies":        "https://sqs/1/b", "quarantine": "https://sqs/1/c",
			})
			cmd.Env = append(os.Environ(), "AWS_LAMBDA_RUNTIME_API=127.0.0.1:1", "AWS_REGION=eu-central-1",
				"AWS_DEFAULT_REGION=eu-central-1", "STEPKEEPER_AGENT=coats",
				"STEPKEEPER_QUEUES="+string(queues), "PYTHONDONTWRITEBYTECODE=1")
			text, err := cmd.CombinedOutput()
			require.NoError(t, err)
			require.Contains(t, string(text), "batchItemFailures")
			for _, left := range []string{
				"test_agent.py", ".venv", "bin", "node_modules",
				"*/direct_url.json",
			} {
				found, _ := filepath.Glob(filepath.Join(out, left))
				require.Empty(t, found)
			}
			if language == build.Python {
				_, err := os.Stat(filepath.Join(out, "coats", "desk.py"))
				require.NoError(t, err)
			}
		})
	}
}

func TestBundlesThatFail(t *testing.T) {
	folder := t.TempDir()
	placeFile(t, folder, "agent.py", "")
	placeFile(t, folder, "requirements.txt", "./nowhere\n")
	err := build.Bundle(folder, t.TempDir(), true)
	require.ErrorContains(t, err, "nowhere", "a requirement that is not there")
}

// The folder of an agent may be a link to another one.
func TestBundleOfALink(t *testing.T) {
	folder := t.TempDir()
	placeFile(t, folder, "agent.py", "handler = None\n")
	placeFile(t, folder, "requirements.txt", "# none\n")
	link := filepath.Join(t.TempDir(), "coats")
	require.NoError(t, os.Symlink(folder, link))
	out := filepath.Join(t.TempDir(), "out")
	require.NoError(t, build.Bundle(link, out, true))
	require.FileExists(t, filepath.Join(out, "agent.py"))
}
