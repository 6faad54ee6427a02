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

type flagGroup struct {
	Title Section
	Text  string
}

func help(cmd *cobra.Command, reach Reach, environment map[string]string) {
	all := reach.environment()
	maps.Copy(all, environment)
	_ = helpPage.Execute(cmd.OutOrStdout(), map[string]any{
		"Cmd": cmd, "Flags": flagGroups(cmd), "Environment": all,
	}) // App.Execute reports the error of a write.
}

// flagGroups returns the flags of a command, grouped by section.
func flagGroups(cmd *cobra.Command) (all []flagGroup) {
	sets := map[Section]*pflag.FlagSet{}
	add := func(f *pflag.Flag) {
		in := EveryCommand
		if t := f.Annotations[titled]; t != nil {
			in = Section(t[0])
		}
		if sets[in] == nil {
			sets[in] = pflag.NewFlagSet(string(in), pflag.ContinueOnError)
		}
		sets[in].AddFlag(f)
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	for _, in := range sections {
		if set := sets[in]; set != nil && set.HasAvailableFlags() {
			all = append(all, flagGroup{in, strings.TrimRight(set.FlagUsages(), "\n")})
		}
	}
	return all
}
