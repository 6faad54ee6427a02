package embedded

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/view"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// deployed is a snapshot of the workflows for new orders. A reload replaces the whole snapshot.
type deployed struct {
	byName   map[string]*core.Definition
	fileOf   map[string]string   // names of files, by workflow
	problems map[string][]string // problems by file, if the newest version of the file is refused
	broken   map[string]string   // names of refused files, by the workflow that they declare
	empty    bool                // true if the folder contains no workflow file
}

// workflows keeps the definitions of a folder up to date. If the newest version of a file has a problem, new
// orders get the previous version. A running task pins its definition by hash, so a change of the file does
// not affect the task.
type workflows struct {
	dir  string
	load func(dir string) ([]source.File, error)
	log  *slog.Logger
	now  atomic.Pointer[deployed]

	events bool // true if the runtime has the reply-to core.Events
}

// loadFiles reads every workflow file of the folder, and checks that the named agents exist. If other users
// of the machine may read the token keys, loadFiles refuses the workflows that make tokens. The first call
// does not check the keys, because s.tokens is still nil. wire checks the keys after this call.
func (s *Runtime) loadFiles(dir string) ([]source.File, error) {
	names := []string{} // nil would allow every name
	for _, a := range s.agents {
		names = append(names, a.name)
	}
	files, err := source.LoadDir(dir, source.Options{KnownAgents: names, CannotKeep: s.cannotKeep})
	if err != nil || s.tokens == nil {
		return files, err
	}
	for i := range files {
		f := &files[i]
		if f.Definition == nil || !f.Definition.Tokens {
			continue
		}
		if err := token.Exposed(s.options.Data); err != nil {
			f.Problems = append(f.Problems,
				source.Problem{File: f.Name, Severity: source.SeverityError, What: err.Error()})
			f.Workflow = f.Definition.Name
			f.Definition = nil
		}
	}
	return files, nil
}

func newWorkflows(dir string, load func(string) ([]source.File, error), events bool,
	log *slog.Logger,
) (*workflows, error) {
	w := &workflows{dir: dir, load: load, events: events, log: log}
	w.now.Store(&deployed{byName: map[string]*core.Definition{}})
	return w, w.reload()
}

// current implements state.Config.Current.
func (w *workflows) current(name string) *core.Definition { return w.now.Load().byName[name] }

func (w *workflows) scheduled() (all []*core.Definition) {
	d := w.now.Load()
	for _, name := range slices.Sorted(maps.Keys(d.byName)) {
		if d.byName[name].Schedule != nil {
			all = append(all, d.byName[name])
		}
	}
	return all
}

func (w *workflows) makesTokens() bool {
	for _, d := range w.now.Load().byName {
		if d.Tokens {
			return true
		}
	}
	return false
}

// broken implements state.Config.Broken.
func (w *workflows) broken(name string) string {
	d := w.now.Load()
	file, known := d.broken[name]
	if !known || len(d.problems[file]) == 0 {
		return ""
	}
	return d.problems[file][0]
}

func (w *workflows) similar(name string) string {
	return suggest.Nearest(name, slices.Sorted(maps.Keys(w.now.Load().byName)))
}

// reload reads the folder. It returns an error only if the folder could not be read. The problems of a file
// are in deployed.problems.
func (w *workflows) reload() error {
	files, err := w.load(w.dir)
	if err != nil {
		return err
	}
	old := w.now.Load()
	next := &deployed{
		byName: map[string]*core.Definition{}, fileOf: map[string]string{},
		problems: map[string][]string{}, broken: map[string]string{},
	}
	for _, f := range files {
		var problems []string
		for _, p := range f.Problems {
			if p.Severity == source.SeverityError { // A warning refuses no file.
				problems = append(problems, p.String())
			}
		}
		if f.Definition == nil {
			// if another file defines the same workflow, new orders use that file
			if f.Workflow != "" && next.fileOf[f.Workflow] == "" {
				next.broken[f.Workflow] = f.Name
			}
			w.refused(old, next, f.Name, problems)
			continue
		}
		name := f.Definition.Name
		hash := f.Definition.Hash
		if f.Definition.Events && !w.events && (old.byName[name] == nil || !old.byName[name].Events) {
			w.log.Warn("the workflow has events: true, and the ends of its orders go nowhere; to read them "+
				"from the queue status-events, start with --reply-to events", "workflow", name)
		}
		if was := old.byName[name]; was == nil || was.Hash != hash {
			w.log.Info("workflow in force", "workflow", name, "hash", hash, "file", f.Name)
		}
		next.byName[name] = f.Definition
		next.fileOf[name] = f.Name
	}
	next.empty = len(files) == 0
	if next.empty && !old.empty {
		w.log.Warn(
			"the folder holds no workflow file, so that no order can be started; put one with the ending "+
				".yaml or .yml there", "folder", w.dir)
	}
	w.now.Store(next)
	return nil
}

func (w *workflows) served() int { return len(w.now.Load().byName) }

// refused keeps the previous definition of a file whose newest version is refused. It logs the problems
// unless the last reload has logged the same problems.
func (w *workflows) refused(old, next *deployed, file string, problems []string) {
	next.problems[file] = problems
	what := "workflow file refused; nothing is served for it until it is corrected"
	for name, from := range old.fileOf {
		if _, taken := next.fileOf[name]; from == file && !taken {
			next.byName[name] = old.byName[name]
			next.fileOf[name] = file
			what = "workflow file refused; new orders get the version before it"
		}
	}
	if slices.Equal(problems, old.problems[file]) { // these problems are in the log already
		return
	}
	for _, p := range problems {
		w.log.Error(what, "problem", p)
	}
}

// infos implements api.Backend.Workflows.
func (w *workflows) infos() []view.WorkflowInfo {
	d := w.now.Load()
	var all []view.WorkflowInfo
	reported := map[string]bool{}
	for name, def := range d.byName {
		file := d.fileOf[name]
		all = append(all, view.WorkflowInfo{Name: name, Hash: def.Hash, Problems: d.problems[file]})
		reported[file] = true
	}
	for file, problems := range d.problems {
		if !reported[file] {
			name := strings.TrimSuffix(filepath.Base(file), filepath.Ext(file))
			for workflow, from := range d.broken {
				if from == file {
					name = workflow
				}
			}
			all = append(all, view.WorkflowInfo{Name: name, Problems: problems})
		}
	}
	sort.Slice(all, func(i, j int) bool { return all[i].Name < all[j].Name })
	return all
}

// pollEvery is the interval between two looks at the folder. Polling also notices files of network folders and
// of mounts into containers, for which systems send no notifications.
const pollEvery = 200 * time.Millisecond

// watch reloads the workflows when the folder has changed. It waits until two looks are equal, because editors
// write a file in several steps.
func (w *workflows) watch(ctx context.Context) {
	var loaded, last string
	every(ctx, pollEvery, func() {
		now := w.look()
		if now == last && now != loaded {
			loaded = now
			w.again()
		}
		last = now
	})
}

// look returns a text that differs when an entry of the folder differs. The target of a link counts if it is an
// entry of the folder too.
func (w *workflows) look() string {
	entries, err := os.ReadDir(w.dir)
	if err != nil {
		return err.Error()
	}
	var all strings.Builder
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil {
			return err.Error() // it was removed meanwhile
		}
		fmt.Fprintln(&all, entry.Name(), info.Mode(), info.Size(), info.ModTime().UnixNano())
	}
	return all.String()
}

func (w *workflows) again() {
	if err := w.reload(); err != nil {
		w.log.Error("cannot read the workflows; those in force stay", "folder", w.dir, "error", err)
	}
}
