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

// backupReport is the JSON output of `backup`.
type backupReport struct {
	File  string `json:"file"`
	Bytes int64  `json:"bytes"`
	Keys  string `json:"keys,omitempty"` // file of token keys, which the backup does not contain
}

var backupText = app.Text{
	Use:   "backup FILE",
	Group: "operator",
	Short: "Copy the data of `stepkeeper dev` to a new file",
	Examples: `  stepkeeper backup monday.db

  mkdir -m 700 restored
  cp monday.db restored/stepkeeper.db
  cp -p data/token-keys.json restored/
  stepkeeper dev --data restored`,
	Long: "The copy is consistent and holds every order that the server acknowledged before the command began. The\n" +
		"server may run meanwhile. The file appears under its name when it is complete, checked, and on the disk.\n\n" +
		"To restore it, copy it into a new folder as stepkeeper.db, add token-keys.json of the old folder, and\n" +
		"start `stepkeeper dev --data` with the new folder. Stop the server of the old folder first.",
	Args: app.Args{Least: 1, Most: 1, What: "one argument, the file to be written"},
}

// NewBackup returns the command `backup`.
func NewBackup(a *app.App) *cobra.Command {
	data := "data"
	return a.Command(backupText, []app.Flag{
		app.FileFlags.Flag("data", &data, "`folder` of the state of `stepkeeper dev`").Offers(app.Folders),
	}, func(cmd *cobra.Command, args []string) error {
		progress := a.Streams.Meanwhile("copying and checking the data", 0)
		n, err := sqlite.Backup(cmd.Context(), data, args[0], token.FileName)
		progress.Done()
		switch {
		case errors.Is(err, fs.ErrInvalid):
			return failure.Wrap(err, failure.Usage, "name a file outside the data folder", "no backup was written")
		case errors.Is(err, fs.ErrExist):
			return failure.New(failure.Usage, "name another file, or remove this one",
				"%s exists already, and was not changed", args[0])
		case errors.Is(err, fs.ErrNotExist):
			return failure.Wrap(err, failure.Usage, "name the folder of `stepkeeper dev` with --data, and a "+
				"file in a folder that exists", "no backup was written")
		case err != nil:
			return failure.Wrap(err, failure.General,
				"check the free space, and the server with `stepkeeper doctor`", "no backup was written")
		}
		r := backupReport{File: args[0], Bytes: n}
		info, err := os.Stat(filepath.Join(data, token.FileName))
		if err == nil && info.Mode().IsRegular() {
			r.Keys = filepath.Join(data, token.FileName)
		}
		if a.JSON() {
			a.PrintLine(r)
			return nil
		}
		fmt.Fprintf(a.Streams.Out, "%s: %d bytes, complete and checked\n", r.File, r.Bytes)
		if r.Keys != "" {
			fmt.Fprintf(a.Streams.Out,
				"keep %s too: it has the keys of the links that answer a step, and the backup does not\n", r.Keys)
		}
		return nil
	})
}
