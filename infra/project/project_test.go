package project_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/project"
)

// folder holds files by their names.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

func same[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %v, want %v", what, got, want)
	}
}

func TestAgents(t *testing.T) {
	const https, external = "agents: {payment: {url: https://pay.example}, mail: {external: true}, " +
		"shipping: {external: true}}", "agents: {NAME: {external: true}}"
	dir := folder(t, map[string]string{
		"agents.yaml":                https,
		"agents.prod.yaml":           "agents: {payment: {url: https://prod.example}}",
		"shipping/agents.yaml":       strings.Replace(external, "NAME", "shipping", 1),
		"agents/coat/agents.yaml":    strings.Replace(external, "NAME", "coat", 1),
		"a/b/c/agents.yaml":          strings.Replace(external, "NAME", "deep", 1),
		"node_modules/p/agents.yaml": "agents: [",
		"x/.venv/agents.yaml":        "agents: [",
		"example/agents.yaml":        "agents: {other: {url: http://127.0.0.1:9}}",
	})
	agents, err := project.Agents(dir, "dev")
	require.NoError(t, err)
	same(t, "agents", len(agents), 4)
	same(t, "payment", agents["payment"].HTTP, filepath.Join(dir, "agents.yaml"))
	same(t, "mail", agents["mail"].External, true)
	same(t, "shipping", agents["shipping"].Folder, filepath.Join(dir, "shipping"))
	same(t, "external shipping", agents["shipping"].External, false)
	same(t, "coat", agents["coat"].Folder, filepath.Join(dir, "agents", "coat"))

	agents, err = project.Agents(dir, "prod")
	require.NoError(t, err)
	same(t, "agents of prod", len(agents), 3)
	same(t, "payment of prod", agents["payment"].HTTP, filepath.Join(dir, "agents.prod.yaml"))

	for want, files := range map[string]map[string]string{
		"no such file":      {},
		"unknown field urn": {"agents.yaml": "agents: {a: {urn: x}}"},
		`agent "payment" is in`: {
			"agents.yaml":   https,
			"p/agents.yaml": strings.Replace(external, "NAME", "payment", 1),
		},
		"x/agents.yaml": {"agents.yaml": https, "x/agents.yaml": "agents: ["},
	} {
		_, err := project.Agents(folder(t, files), "dev")
		require.ErrorContains(t, err, want)
	}
}
