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

// archives synthesises the example with an agent in each language, on a machine with this umask. The argument
// program is the folder of the agent in Go. The result contains the rights of all entries by the hash of their
// archive.
func archives(t *testing.T, umask int, program string) map[string]map[string]os.FileMode {
	t.Helper()
	defer syscall.Umask(syscall.Umask(umask))
	agent := func(files map[string]string) infra.Agent {
		folder := t.TempDir()
		for name, text := range files {
			place := filepath.Join(folder, name)
			require.NoError(t, os.MkdirAll(filepath.Dir(place), 0o777))
			require.NoError(t, os.WriteFile(place, []byte(text), 0o666))
			require.NoError(t, os.Chmod(place, os.FileMode(0o777&^umask)))
		}
		return infra.Agent{Folder: folder}
	}
	app, stack := newStack("Shop")
	p := shop(stack)
	p.Agents["inventory"] = infra.Agent{Folder: program}
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
	all := map[string]map[string]os.FileMode{}
	for key, file := range manifest.Files {
		if filepath.Ext(file.Source.Path) == ".json" { // the template
			continue
		}
		require.Equal(t, "file", file.Source.Packaging, "%s: what the CDK packs has the rights of this machine",
			file.Source.Path)
		r, err := zip.OpenReader(filepath.Join(out, file.Source.Path))
		require.NoError(t, err)
		all[key] = map[string]os.FileMode{}
		for _, f := range r.File {
			all[key][f.Name] = f.Mode().Perm()
		}
		require.NoError(t, r.Close())
	}
	return all
}

// Functions of all languages can be read by Lambda, whatever the umask of the machine that deploys. The hash of an
// archive covers the rights of its files, so that the next deployment replaces an archive with wrong rights.
func TestRightsOfFunctions(t *testing.T) {
	needNode(t)
	program := folder(t, map[string]string{"main.go": "package main"})
	usual := archives(t, 0o022, program)
	strict := archives(t, 0o077, program)
	require.Equal(t, usual, strict)
	require.Len(t, strict, 6) // four agents, the Scheduler and the Supervisor
	seen := map[string]os.FileMode{}
	for _, files := range strict {
		for name, mode := range files {
			seen[name] = mode
		}
	}
	require.Equal(t, map[string]os.FileMode{
		"bootstrap": 0o755, "agent.json": 0o644, "workflows/": 0o755,
		"workflows/order.json": 0o644, "agent.py": 0o644, "coats/": 0o755, "coats/desk.py": 0o644,
		"requirements.txt": 0o644, "index.mjs": 0o644,
	}, seen)
}
