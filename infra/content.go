package infra

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/loopback"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// content holds the content of the functions: built programs, compiled workflows and the settings of agents. Functions
// do not contain YAML files. newContent returns an empty content, and load fills it.
type content struct {
	props Props
	// Emulated permits agents whose services run on this machine, because the functions of an emulator can
	// reach them.
	Emulated bool

	Dir      string // folder of the built functions
	Warnings []string
	// Ledgers contains the agents that need a ledger. An agent needs a ledger for a plain operation (P31, a
	// plain service needs a ledger), and for a point of no return (P22a, a proven refusal permits undo).
	Ledgers   map[string]bool
	Workflows map[string][]byte // compiled workflows, by file name
	Hashes    map[string]string // hashes of workflows, by name
	// Scheduled contains the compiled workflows that have a schedule, by file name, for the Supervisor's
	// function.
	Scheduled map[string][]byte
	Clocked   []string // names of the workflows in Scheduled
	Tokens    bool     // a workflow creates tokens (P39, a token is an answer's permission)
	// Choosable contains the agents of steps that can use one of several agents (P44, several agents can do
	// one step).
	Choosable map[string]bool
	// Children contains a text for errors by the hash of a child workflow. The text names a parent workflow
	// and the child workflow (P40, a step can have child orders).
	Children map[string]string
	Settings map[string][]byte // compiled settings of HTTP agents, by agent
	Checked  settings.File     // settings of the ready agents after the check

	built map[string]string // folders of the built programs, by package
}

// leastTimeout is the minimum timeout of a function that handles a batch.
const leastTimeout = 5 * time.Second

// maxWorkflows is the maximum number of workflows in one deployment. A template can have 200 outputs, and
// each workflow needs an output.
const maxWorkflows = 100

// newContent returns a content without workflows, with a temporary folder that close removes.
func newContent(p Props) (*content, error) {
	dir, err := os.MkdirTemp("", "stepkeeper-functions-")
	if err != nil {
		return nil, fmt.Errorf("folder for the functions: %w", err)
	}
	return &content{
		props: p, Dir: dir, built: map[string]string{},
		Ledgers: map[string]bool{}, Workflows: map[string][]byte{}, Hashes: map[string]string{},
		Settings: map[string][]byte{}, Scheduled: map[string][]byte{}, Choosable: map[string]bool{},
		Children: map[string]string{}, Checked: settings.File{Agents: map[string]settings.Agent{}},
	}, nil
}

// close removes the folder Dir. The caller must wait until the CDK has copied the folder.
func (a *content) close() { _ = os.RemoveAll(a.Dir) }

// load reads and checks the workflows and the agents' settings. The argument workflows lists files and
// folders. The error lists all problems in all files.
func (a *content) load(workflows []string) error {
	var errs []error
	for _, name := range sorted(a.props.Agents) {
		var err error
		switch agent := a.props.Agents[name]; {
		case agent.HTTP != "":
			a.Settings[name], a.Checked.Agents[name], err = httpAgent(name, agent)
			if err == nil && !a.Emulated {
				err = reachable(agent.HTTP, name, a.Checked.Agents[name].Addresses())
			}
		case agent.Folder != "":
			if build.LanguageOf(agent.Folder) == "" {
				err = fmt.Errorf("agent %q: Folder %s holds no agent: a Go main package that calls "+
					"agent.Serve, agent.py with requirements.txt, or src/agent.ts with package.json", name,
					agent.Folder)
			}
		}
		errs = append(errs, err)
	}
	if len(a.props.Agents) > 0 { // an empty map would make every step an error
		errs = append(errs, a.compile(workflows))
	}
	return errors.Join(errs...)
}

