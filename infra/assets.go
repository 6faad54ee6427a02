package infra

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent/agentsfile"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/lambdaevent"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// assets holds the content of the functions: binaries, and compiled files beside them, so that no function
// carries YAML. The folder is removed once CDK has copied it.
type assets struct {
	props    Props
	dir      string
	built    map[string]string // folders of the built programs, by package
	warnings []string
	// agents that need a ledger: with a plain operation (P31), or a point of no return (P22a)
	ledgers map[string]bool
	flows   map[string][]byte
	hashes  map[string]string // hashes of workflows, by name
	// scheduled holds the files of workflows that start by the clock, for the Supervisor.
	scheduled map[string][]byte
	clocked   []string        // names of these workflows
	tokens    bool            // a workflow makes tokens of answers (P39)
	choosable map[string]bool // agents of steps that can choose among several (P44)
	// names of the parent workflows, by hash of their child workflow (P40)
	children map[string]string
	settings map[string][]byte // settings of agents of an agents file, by name
	agents   httpagent.Config  // these agents, checked
	emulator string            // emulator to deploy to; "" for AWS
}

func newAssets(p Props) (*assets, error) {
	dir, err := os.MkdirTemp("", "stepkeeper-functions-")
	if err != nil {
		return nil, fmt.Errorf("folder for the functions: %w", err)
	}
	return &assets{props: p, dir: dir, built: map[string]string{}, ledgers: map[string]bool{},
		flows:  map[string][]byte{},
		hashes: map[string]string{}, settings: map[string][]byte{}, scheduled: map[string][]byte{},
		choosable: map[string]bool{}, children: map[string]string{},
		agents: httpagent.Config{Agents: map[string]httpagent.Agent{}}}, nil
}

func (a *assets) close() { _ = os.RemoveAll(a.dir) }

// compile reads the workflows and the agents' settings, before anything is built. The error lists every
// problem of every file.
func (a *assets) compile() error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(a.props.Agents)) {
		var err error
		switch agent := a.props.Agents[name]; {
		case agent.HTTP != "":
			a.settings[name], a.agents.Agents[name], err = httpAgent(name, agent)
			if err == nil && a.emulator == "" {
				err = reachable(agent.HTTP, name, string(a.agents.Agents[name].URL))
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
	if len(a.props.Agents) > 0 { // an app without agents would make every step wrong
		errs = append(errs, a.workflows())
	}
	return errors.Join(errs...)
}

// folder builds a package and writes files beside it.
func (a *assets) folder(name, pkg string, files map[string][]byte) (string, error) {
	folder := filepath.Join(a.dir, name)
	if err := a.fill(folder, pkg, files); err != nil {
		return "", fmt.Errorf("function %s cannot be built: %w", name, err)
	}
	return folder, nil
}

func (a *assets) fill(folder, pkg string, files map[string][]byte) error {
	binary := a.built[pkg]
	if binary == "" {
		binary = filepath.Join(a.dir, fmt.Sprintf("built-%d", len(a.built)))
		if err := a.props.Build(build.Binary{Package: pkg, X86: a.props.X86, Out: binary}); err != nil {
			return err
		}
		if _, err := os.Stat(binary); err != nil {
			return fmt.Errorf("the app's Build answered no error, and the file Out is not there: %w", err)
		}
		a.built[pkg] = binary
	}
	bootstrap := filepath.Join(folder, "bootstrap")
	// the mode is the same on every machine, because the hash includes it
	if err := errors.Join(os.MkdirAll(folder, 0o755), os.Link(binary, bootstrap),
		os.Chmod(bootstrap, 0o755)); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(folder, file)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
			os.WriteFile(path, files[file], 0o644)); err != nil {
			return err
		}
	}
	return nil
}

// workflows compiles all files. The error lists every problem of every file.
func (a *assets) workflows() error {
	options := source.Options{
		KnownAgents: slices.Sorted(maps.Keys(a.props.Agents)),
		MaxTimeout:  a.maxTimeout,
		CannotKeep:  a.agents.CannotKeep,
	}
	from := map[string]string{}
	var failed []error
	for _, place := range a.props.Workflows {
		files, err := workflowFiles(place)
		failed = append(failed, err)
		for _, file := range files {
			d, problems := source.LoadFile(file, options)
			if err := problems.Err(); err != nil {
				failed = append(failed, err)
				continue
			}
			for _, p := range problems {
				a.warnings = append(a.warnings, p.String())
			}
			if other, twice := from[d.Name]; twice {
				failed = append(failed,
					fmt.Errorf("%s: workflow %s is already defined in %s; rename one of them", file, d.Name,
						other))
				continue
			}
			from[d.Name] = file
			a.warnShortTimes(file, d)
			failed = append(failed, a.add(d))
		}
	}
	if len(a.hashes) > maxWorkflows {
		failed = append(failed,
			fmt.Errorf("there are %d workflows; %d are possible, make a second deployment", len(a.hashes),
				maxWorkflows))
	}
	deployed := slices.Collect(maps.Values(a.hashes))
	for _, child := range slices.Sorted(maps.Keys(a.children)) {
		if !slices.Contains(deployed, child) {
			failed = append(failed, errors.New(a.children[child]+
				", which is not among Workflows; add its file"))
		}
	}
	ids := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(a.hashes)) {
		if other, taken := ids[pascal(name)]; taken {
			failed = append(failed,
				fmt.Errorf(
					"workflows %s and %s: their names are too much alike, both would own the output "+
						"Workflow%s; call one of them otherwise", other, name, pascal(name)))
		}
		ids[pascal(name)] = name
	}
	return errors.Join(failed...)
}

