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
	"net"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/agents"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
	"github.com/stepkeeper/stepkeeper/examples"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// exampleOrders is the number of orders in the example. With this number, a service also refuses some orders.
const exampleOrders = 40

// exampleOrder is the name of the example with the services of `stepkeeper demo`. These services record their
// calls.
const exampleOrder = "order"

// example is a built-in workflow with its remote services, in a temporary folder. The services inject no
// faults. At the end the folder is removed, because the services always start without records.
type example struct {
	name   string
	dir    string
	listen string          // address of the server, for links in the workflows
	fleet  *services.Fleet // services of the example exampleOrder; nil for other examples
	stop   func() error    // function that stops the service of the other examples; nil for exampleOrder
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
		os.WriteFile(e.agents(), agents.File(e.fleet.URL, nil), 0o600))
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

// startOne writes the files of an example and starts the service that the agents call.
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
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	service := &exampleService{outputs: outputs, keys: map[string][]string{}}
	server := &http.Server{Handler: service, ReadHeaderTimeout: time.Second}
	ended := make(chan error)
	go func() {
		ended <- port.Guard(nil, "the example's service", func() error { return server.Serve(listener) })
	}()
	e.stop = func() error {
		err := server.Close()
		if served := <-ended; !errors.Is(served, http.ErrServerClosed) {
			err = errors.Join(err, served)
		}
		return err
	}
	var agents strings.Builder
	agents.WriteString("agents:\n")
	for _, agent := range names {
		fmt.Fprintf(&agents, "  %s: {url: \"http://%s/%s\", allow: {loopback: true}, classify: {425: "+
			"not-yet}}\n", agent, listener.Addr(), agent)
	}
	return errors.Join(os.WriteFile(e.agents(), []byte(agents.String()), 0o600),
		os.WriteFile(e.orders(), order, 0o600))
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

// exampleService is an HTTP service for the examples. Every operation succeeds, with two exceptions. The
// operation ship of the agent fedex always fails. The operation collected returns "not yet" to the first
// request with each key.
type exampleService struct {
	outputs map[string][]json.RawMessage

	mu   sync.Mutex
	keys map[string][]string // keys of the requests for each operation, in the order of the first requests
}

func (s *exampleService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	agent, operation, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if agent == "fedex" && operation == "ship" {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	at, again := s.place(agent+"."+operation, r.Header.Get("Idempotency-Key"))
	if operation == "collected" && !again {
		http.Error(w, "no carrier was here", http.StatusTooEarly)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	output := json.RawMessage("{}")
	if all := s.outputs[agent+"."+operation]; len(all) > 0 {
		output = all[min(at, len(all)-1)]
	}
	_, _ = w.Write(output)
}

// place returns the place of a key among those of an operation. It also returns whether the key came before.
func (s *exampleService) place(operation, key string) (at int, again bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at = slices.Index(s.keys[operation], key)
	if at >= 0 {
		return at, true
	}
	s.keys[operation] = append(s.keys[operation], key)
	return len(s.keys[operation]) - 1, false
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
func (e *example) agents() string    { return filepath.Join(e.dir, "agents.yaml") }

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
	if e.stop != nil {
		err = e.stop()
	}
	return errors.Join(err, os.RemoveAll(e.dir))
}