// archive builds a function and returns its archive, which contains the program and the files. The argument pkg
// is the package of a program in Go, or the folder of an agent in any language.
func (a *content) archive(name, pkg string, files map[string][]byte) (string, error) {
	folder := filepath.Join(a.Dir, name)
	archive := folder + ".zip"
	write := func() error { return a.fill(folder, pkg, files) }
	if language := build.LanguageOf(pkg); language == build.Python || language == build.TypeScript {
		write = func() error { return build.Bundle(pkg, folder, a.props.X86) }
	}
	err := write()
	if err == nil {
		err = build.ZipFile(archive, folder)
	}
	if err != nil {
		return "", fmt.Errorf("function %s cannot be built: %w", name, err)
	}
	return archive, nil
}

func (a *content) fill(folder, pkg string, files map[string][]byte) error {
	binary := a.built[pkg]
	if binary == "" {
		binary = filepath.Join(a.Dir, fmt.Sprintf("built-%d", len(a.built)))
		if err := a.props.Build(build.Binary{Package: pkg, X86: a.props.X86, Out: binary}); err != nil {
			return err
		}
		if _, err := os.Stat(binary); err != nil {
			return fmt.Errorf("the app's Build returned no error, and the file Out is not there: %w", err)
		}
		a.built[pkg] = binary
	}
	if err := errors.Join(os.MkdirAll(folder, 0o755),
		os.Link(binary, filepath.Join(folder, "bootstrap"))); err != nil {
		return err
	}
	for _, file := range sorted(files) {
		path := filepath.Join(folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, files[file], 0o644)); err != nil {
			return err
		}
	}
	return nil
}

func (a *content) compile(workflows []string) error {
	options := source.Options{
		KnownAgents: sorted(a.props.Agents),
		MaxTimeout:  a.maxTimeout,
		CannotKeep:  a.Checked.CannotKeep,
	}
	from := map[string]string{}
	var failed []error
	for _, place := range workflows {
		files, err := workflowFiles(place)
		failed = append(failed, err)
		for _, file := range files {
			d, problems := source.LoadFile(file, options)
			if err := problems.Err(); err != nil {
				failed = append(failed, err)
				continue
			}
			for _, p := range problems {
				a.Warnings = append(a.Warnings, p.String())
			}
			if other, twice := from[d.Name]; twice {
				failed = append(failed,
					fmt.Errorf("%s: workflow %s is already defined in %s; rename one of them", file, d.Name,
						other))
				continue
			}
			from[d.Name] = file
			for _, definition := range d.WithBlocks() {
				a.warnShortTimes(file, definition)
				failed = append(failed, a.add(definition))
			}
		}
	}
	if len(a.Hashes) > maxWorkflows {
		failed = append(failed,
			fmt.Errorf("there are %d workflows; %d are possible, make a second deployment", len(a.Hashes),
				maxWorkflows))
	}
	deployed := slices.Collect(maps.Values(a.Hashes))
	for _, child := range sorted(a.Children) {
		if !slices.Contains(deployed, child) {
			failed = append(failed, errors.New(a.Children[child]+
				", which is not among Workflows; add its file"))
		}
	}
	return errors.Join(failed...)
}

// maxTimeout returns the longest timeout of a step that uses the agent; 0 means no limit. A call must end
// before the context of the function ends (rule 3 of docs/reference/aws-rules.md). One second is for the work
// before the call. An external agent has no limit.
func (a *content) maxTimeout(agent string) core.Duration {
	settings := a.props.Agents[agent]
	if settings.External || settings.Timeout < leastTimeout { // the construct reports a shorter timeout
		return 0
	}
	return core.DurationOf(settings.Timeout - lambdaevent.Reserve - time.Second)
}

// leastQueueWait is the recommended minimum of queueAllowance × maxFailures. This product is the total queue
// wait after which a step fails. The start of a function, throttling, or the restart of a service can take
// this time.
const leastQueueWait = 30 * core.Second

