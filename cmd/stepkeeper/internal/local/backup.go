package local

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/dev/sqlite"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// backupReport is the answer with --output json.
type backupReport struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Keys  string `json:"keys,omitempty"` // file of token keys, which the backup does not hold
}

// NewBackup returns the command backup.
func NewBackup(a *app.App) *cobra.Command {
	var data string
	cmd := &cobra.Command{
		Use:   "backup FILE",
		Short: "Write a copy of the data of `stepkeeper dev` to a new file, also while it runs",
		Long: "Write a consistent copy of the data folder's orders and messages to a new file. It reads " +
			"the folder itself\n" +
			"and needs no server: orders are taken and run meanwhile. The copy holds every order that was " +
			"acknowledged\n" +
			"before the command began. It is checked, and appears under its name when it is complete and " +
			"on the disk.\n\n" +
			"To restore it, copy it into a new folder as " + sqlite.FileName + ", with " + token.FileName +
			" of the old folder beside it,\n" +
			"and start `stepkeeper dev --data` with that folder. The server of the old folder must not " +
			"run any more.",
		Example: "  stepkeeper backup monday.db\n\n" +
			"  mkdir -m 700 restored\n" +
			"  cp monday.db restored/" + sqlite.FileName + "\n" +
			"  cp -p data/" + token.FileName + " restored/\n" +
			"  stepkeeper dev --data restored",
		Args: app.Args(cobra.ExactArgs(1), "one argument, the file to be written"),
		RunE: func(cmd *cobra.Command, args []string) error {
			n, err := sqlite.Backup(cmd.Context(), data, args[0])
			switch {
			case errors.Is(err, fs.ErrExist):
				return failure.New(failure.Usage, "name another file, or remove this one",
					"%s is there already, and was left as it is", args[0])
			case errors.Is(err, fs.ErrNotExist):
				return failure.Wrap(err, failure.Usage,
					"name the folder of `stepkeeper dev` with --data, and a file in a folder that exists",
					"there is no backup")
			case err != nil:
				return failure.Wrap(err, failure.General,
					"look at the space for the file, and at the health of the server: `stepkeeper doctor`",
					"there is no backup")
			}
			return printBackup(a, data, backupReport{File: args[0], Bytes: n})
		},
	}
	cmd.Flags().StringVar(&data, "data", "data", "`folder` of the state of `stepkeeper dev`")
	_ = cmd.MarkFlagDirname("data")
	return cmd
}

func printBackup(a *app.App, data string, r backupReport) error {
	if keys := filepath.Join(data, token.FileName); isFile(keys) {
		r.Keys = keys
	}
	if a.JSON() {
		return a.PrintLine(r)
	}
	_, err := fmt.Fprintf(a.Streams.Out, "%s: %d bytes, complete and checked\n", r.File, r.Bytes)
	if err == nil && r.Keys != "" {
		_, err = fmt.Fprintf(a.Streams.Out,
			"keep %s too: it has the keys of the links that answer a step, and the backup does not\n", r.Keys)
	}
	return app.Written(err)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}
