//go:build unix

package infra_test

import (
	"archive/zip"
	"encoding/json"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
)

// Functions of all languages are packed by package build, so that Lambda can read them whatever the umask of the
// machine that deploys is.
func TestRightsOfFunctions(t *testing.T) {
	needNode(t)
	const umask = 0o077
	defer syscall.Umask(syscall.Umask(umask))
	agent := func(files map[string]string) infra.Agent {
		folder := t.TempDir()
		for name, text := range files {
			place := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o777))
			require.NoError(t, os.WriteFile(place, []byte(text), 0o777&^umask))
		}
		return infra.Agent{Folder: folder}
	}
	app, stack := newStack("Shop")
	p := shop(stack)
	p.Agents["inventory"] = agent(map[string]string{"main.go": "package main"})
	p.Agents["shipping"] = agent(map[string]string{
		"agent.py": "handler = None\n", "requirements.txt": "# none\n",
		"coats/desk.py": "",
	})
	p.Agents["notification"] = agent(map[string]string{
		"src/agent.ts": "", "package.json": "{}",
		"node_modules/.bin/esbuild": "#!/bin/sh\nfor a; do out=${a#--outfile=}; done\necho code >\"$out\"\n",
	})
	infra.NewStepkeeper(stack, "Engine", p)
	out := *app.Synth(nil).Directory()
	t.Cleanup(func() { _ = os.RemoveAll(out) })

	var manifest struct {
		Files map[string]struct {
			Source struct{ Path, Packaging string }
		}
	}
	data, err := os.ReadFile(filepath.Join(out, "Shop.assets.json"))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &manifest))
	archives := 0
	seen := map[string]os.FileMode{}
	for _, file := range manifest.Files {
		if filepath.Ext(file.Source.Path) == ".json" { // the template
			continue
		}
		archives++
		require.Equal(t, "file", file.Source.Packaging, "%s: what the CDK packs has the rights of this machine",
			file.Source.Path)
		r, err := zip.OpenReader(filepath.Join(out, file.Source.Path))
		require.NoError(t, err)
		for _, f := range r.File {
			seen[f.Name] = f.Mode().Perm()
		}
		require.NoError(t, r.Close())
	}
	require.Equal(t, 6, archives) // four agents, the Scheduler and the Supervisor
	require.Equal(t, map[string]os.FileMode{
		"bootstrap": 0o755, "agent.json": 0o644, "workflows/": 0o755,
		"workflows/order.json": 0o644, "agent.py": 0o644, "coats/": 0o755, "coats/desk.py": 0o644,
		"requirements.txt": 0o644, "index.mjs": 0o644,
	}, seen)
}
