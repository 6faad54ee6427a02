package app

import (
	_ "embed"
	"maps"
	"strings"
	"text/template"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

//go:embed help.tmpl
var helpFile string

var helpPage = template.Must(template.New("help").Funcs(template.FuncMap{
	"rpad": func(text string, width int) string {
		return text + strings.Repeat(" ", max(width-len(text), 0))
	},
}).Parse(helpFile))

type flagGroup struct{ Title, Text string }

func help(cmd *cobra.Command, _ []string) {
	environment := maps.Clone(texts.Environment)
	path := strings.TrimSpace(strings.TrimPrefix(cmd.CommandPath(), cmd.Root().Name()))
	if text := texts.Commands[path]; text != nil {
		maps.Copy(environment, text.Environment)
	}
	_ = helpPage.Execute(cmd.OutOrStdout(), map[string]any{
		"Cmd": cmd, "Flags": flagGroups(cmd),
		"Environment": environment,
	}) // App.Execute reports the error of a write.
}

// flagGroups returns the flags of a command, grouped by title. The titles are in the sequence of
// commands.yaml.
func flagGroups(cmd *cobra.Command) (all []flagGroup) {
	sets := map[string]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		title := "Every command"
		if t := f.Annotations[titled]; t != nil {
			title = t[0]
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
		}
		sets[title].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, title := range texts.Titles {
		if set := sets[title]; set != nil && set.HasAvailableFlags() {
			all = append(all, flagGroup{title, strings.TrimRight(set.FlagUsages(), "\n")})
		}
	}
	return all
}
