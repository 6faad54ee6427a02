package author

import (
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
)

type initOptions struct {
	app       *app.App
	dir       string
	path      string // path of the Go module
	moduleDir string
}

// NewInit returns the command init.
func NewInit(a *app.App) *cobra.Command {
	o := &initOptions{app: a, dir: ".", path: "example.com/booking"}
	return a.Command("init", app.Flags{"module": &o.path, "module-dir": &o.moduleDir,
		"replace": &o.moduleDir},
		func(_ *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.dir = given[0]
			}
			return runInit(o)
		})
}

func runInit(o *initOptions) error {
	module, err := scaffold.FindModule(o.moduleDir)
	if err != nil && o.moduleDir != "" {
		return failure.Wrap(err, failure.Usage, moduleAdvice, "the project cannot be written")
	}
	p := scaffold.Project{Path: o.path, Go: goRelease(runtime.Version()), Stepkeeper: module}
	if err := p.Check(); err != nil {
		return failure.New(failure.Usage, "for example: stepkeeper init shop --module example.com/shop", "%v",
			err)
	}
	files, err := p.Write(o.dir)
	var exists *scaffold.ExistsError
	switch {
	case errors.As(err, &exists):
		return failure.New(failure.Usage, "name another folder: stepkeeper init DIR",
			"nothing was written: %s is there already", exists.File)
	case errors.Is(err, fs.ErrPermission):
		return failure.Wrap(err, failure.General, "name a folder that you may write to: stepkeeper init DIR",
			"the project cannot be written to %s", o.dir)
	case err != nil:
		return failure.Wrap(err, failure.General, "", "the project cannot be written to %s", o.dir)
	}
	if o.app.JSON() {
		return o.app.PrintJSON(written{Folder: o.dir, Files: files})
	}
	out := o.app.Streams.Out
	fmt.Fprintf(out, "wrote a project to %s: %s\n\nRun it; the first two each in a terminal of its own:\n\n",
		o.dir, strings.Join(files, ", "))
	if o.dir != "." {
		fmt.Fprintf(out, "  cd %s\n", o.dir)
	}
	fmt.Fprint(out,
		"  go run ./services\n  stepkeeper dev\n  stepkeeper submit --workflow booking --id o-1 --wait "+
			"order.json\n  stepkeeper show o-1\n\nREADME.md says more.\n")
	if !module.Known() {
		fmt.Fprintf(o.app.Streams.Err, "the Go test of the workflow was left out: %v; to have it, %s\n",
			scaffold.ErrNoModule, moduleAdvice)
	}
	return nil
}