// warnShortTimes warns about steps that fail after a short queue wait. If an account is busy or throttled,
// such a step fails although the service works, and the order may be undone.
func (a *content) warnShortTimes(file string, d *core.Definition) {
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Agent == "" { // the step calls no agent
			continue
		}
		allowance := d.Agents[s.Agent].QueueAllowance
		failures := s.Retry.MaxFailures
		if queueWait := allowance * core.Duration(failures); queueWait < leastQueueWait {
			a.Warnings = append(a.Warnings, fmt.Sprintf(
				"%s: step %s fails after %d waits of %s in the queue of agent %s, %s in all; on AWS let "+
					"it be %s or more: raise queueAllowance or maxFailures",
				file, s.Name, failures, allowance, s.Agent, queueWait, leastQueueWait))
		}
	}
}

func (a *content) add(d *core.Definition) error {
	data, err := workflow.Encode(d)
	if err != nil {
		return err
	}
	file := filepath.Join(deployment.WorkflowsFolder, d.Name+".json")
	a.Workflows[file] = data
	if d.Schedule != nil {
		a.Scheduled[file] = data
		a.Clocked = append(a.Clocked, d.Name)
	}
	if d.Events && a.props.ReplyToBuses[core.Events] == nil {
		return fmt.Errorf("workflow %s has events: true, and the deployment has no bus for them; set "+
			"ReplyToBuses[%q], or remove the line", d.Name, core.Events)
	}
	if !core.IsBlock(d.Name) {
		a.Hashes[d.Name] = workflow.Hash(data)
	}
	a.Tokens = a.Tokens || d.Tokens
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Each != nil && s.Each.Block() {
			continue // its definition was added before this one
		}
		if s.Each != nil {
			a.Children[s.Each.Definition] = fmt.Sprintf("workflow %s has children of the workflow %s", d.Name,
				s.Each.Workflow)
			continue
		}
		if s.Grade == core.Plain || s.PointOfNoReturn {
			a.Ledgers[s.Agent] = true
		}
		for _, agent := range s.AllAgents() {
			if len(s.Others) > 0 {
				a.Choosable[agent] = true
			}
		}
	}
	return nil
}

func workflowFiles(place string) ([]string, error) {
	files, err := source.Files(place)
	if err != nil {
		return nil, fmt.Errorf("workflows: %w", err)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("workflows: folder %s holds no *.yaml", place)
	}
	return files, nil
}

func httpAgent(name string, a Agent) (compiled []byte, checked settings.Agent, err error) {
	all, err := agentsfile.ReadFile(a.HTTP)
	if err != nil {
		return nil, checked, err
	}
	own, there := all.Agents[name]
	if !there {
		return nil, checked, fmt.Errorf("agents file %s has no agent %q", a.HTTP, name)
	}
	if own.External {
		return nil, checked, fmt.Errorf("agents file %s declares agent %q external; do so here too: "+
			"Agent{External: true}", a.HTTP, name)
	}
	file := settings.File{Agents: map[string]settings.Agent{name: own}}
	compiled, err = settings.Encode(file)
	if err != nil {
		return nil, checked, err
	}
	var missing []error
	given := settings.WithoutSecrets(sorted(a.Secrets), func(variable string) (string, bool) {
		value, set := a.Environment[variable]
		if !set {
			missing = append(missing,
				fmt.Errorf("agents file %s, agent %q: ${env:%s} is neither in Secrets nor in Environment",
					a.HTTP, name, variable))
			return "https://missing.invalid", true
		}
		return value, true
	})
	file, err = settings.Complete(file, given)
	if err != nil {
		missing = append(missing, fmt.Errorf("agents file %s: %w", a.HTTP, err))
	}
	return compiled, file.Agents[name], errors.Join(missing...)
}

// reachable returns an error if an address is on this machine. A function on AWS cannot reach it.
func reachable(file, name string, addresses map[string]string) error {
	for _, field := range sorted(addresses) {
		u, err := url.Parse(addresses[field])
		if err == nil && loopback.Is(u.Hostname()) {
			return fmt.Errorf("agents file %s, agent %q: its %s has the host %s, and a function on AWS "+
				"reaches no service on this machine; write the address that AWS reaches, for one stage in a "+
				"file of its own, such as agents.prod.yaml", file, name, field, u.Hostname())
		}
	}
	return nil
}
