package cdkapp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/infra/emulate"
)

// Assembly is the output of a CDK app: a folder with a template and the code of the functions.
type Assembly struct {
	Dir, Stack string
	// Template is the parsed template. The caller may change it before Deploy.
	Template Template
	assets   struct{ Files map[string]asset }
}

// asset is a file or a folder that the template refers to.
type asset struct {
	Source       struct{ Path, Packaging string }
	Destinations map[string]struct{ BucketName, ObjectKey string }
}

// read returns an asset as the bucket has it: a folder is a zip file there.
func (a *Assembly) read(file asset) (body []byte, err error) {
	path := filepath.Join(a.Dir, file.Source.Path)
	if file.Source.Packaging == "zip" {
		var buffer bytes.Buffer
		err = build.Zip(&buffer, path)
		body = buffer.Bytes()
	} else {
		body, err = os.ReadFile(path)
	}
	if err != nil {
		return nil, fmt.Errorf("asset %s: %w", file.Source.Path, err)
	}
	return body, nil
}

// Template is a CloudFormation template.
type Template map[string]any

// Resources returns the number of resources.
func (t Template) Resources() int {
	all, _ := t["Resources"].(map[string]any)
	return len(all)
}

// ErrNoApp means that a folder contains no CDK app.
var ErrNoApp = errors.New("there is no CDK app: no cdk.json")

// Synthesise runs the CDK app in the folder app, with the command in cdk.json. The app writes its output into
// dir. Synthesise adds the settings and the emulator's name to the app's context. The app then builds the
// functions for this machine's architecture (rule 26 in docs/reference/aws-rules.md).
func Synthesise(ctx context.Context, app, dir, emulator string,
	settings map[string]string,
) (*Assembly, error) {
	data, err := os.ReadFile(filepath.Join(app, "cdk.json"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s: %w", app, ErrNoApp)
	}
	var file struct {
		App     string
		Context map[string]any
	}
	if err == nil {
		err = json.Unmarshal(data, &file)
	}
	if err == nil && file.App == "" {
		err = errors.New(`"app" is missing: write the command of the CDK app, such as go run ./app`)
	}
	if err != nil {
		return nil, fmt.Errorf("cdk.json in %s: %w", app, err)
	}
	all := map[string]any{}
	maps.Copy(all, file.Context)
	for key, value := range settings {
		all[key] = value
	}
	all[emulate.Context] = emulator
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", file.App)
	cmd.Dir = app
	cmd.Env = append(os.Environ(), "CDK_OUTDIR="+dir, "CDK_CONTEXT_JSON="+string(text),
		"JSII_SILENCE_WARNING_END_OF_LIFE_NODE_VERSION=20")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("the CDK app in %s: %w\n%s", app, err, out)
	}
	found, err := filepath.Glob(filepath.Join(dir, "*.template.json"))
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("the CDK app in %s has %d stacks; it must have one", app, len(found))
	}
	return open(dir, strings.TrimSuffix(filepath.Base(found[0]), ".template.json"))
}

func open(dir, name string) (*Assembly, error) {
	a := &Assembly{Dir: dir, Stack: name}
	for file, to := range map[string]any{".template.json": &a.Template, ".assets.json": &a.assets} {
		data, err := os.ReadFile(filepath.Join(dir, name+file))
		if err == nil {
			err = json.Unmarshal(data, to)
		}
		if err != nil {
			return nil, fmt.Errorf("output of the CDK app, %s%s: %w", name, file, err)
		}
	}
	// The template's rules require the CDK's bootstrap, which the emulator does not have.
	delete(a.Template, "Rules")
	if parameters, ok := a.Template["Parameters"].(map[string]any); ok {
		delete(parameters, "BootstrapVersion")
	}
	return a, nil
}

// Each calls f with the properties of every resource of a type. The function f may change the properties. If
// a resource has no properties, Each adds an empty object.
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
