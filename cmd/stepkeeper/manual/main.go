// Command manual writes the man pages and the completions of stepkeeper into a folder, for the archives of a
// release: `go run ./cmd/stepkeeper/manual FOLDER`.
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/cli"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "name the folder: go run ./cmd/stepkeeper/manual FOLDER")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// write writes man/*.1, and completions/ with a file for each shell.
func write(folder string) error {
	none := func(string) string { return "" } // no variable of this machine shows in a default
	root := cli.Root(app.New(streams.System(), none))
	root.DisableAutoGenTag = true
	man := filepath.Join(folder, "man")
	completions := filepath.Join(folder, "completions")
	err := errors.Join(os.RemoveAll(folder), os.MkdirAll(man, 0o755), os.MkdirAll(completions, 0o755))
	if err != nil {
		return err
	}
	// A fixed date, so that each build of a version has the same bytes.
	date := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)
	header := &doc.GenManHeader{Title: "STEPKEEPER", Section: "1", Date: &date}
	return errors.Join(doc.GenManTree(root, header, man), complete(root, completions))
}

func complete(root *cobra.Command, folder string) error {
	return errors.Join(
		root.GenBashCompletionFileV2(filepath.Join(folder, "stepkeeper.bash"), true),
		root.GenZshCompletionFile(filepath.Join(folder, "_stepkeeper")),
		root.GenFishCompletionFile(filepath.Join(folder, "stepkeeper.fish"), true),
		root.GenPowerShellCompletionFileWithDesc(filepath.Join(folder, "stepkeeper.ps1")),
	)
}
