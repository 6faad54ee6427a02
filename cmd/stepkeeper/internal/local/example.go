package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/examples"
	"github.com/stepkeeper/stepkeeper/functions/agent/worker"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// exampleOrders is the number of orders in the example. With this number, a service also refuses some orders.
const exampleOrders = 40

// exampleOrder is the name of the example with the services of `stepkeeper demo`. These services record their
// calls.
const exampleOrder = "order"

func exampleNames() []string {
	others := slices.DeleteFunc(examples.Names(), func(name string) bool { return name == exampleOrder })
	return append([]string{exampleOrder}, others...)
}

// startExample writes the files of an example to a temporary folder, and sets the options of the server. The agents of
// exampleOrder call services, which inject no faults; those of the other examples are functions of this process. The
// folder is removed at the end, because the services always start without records.
func (o *devOptions) startExample(ctx context.Context) (end func(), err error) {
	dir, err := os.MkdirTemp("", "stepkeeper-example-")
	if err != nil {
		return nil, err
	}
	o.Data = filepath.Join(dir, "data")
	o.Workflows = filepath.Join(dir, "workflows")
	err = os.Mkdir(o.Workflows, 0o755)
	var fleet *services.Fleet
	switch {
	case err != nil:
	case o.example == exampleOrder:
		fleet, err = o.startOrder(ctx, dir)
	default:
		err = o.startOther(dir)
	}
	end = func() {
		var err error
		if fleet != nil {
			err = fleet.Close()
		}
		err = errors.Join(err, os.RemoveAll(dir))
		if err != nil {
			o.Log.Warn("the example's folder is left", "folder", dir, "error", err)
		}
	}
	if err != nil {
		end()
	}
	return end, err
}

// startOrder writes the files of exampleOrder and starts its services. The services outlive ctx, because the server
// may call them while it shuts down.
func (o *devOptions) startOrder(ctx context.Context, dir string) (*services.Fleet, error) {
	o.Agents = filepath.Join(dir, "agents.yaml")
	o.orders = filepath.Join(dir, "orders.jsonl")
	o.next = func(server string) string { return "stepkeeper" + server + " submit --wait " + o.orders }
	books := filepath.Join(dir, "services")
	if err := os.Mkdir(books, 0o755); err != nil {
		return nil, err
	}
	fleet, err := services.Start(context.WithoutCancel(ctx), services.Options{Dir: books})
	if err != nil {
		return nil, err
	}
	return fleet, errors.Join(os.WriteFile(filepath.Join(o.Workflows, "order.yaml"), shippedWorkflow(), 0o600),
		os.WriteFile(o.orders, append(bytes.Join(shop.First(exampleOrders), []byte("\n")), '\n'), 0o600),
		os.WriteFile(o.Agents, services.AgentsFile(fleet.URL()), 0o600))
}

// writeWorkflows writes the workflows of an example. It returns the names of the agents in the workflows.
func (o *devOptions) writeWorkflows() (agents []string, err error) {
	flows, err := fs.Glob(examples.Files, o.example+"/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, flow := range flows {
		text, err := examples.Files.ReadFile(flow)
		if !strings.HasSuffix(o.Listen, ":0") { // If the port is 0, the real port is not known yet.
			text = bytes.ReplaceAll(text, []byte("127.0.0.1:8377"), []byte(o.Listen))
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(o.Workflows, path.Base(flow)), text, 0o600))
		if err != nil {
			return nil, err
		}
	}
	files, err := source.LoadDir(o.Workflows, source.Options{})
	for _, f := range files {
		if f.Definition == nil {
			return nil, f.Problems.Err()
		}
		for _, def := range f.Definition.WithBlocks() {
			agents = slices.AppendSeq(agents, maps.Keys(def.Agents))
		}
	}
	slices.Sort(agents)
	return slices.Compact(agents), err
}

// startOther writes the files of another example and makes its agents.
func (o *devOptions) startOther(dir string) error {
	o.Agents = ""
	o.orders = filepath.Join(dir, "order.json")
	o.next = func(server string) string {
		id := o.example + "-1"
		return fmt.Sprintf("stepkeeper%s submit --workflow %s --id %s %s && stepkeeper%[1]s show %[3]s", server, o.example, id,
			o.orders)
	}
	names, err := o.writeWorkflows()
	if err != nil {
		return err
	}
	order, err := examples.Files.ReadFile(o.example + "/order.json")
	if err != nil {
		return err
	}
	outputs, err := outputsOf(o.example)
	if err != nil {
		return err
	}
	o.Operations = map[string]worker.Operations{}
	for _, agent := range names {
		o.Operations[agent] = operationsOf(agent, outputs)
	}
	return os.WriteFile(o.orders, order, 0o600)
}

// outputsOf returns what the operations of an example return.
func outputsOf(name string) (map[string][]json.RawMessage, error) {
	text, err := examples.Files.ReadFile(name + "/outputs.json")
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var outputs map[string][]json.RawMessage
	return outputs, json.Unmarshal(text, &outputs)
}

// operationsOf returns the operations of an agent of an example. Every operation succeeds, with two exceptions. The
// operation ship of the agent fedex always fails. The operation collected is not yet possible at the first request
// with each key.
func operationsOf(agent string, outputs map[string][]json.RawMessage) worker.Operations {
	var mu sync.Mutex
	keys := map[string][]string{} // keys of the requests for each operation, in the order of the first requests
	return worker.Operations{worker.AnyOperation: {Run: func(_ context.Context, c worker.Call) (any, error) {
		if agent == "fedex" && c.Name == "ship" {
			return nil, worker.WithCode(errors.New("down for maintenance"), "http-503")
		}
		mu.Lock()
		defer mu.Unlock()
		at := slices.Index(keys[c.Name], c.Key)
		if at < 0 {
			at = len(keys[c.Name])
			keys[c.Name] = append(keys[c.Name], c.Key)
			if c.Name == "collected" {
				return nil, worker.NotYet(0)
			}
		}
		if all := outputs[agent+"."+c.Name]; len(all) > 0 {
			return all[min(at, len(all)-1)], nil
		}
		return json.RawMessage("{}"), nil
	}}}
}
