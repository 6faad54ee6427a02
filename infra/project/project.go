// Package project finds the agents of a project. `stepkeeper init --aws` writes a CDK app that uses this
// package.
package project

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/infra"
)

// Agents returns the agents of a project for a stage. It reads the agents file dir/agents.STAGE.yaml, or
// dir/agents.yaml if the first file does not exist. `stepkeeper agent new` writes agents into folders one or
// two levels below dir, and Agents adds these too. Such a folder has its own agents.yaml, which declares the
// agent external.
func Agents(dir, stage string) (map[string]infra.Agent, error) {
	file := filepath.Join(dir, "agents."+stage+".yaml")
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		file = filepath.Join(dir, "agents.yaml")
	}
	agents, err := File(file)
	if err != nil {
		return nil, err
	}
	for _, pattern := range []string{"*", "*/*"} {
		found, err := filepath.Glob(filepath.Join(dir, pattern, "agents.yaml"))
		if err != nil {
			return nil, fmt.Errorf("agents of the project in %s: %w", dir, err)
		}
		for _, file := range found {
			path, err := filepath.Rel(dir, file)
			if err != nil || generated.MatchString(filepath.ToSlash(path)) {
				continue
			}
			declared, err := File(file)
			if err != nil {
				return nil, err
			}
			maps.DeleteFunc(declared, func(_ string, a infra.Agent) bool { return !a.External })
			for name := range declared {
				if agents[name].HTTP != "" || agents[name].Folder != "" {
					return nil, fmt.Errorf("agent %q is in %s and in %s; rename one of them, or remove "+
						"the unused one", name, agents[name].HTTP+agents[name].Folder, filepath.Dir(file))
				}
				agents[name] = infra.Agent{Folder: filepath.Dir(file)}
			}
		}
	}
	return agents, nil
}

var generated = regexp.MustCompile(`(^|/)(node_modules|cdk\.out|\.[^/]+)/`)

// File returns the agents of an agents file. An entry with "external" becomes an external agent. Each other
// entry configures the ready-made HTTP agent.
func File(file string) (map[string]infra.Agent, error) {
	all, err := agentsfile.ReadFile(file)
	if err != nil {
		return nil, err
	}
	agents := make(map[string]infra.Agent, len(all.Agents))
	for name, a := range all.Agents {
		agents[name] = infra.Agent{HTTP: file}
		if a.External {
			agents[name] = infra.Agent{External: true}
		}
	}
	return agents, nil
}
