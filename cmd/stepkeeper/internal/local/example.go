package local

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// example is a built-in workflow with its agents, in a temporary folder. The agents of exampleOrder call services,
// which inject no faults; those of the other examples are functions of this process. At the end the folder is
// removed, because the services always start without records.
type example struct {
	name       string
	dir        string
	listen     string                       // address of the server, for links in the workflows
	fleet      *services.Fleet              // services of the example exampleOrder; nil for other examples
	operations map[string]worker.Operations // agents of the other examples; nil for exampleOrder
}

func exampleNames() []string {
	others := slices.DeleteFunc(examples.Names(), func(name string) bool { return name == exampleOrder })
	return append([]string{exampleOrder}, others...)
}

func startExample(ctx context.Context, name, listen string) (*example, error) {
	e := &example{name: name, listen: listen}
	var err error
	e.dir, err = os.MkdirTemp("", "stepkeeper-example-")
	if err != nil {
		return nil, err
	}
	err = os.Mkdir(e.workflows(), 0o755)
	switch {
	case err != nil:
	case name == exampleOrder:
		err = e.startOrder(ctx)
	default:
		err = e.startOne()
	}
	if err != nil {
		return nil, errors.Join(err, e.remove())
	}
	return e, nil
}

// startOrder writes the files of exampleOrder and starts its services. The services outlive ctx, because the server
// may call them while it shuts down.
func (e *example) startOrder(ctx context.Context) (err error) {
	books := filepath.Join(e.dir, "services")
	if err := os.Mkdir(books, 0o755); err != nil {
		return err
	}
	e.fleet, err = services.Start(context.WithoutCancel(ctx), services.Options{Dir: books})
	if err != nil {
		return err
	}
	return errors.Join(writeShipped(e.workflows()), os.WriteFile(e.orders(), someOrders(), 0o600),
		os.WriteFile(e.agents(), services.AgentsFile(e.fleet.URL()), 0o600))
}

// writeWorkflows writes the workflows of an example. It returns the names of the agents in the workflows.
func (e *example) writeWorkflows() (agents []string, err error) {
	flows, err := fs.Glob(examples.Files, e.name+"/*.yaml")
	if err != nil {
		return nil, err
	}
	for _, flow := range flows {
		text, err := examples.Files.ReadFile(flow)
		if !strings.HasSuffix(e.listen, ":0") { // If the port is 0, the real port is not known yet.
			text = bytes.ReplaceAll(text, []byte("127.0.0.1:8377"), []byte(e.listen))
		}
		err = errors.Join(err, os.WriteFile(filepath.Join(e.workflows(), path.Base(flow)), text, 0o600))
		if err != nil {
			return nil, err
		}
	}
	files, err := source.LoadDir(e.workflows(), source.Options{})
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

// startOne writes the files of an example and makes its agents.
func (e *example) startOne() error {
	names, err := e.writeWorkflows()
	if err != nil {
		return err
	}
	order, err := examples.Files.ReadFile(e.name + "/order.json")
	if err != nil {
		return err
	}
	outputs, err := outputsOf(e.name)
	if err != nil {
		return err
	}
	e.operations = map[string]worker.Operations{}
	for _, agent := range names {
		e.operations[agent] = operationsOf(agent, outputs)
	}
	return os.WriteFile(e.orders(), order, 0o600)
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

// next returns the first commands for the user to run in another terminal. server contains the flags that
// select the server.
func (e *example) next(server string) string {
	if e.name == exampleOrder {
		return "stepkeeper" + server + " submit --wait " + e.orders()
	}
	id := e.name + "-1"
	return fmt.Sprintf("stepkeeper%s submit --workflow %s --id %s %s && stepkeeper%s show %s", server, e.name,
		id, e.orders(), server, id)
}

func someOrders() []byte {
	var b bytes.Buffer
	n := 0
	for line := range shop.Good(1) {
		b.Write(line)
		b.WriteByte('\n')
		n++
		if n == exampleOrders {
			break
		}
	}
	return b.Bytes()
}

func (e *example) data() string      { return filepath.Join(e.dir, "data") }
func (e *example) workflows() string { return filepath.Join(e.dir, "workflows") }

// agents returns the name of the agents file; "" if the agents are functions.
func (e *example) agents() string {
	if e.operations != nil {
		return ""
	}
	return filepath.Join(e.dir, "agents.yaml")
}

// orders returns the name of the file with the example's orders.
func (e *example) orders() string {
	if e.name == exampleOrder {
		return filepath.Join(e.dir, "orders.jsonl")
	}
	return filepath.Join(e.dir, "order.json")
}

func (e *example) close(log *slog.Logger) {
	if err := e.remove(); err != nil {
		log.Warn("the example's folder is left", "folder", e.dir, "error", err)
	}
}

func (e *example) remove() error {
	var err error
	if e.fleet != nil {
		err = e.fleet.Close()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
