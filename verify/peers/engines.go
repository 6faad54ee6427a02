package main

import (
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// engine is one row of the table: an engine with one level of durability.
type engine struct {
	name, version string
	program       string
	orders        int // number of orders in a turn, enough for some seconds
	settings      []setting
}

type setting struct {
	name        string
	args, env   []string
	concurrency int
	turns       []figures
}

func engines(o options) ([]engine, error) {
	program := func(name string) string { return filepath.Join(o.programs, name) }
	sqlite, err := version(program("floor"), "modernc.org/sqlite")
	if err != nil {
		return nil, err
	}
	dbos, err := version(program("dbos"), "github.com/dbos-inc/dbos-transact-golang")
	if err != nil {
		return nil, err
	}
	sdk, err := version(program("restate"), "github.com/restatedev/sdk-go")
	if err != nil {
		return nil, err
	}
	server, err := npmVersion("@restatedev/restate-server")
	if err != nil {
		return nil, err
	}
	return []engine{
		{
			name: "floor: five writes on SQLite", version: "modernc.org/sqlite " + sqlite,
			program: program("floor"), orders: 40_000, settings: at(nil, nil, 64, 256),
		},
		{
			name: "Stepkeeper in process", version: commit(),
			program: program("bench"), orders: 15_000, settings: at([]string{"contestant"}, nil, 64, 256),
		},
		{
			name: "Stepkeeper over HTTP", version: commit(),
			program: program("bench"), orders: 8_000, settings: at([]string{"contestant", "--http"}, nil, 64,
				256),
		},
		{
			name: "Restate", version: "server " + server + ", sdk-go " + sdk,
			program: program("restate"), orders: 3_000,
			settings: restateSettings(o.server),
		},
		{
			name: "DBOS, FULL", version: dbos,
			program: program("dbos"), orders: 2_000, settings: dbosSettings("FULL"),
		},
		{
			name: "DBOS, NORMAL", version: dbos,
			program: program("dbos"), orders: 2_000, settings: dbosSettings("NORMAL"),
		},
	}, nil
}

func restateSettings(server string) []setting {
	four := []string{"-server", server, "-partitions=4"}
	all := append(at([]string{"-server", server}, nil, 64), at(four, nil, 64, 256)...)
	return append(all, at(four, []string{"GOGC=400"}, 256)...)
}

func dbosSettings(synchronous string) []setting {
	args := []string{"-synchronous=" + synchronous}
	return append(at(args, nil, 4, 64), at(args, []string{"GOGC=400"}, 64)...)
}

func at(args, env []string, concurrency ...int) (all []setting) {
	for _, c := range concurrency {
		var words []string // words that distinguish the settings of an engine
		for _, w := range append(append([]string{}, env...), args...) {
			if !strings.Contains(w, "/") && !slices.Contains([]string{"contestant", "--http", "-server"}, w) {
				words = append(words, w)
			}
		}
		name := strings.Join(append(words, fmt.Sprintf("%d at once", c)), ", ")
		all = append(all, setting{name: name, args: args, env: env, concurrency: c})
	}
	return all
}

func version(program, module string) (string, error) {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return "", fmt.Errorf("%w: make bench-peers builds it", err)
	}
	for _, d := range info.Deps {
		if d.Path == module {
			return d.Version, nil
		}
	}
	return "", fmt.Errorf("%s was not built with %s", program, module)
}

func npmVersion(name string) (string, error) {
	text, err := os.ReadFile("package.json")
	if err != nil {
		return "", err
	}
	var file struct{ Dependencies map[string]string }
	if err := json.Unmarshal(text, &file); err != nil {
		return "", err
	}
	if file.Dependencies[name] == "" {
		return "", fmt.Errorf("package.json does not ask for %s", name)
	}
	return file.Dependencies[name], nil
}

// commit returns a description of the present commit. It returns "this tree" if Git does not know the commit.
func commit() string {
	out, err := exec.Command("git", "rev-parse", "--short=8", "HEAD").Output()
	if err != nil {
		return "this tree"
	}
	return "commit " + strings.TrimSpace(string(out))
}
