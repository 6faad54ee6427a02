package author

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

type initOptions struct {
	app *app.App
	scaffold.Project
	dir       string
	moduleDir string
}

var initText = app.Text{
	Use:   "init [DIR]",
	Group: "run",
	Short: "Write a small project that works",
	Examples: `  stepkeeper init shop
  stepkeeper init shop --module example.com/shop
  stepkeeper init shop --aws
  stepkeeper init --aws`,
	Long: "The project has a workflow of two steps, an agents file, a Go program that stands in for the services,\n" +
		"an order, and a test. `stepkeeper dev` runs it. Existing files are not overwritten.\n\n" +
		"--aws adds the folder aws, with a CDK app in Go that deploys the project's workflows and agents, and\n" +
		".github/workflows/aws.yaml, also to a project that is there. aws/README.md explains them.",
	Args:  app.Args{Most: 1, What: "one folder at most"},
	Offer: app.Folders,
}

// NewInit returns the command `init`.
func NewInit(a *app.App) *cobra.Command {
	o := &initOptions{app: a, dir: ".", Project: scaffold.Project{Path: "example.com/booking"}}
	return a.Command(initText, []app.Flag{
		app.FileFlags.Flag("aws", &o.AWS, "add what deploys the project to AWS"),
		app.FileFlags.Flag("module", &o.Path, "`path` of the project's Go module"),
		moduleDirFlag(&o.moduleDir),
	},
		func(_ *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.dir = given[0]
			}
			return runInit(o)
		})
}

// moduleDirFlag returns the flag of the commands that write a Go module.
func moduleDirFlag(to *string) app.Flag {
	return app.FileFlags.Flag("module-dir", to,
		"`folder` of a clone of Stepkeeper to build against (default: the clone or release of this program)").
		Offers(app.Folders)
}

func runInit(o *initOptions) error {
	if o.dir == "" {
		return failure.New(failure.Usage, "name one: stepkeeper init DIR", "the folder's name is empty")
	}
	var err error
	o.Stepkeeper, err = scaffold.FindModule(o.moduleDir)
	if err != nil && (o.moduleDir != "" || o.AWS) {
		return failure.Wrap(err, failure.Usage, moduleAdvice, "the project cannot be written")
	}
	if o.AWS {
		files, err := scaffold.AWS{Stepkeeper: o.Stepkeeper}.Write(o.dir)
		if !errors.Is(err, scaffold.ErrNoProject) {
			return o.added(files, err)
		}
	}
	if err := o.Check(); err != nil {
		return failure.New(failure.Usage, "for example: stepkeeper init shop --module example.com/shop", "%v",
			err)
	}
	files, err := o.Write(o.dir)
	if err != nil {
		return notWritten(err, o.dir, "name another folder: stepkeeper init DIR")
	}
	if o.app.JSON() {
		o.app.PrintJSON(written{Folder: o.dir, Files: files})
	} else {
		o.next(files)
	}
	if !o.Stepkeeper.Known() {
		o.app.Warn(fmt.Sprintf("the Go test of the workflow was left out: %v; to have it, %s", scaffold.ErrNoModule,
			moduleAdvice))
	}
	return nil
}

// next prints what was written, and how to run the project.
func (o *initOptions) next(files []string) {
	out := o.app.Streams.Out
	fmt.Fprintf(out, "wrote a project to %s: %s\n\n", o.dir, strings.Join(files, ", "))
	if o.dir != "." {
		fmt.Fprintf(out, "Go to its folder, in each of three terminals:\n\n  cd %s\n\n", message.Quoted(folder(o.dir)))
	}
	fmt.Fprint(out, "Leave the services and Stepkeeper running, each in a terminal of its own:\n\n  go run ./services\n"+
		"  stepkeeper dev\n\nRun an order in the third:\n\n  stepkeeper submit --workflow booking --id o-1 --wait "+
		"order.json\n  stepkeeper show o-1\n\nREADME.md says more.\n")
	if o.AWS {
		fmt.Fprint(out, awsNext)
	}
}

// folder returns the name of a folder for the command cd, which would take a name like -x for a flag.
func folder(dir string) string {
	if strings.HasPrefix(dir, "-") {
		return "./" + dir
	}
	return dir
}

// notWritten returns the error for files that could not be written to the folder dir. The parameter another
// is the advice if one of the files already exists.
func notWritten(err error, dir, another string) error {
	var exists *scaffold.ExistsError
	switch {
	case errors.As(err, &exists):
		return failure.New(failure.Usage, another, "nothing was written: %s is there already", exists.File)
	case errors.Is(err, fs.ErrPermission):
		return failure.Wrap(err, failure.General, "name a folder that you may write to: stepkeeper init DIR",
			"the project cannot be written to %s", dir)
	}
	return failure.Wrap(err, failure.General, "", "the project cannot be written to %s", dir)
}

// added prints which files --aws added to a project.
func (o *initOptions) added(files []string, err error) error {
	if err != nil {
		return notWritten(err, o.dir, "move it away, or change it by hand")
	}
	o.app.Print(written{Folder: o.dir, Files: files}, "wrote to %s: %s\n%s", o.dir, strings.Join(files, ", "), awsNext)
	return nil
}

const awsNext = `
Deploy it to an emulator on this machine, and to AWS as aws/README.md says:

  stepkeeper aws local up
  stepkeeper aws local deploy
`