// maxTimeout returns the longest timeout of the agent's steps. One handling must end before the function's
// context does (rule 3), and a second remains for the work before the call. An external agent has no limit.
func (a *assets) maxTimeout(agent string) core.Duration {
	settings := a.props.Agents[agent]
	if settings.External || settings.Timeout < leastTimeout { // reported separately
		return 0
	}
	return core.DurationOf(settings.Timeout - lambdaevent.Reserve - time.Second)
}

// leastQueueWait is the shortest sensible queue wait before a step fails for good. The start of a function, a
// throttled minute, or a service's restart takes that long.
const leastQueueWait = 30 * core.Second

// warnShortTimes warns about steps that fail after a short queue wait. With the times of a demo, on a busy or
// throttled account, orders would be undone without a fault.
func (a *assets) warnShortTimes(file string, d *core.Definition) {
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Agent == "" { // the step calls no agent
			continue
		}
		allowance, failures := d.Agents[s.Agent].QueueAllowance, s.Retry.MaxFailures
		if queueWait := allowance * core.Duration(failures); queueWait < leastQueueWait {
			a.warnings = append(a.warnings, fmt.Sprintf(
				"%s: step %s fails after %d waits of %s in the queue of agent %s, %s in all; on AWS let "+
					"it be %s or more: raise queueAllowance or maxFailures",
				file, s.Name, failures, allowance, s.Agent, queueWait, leastQueueWait))
		}
	}
}

func (a *assets) add(d *core.Definition) error {
	data, err := workflow.Encode(d)
	if err != nil {
		return err
	}
	file := filepath.Join(deployment.WorkflowsFolder, d.Name+".json")
	a.flows[file] = data
	if d.Schedule != nil {
		a.scheduled[file], a.clocked = data, append(a.clocked, d.Name)
	}
	a.hashes[d.Name] = workflow.Hash(data)
	a.tokens = a.tokens || d.Tokens
	for i := range d.Steps {
		s := &d.Steps[i]
		if s.Each != nil {
			a.children[s.Each.Definition] = fmt.Sprintf("workflow %s has children of the workflow %s", d.Name,
				s.Each.Workflow)
			continue
		}
		if s.Grade == core.Plain || s.PointOfNoReturn {
			a.ledgers[s.Agent] = true
		}
		for _, agent := range s.AllAgents() {
			if len(s.Others) > 0 {
				a.choosable[agent] = true
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

// httpAgent compiles the settings of one agent, and checks them as the function will, with a placeholder for
// each secret.
func httpAgent(name string, a Agent) (compiled []byte, checked httpagent.Agent, err error) {
	data, err := os.ReadFile(a.HTTP)
	if err != nil {
		return nil, checked, fmt.Errorf("agent %q: %w", name, err)
	}
	all, err := agentsfile.Read(data)
	if err != nil {
		return nil, checked, fmt.Errorf("agents file %s: %w", a.HTTP, err)
	}
	settings, there := all.Agents[name]
	if !there {
		return nil, checked, fmt.Errorf("agents file %s has no agent %q", a.HTTP, name)
	}
	if settings.External {
		return nil, checked,
			fmt.Errorf(
				"agents file %s says that agent %q is external; say so here too: Agent{External: true}",
				a.HTTP, name)
	}
	own := httpagent.Config{Agents: map[string]httpagent.Agent{name: settings}}
	if compiled, err = httpagent.Encode(own); err != nil {
		return nil, checked, err
	}
	var missing []error
	own, err = httpagent.Decode(compiled, func(variable string) (string, bool) {
		if value, set := a.Environment[variable]; set {
			return value, true
		}
		if _, secret := a.Secrets[variable]; !secret {
			missing = append(missing,
				fmt.Errorf("agents file %s, agent %q: ${env:%s} is neither in Secrets nor in Environment",
					a.HTTP, name, variable))
		}
		return "https://secret.invalid", true
	})
	if err != nil {
		missing = append(missing, fmt.Errorf("agents file %s: %w", a.HTTP, err))
	}
	return compiled, own.Agents[name], errors.Join(missing...)
}
