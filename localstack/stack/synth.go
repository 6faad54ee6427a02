package stack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
)

// Assembly is what the CDK app has written: a folder with a template and what the functions are
// made of.
type Assembly struct {
	Dir, Stack string
	// Template may be changed before Deploy.
	Template Template
}

// Template is the document of CloudFormation.
type Template struct {
	document map[string]any
}

// Synthesise runs infra/app of the checkout at root, with its context, and writes into dir. The
// functions are built for this machine's architecture (rule 26). Stack names and all else that can
// be told stand at infra/app/main.go; paths in the context are from the folder infra.
func Synthesise(ctx context.Context, root, dir, name string, settings map[string]string) (*Assembly, error) {
	told := maps.Clone(settings)
	if told == nil {
		told = map[string]string{}
	}
	told["stack"], told["x86"] = name, fmt.Sprint(runtime.GOARCH == "amd64")
	text, err := json.Marshal(told)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./app")
	cmd.Dir = filepath.Join(root, "infra")
	cmd.Env = append(os.Environ(), "CDK_OUTDIR="+dir, "CDK_CONTEXT_JSON="+string(text), "JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("synthesising the app in %s: %w\n%s", cmd.Dir, err, out)
	}
	return Open(dir, name)
}

// Open reads what was synthesised before.
func Open(dir, name string) (*Assembly, error) {
	a := &Assembly{Dir: dir, Stack: name}
	data, err := os.ReadFile(filepath.Join(dir, name+".template.json"))
	if err == nil {
		err = json.Unmarshal(data, &a.Template.document)
	}
	if err != nil {
		return nil, fmt.Errorf("template of stack %s: %w", name, err)
	}
	// These ask whether the account was prepared for the CDK's command line.
	delete(a.Template.document, "Rules")
	if parameters, ok := a.Template.document["Parameters"].(map[string]any); ok {
		delete(parameters, "BootstrapVersion")
	}
	return a, nil
}

// Clone is a copy that can be changed by itself.
func (t Template) Clone() Template {
	data, err := json.Marshal(t.document)
	if err == nil {
		t.document = nil
		err = json.Unmarshal(data, &t.document)
	}
	if err != nil {
		panic("a template that was JSON is none any more: " + err.Error())
	}
	return t
}

// Body is the template for CloudFormation.
func (t Template) Body() (string, error) {
	data, err := json.Marshal(t.document)
	return string(data), err
}

// Each calls f with the properties of every resource of a type, to read or change; nil properties
// become an empty object.
func (t Template) Each(kind string, f func(id string, properties map[string]any)) {
	resources, _ := t.document["Resources"].(map[string]any)
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

// ErrNoGrant is answered for a statement that no policy of the template has.
var ErrNoGrant = errors.New("no such grant")

// Revoke takes a statement, by its Sid, out of the inline policies of the role whose ID in the
// template contains a text, and answers the actions that were allowed.
func (t Template) Revoke(role, sid string) ([]any, error) {
	var revoked []any
	t.Each("AWS::IAM::Role", func(id string, properties map[string]any) {
		if !strings.Contains(id, role) {
			return
		}
		policies, _ := properties["Policies"].([]any)
		for _, p := range policies {
			policy, _ := p.(map[string]any)
			document, _ := policy["PolicyDocument"].(map[string]any)
			statements, _ := document["Statement"].([]any)
			kept := make([]any, 0, len(statements))
			for _, s := range statements {
				if statement, _ := s.(map[string]any); statement["Sid"] == sid {
					revoked = append(revoked, statement["Action"])
					continue
				}
				kept = append(kept, s)
			}
			document["Statement"] = kept
		}
	})
	if revoked == nil {
		return nil, fmt.Errorf("statement %s of role %s: %w", sid, role, ErrNoGrant)
	}
	return revoked, nil
}
