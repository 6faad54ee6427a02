package stack

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// Assembly is the output of the CDK app: a folder with a template and the functions' content.
type Assembly struct {
	Dir, Stack string
	// Template may be changed before Deploy.
	Template Template
}

// Template is a CloudFormation template.
type Template map[string]any

// Synthesise runs infra/app of the checkout at root, with its context, and writes into dir. The
// functions are built for this machine's architecture (rule 26). Stack names and all else that can
// be set stand at infra/app/main.go; paths in the context are from the folder infra.
func Synthesise(ctx context.Context, root, dir, name string, settings map[string]string) (*Assembly, error) {
	all := maps.Clone(settings)
	if all == nil {
		all = map[string]string{}
	}
	all["stack"], all["x86"] = name, fmt.Sprint(runtime.GOARCH == "amd64")
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./app")
	cmd.Dir = filepath.Join(root, "infra")
	cmd.Env = append(os.Environ(), "CDK_OUTDIR="+dir, "CDK_CONTEXT_JSON="+string(text),
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("synthesising the app in %s: %w\n%s", cmd.Dir, err, out)
	}
	return Open(dir, name)
}

// Open reads an existing assembly.
func Open(dir, name string) (*Assembly, error) {
	a := &Assembly{Dir: dir, Stack: name}
	data, err := os.ReadFile(filepath.Join(dir, name+".template.json"))
	if err == nil {
		err = json.Unmarshal(data, &a.Template)
	}
	if err != nil {
		return nil, fmt.Errorf("template of stack %s: %w", name, err)
	}
	// These rules check whether the account was prepared for the CDK's command line.
	delete(a.Template, "Rules")
	if parameters, ok := a.Template["Parameters"].(map[string]any); ok {
		delete(parameters, "BootstrapVersion")
	}
	return a, nil
}

// Each calls f with the properties of every resource of a type, to read or change; nil properties
// become an empty object.
func (t Template) Each(kind string, f func(id string, properties map[string]any)) {
	resources, _ := t["Resources"].(map[string]any)
	for id, r := range resources {
		resource, ok := r.(map[string]any)
		if !ok || resource["Type"] != kind {
			continue
		}
		properties, ok := resource["Properties"].(map[string]any)
		if !ok {
			properties = map[string]any{}
			resource["Properties"] = properties
		}
		f(id, properties)
	}
}
