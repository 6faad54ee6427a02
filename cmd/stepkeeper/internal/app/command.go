package app

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

//go:embed commands.yaml
var commandsFile []byte

var texts = func() (t struct {
	Groups      []*cobra.Group
	Titles      []string
	Environment map[string]string
	Shared      flagTexts
	Commands    map[string]*commandText
},
) {
	if err := yaml.UnmarshalWithOptions(commandsFile, &t, yaml.Strict()); err != nil {
		panic(err) // The embedded file is always valid.
	}
	return t
}()

type commandText struct {
	Use, Group, Short, Examples, Long string
	Args                              struct {
		Least, Most int
		Any         bool   // true if the number of arguments has no upper limit
		What        string // names of the arguments for error texts
	}
	Suggestions `yaml:",inline"`
	Flags       flagTexts
	Environment map[string]string
}

// flagTexts maps the title of a group and the name of a flag to the text of the flag.
type flagTexts map[string]map[string]flagText

func (all flagTexts) find(name string) (title string, f flagText, found bool) {
	for title, flags := range all {
		f, found = flags[name]
		if found {
			return title, f, true
		}
	}
	return "", f, false
}

// flagText describes a flag. In commands.yaml it is a plain text, or a mapping of the fields below.
type flagText struct {
	Text, Short, Bare string   // Bare is the value if the user writes the flag without a value
	Least, Most       string   // limits for a number or a duration; "" means no limit
	Values            []string // values that the flag accepts; empty means all values
	Suggestions       `yaml:",inline"`
	Hidden            bool
}

// UnmarshalYAML reads a plain text as the field Text, and a mapping as all fields.
func (about *flagText) UnmarshalYAML(decode func(any) error) error {
	if decode(&about.Text) == nil {
		return nil
	}
	type fields flagText
	return decode((*fields)(about))
}

// Suggestions describes the completions that a shell offers for an argument or a flag's value.
type Suggestions struct {
	Complete string   // "orders", "steps", "workflows", or ""
	Files    []string // file extensions; "/" means folders
	Suggest  []string
}

// Flags maps the name of a flag to a pointer to the flag's variable, to a Choice or to a Whole.
type Flags map[string]any

// Choice is a flag that accepts only the values in the field Of. The field To points to a string or to a list
// of strings.
type Choice struct {
	To any
	Of []string
}

// Command returns the command at a path. The texts, arguments and flags of the command come from
// commands.yaml. The current values of the variables become the defaults of the flags.
func (a *App) Command(path string, flags Flags, run func(*cobra.Command, []string) error) *cobra.Command {
	text := texts.Commands[path]
	cmd := &cobra.Command{
		Use: text.Use, GroupID: text.Group, Short: text.Short, Example: text.Examples,
		Long: text.Long, RunE: run, ValidArgsFunction: a.complete(text.Suggestions, text.Args.Most),
	}
	cmd.Args = func(cmd *cobra.Command, given []string) error {
		if want := text.Args; len(given) < want.Least || len(given) > want.Most && !want.Any {
			return failure.New(failure.Usage, fmt.Sprintf("write `%s`; see `%s --help`", cmd.UseLine(),
				cmd.CommandPath()), "%s needs %s", cmd.CommandPath(),
				cmp.Or(want.What, "no arguments, only flags"))
		}
		return nil
	}
	checks := map[string]flagText{}
	for name, to := range flags {
		checks[name] = a.addFlag(cmd, cmd.Flags(), path, name, to)
	}
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) (err error) {
		cmd.Flags().Visit(func(f *pflag.Flag) {
			if about, own := checks[f.Name]; own && err == nil {
				err = about.check(f)
			}
		})
		return err
	}
	return cmd
}

const titled = "title"

// Whole is a flag that the user may repeat. Commas do not split its values.
type Whole struct{ To *[]string }

// addFlag adds a flag of a command to a flag set and returns the flag's description. path is the path of the
// command in commands.yaml.
func (a *App) addFlag(cmd *cobra.Command, set *pflag.FlagSet, path, name string, to any) flagText {
	title, about, found := texts.Commands[path].Flags.find(name)
	if !found {
		title, about, _ = texts.Shared.find(name)
	}
	if c, ok := to.(Choice); ok {
		to = c.To
		about.Values = c.Of
		about.Text += ": " + strings.Join(c.Of, ", ")
	}
	switch v := to.(type) {
	case *string:
		set.StringVar(v, name, *v, about.Text)
	case *bool:
		set.BoolVarP(v, name, about.Short, *v, about.Text)
	case *int:
		set.IntVar(v, name, *v, about.Text)
	case *uint64:
		set.Uint64Var(v, name, *v, about.Text)
	case *float64:
		set.Float64Var(v, name, *v, about.Text)
	case *time.Duration:
		set.Var((*duration)(v), name, about.Text)
	case *[]string:
		set.StringSliceVar(v, name, *v, about.Text)
	case Whole:
		set.StringArrayVar(v.To, name, *v.To, about.Text)
	case *map[string]string:
		set.StringToStringVar(v, name, *v, about.Text)
	}
	f := set.Lookup(name)
	if _, isMap := to.(*map[string]string); isMap || f.DefValue == "-1" || f.DefValue == "0s" {
		// With this value the help prints no default. The text of the flag states the default.
		f.DefValue = "0"
	}
	f.Hidden = about.Hidden
	if about.Bare != "" {
		f.NoOptDefVal = about.Bare
	}
	s := about.Suggestions
	s.Suggest = slices.Concat(s.Suggest, about.Values)
	_ = cmd.RegisterFlagCompletionFunc(name, a.complete(s, -1)) // The flag exists, so there is no error.
	_ = set.SetAnnotation(name, titled, []string{title})
	return about
}

// duration is the value of a flag. It reads the notation of workflow files, so that 7d works too, and a minus
// sign, because some flags have a meaning for a negative time.
type duration time.Duration

func (d *duration) Type() string   { return "duration" }
func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(text string) error {
	text, minus := strings.CutPrefix(text, "-")
	v, ok := core.ParseDuration(text)
	if !ok || v > core.Duration(math.MaxInt64/time.Millisecond) {
		return errors.New("it is no span of time")
	}
	*d = duration(v.Std())
	if minus {
		*d = -*d
	}
	return nil
}

// check returns an error if the flag's value is out of range or not in the list of values. If the value
// differs from a listed value only in case or white space, check replaces it with the listed value.
func (about flagText) check(f *pflag.Flag) error {
	if len(about.Values) > 0 {
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		for i, value := range given {
			known := slices.IndexFunc(about.Values,
				func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(value)) })
			if known < 0 {
				return failure.New(failure.Usage, suggest.DidYouMean(value, about.Values,
					"use one of "+strings.Join(about.Values, ", ")), "--%s cannot be %.60q", f.Name, value)
			}
			given[i] = about.Values[known]
		}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			return list.Replace(given)
		}
		return f.Value.Set(given[0])
	}
	if about.Least == "" {
		return nil
	}
	bounds := about.Least + " or more"
	over := false
	if about.Most != "" {
		bounds = about.Least + " to " + about.Most
		over = !(amount(f.Value.String()) <= amount(about.Most))
	}
	if over || !(amount(f.Value.String()) >= amount(about.Least)) { // The negation also rejects NaN.
		return failure.New(failure.Usage, fmt.Sprintf("give --%s %s", f.Name, bounds),
			"--%s %s is out of range", f.Name, f.Value)
	}
	return nil
}

// amount returns the value of a number, or the nanoseconds of a duration. It returns NaN for any other text.
func amount(text string) float64 {
	if d, err := time.ParseDuration(text); err == nil {
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}

// Group returns a command that only has subcommands. Without arguments the command prints a help text.
func (a *App) Group(path string, commands ...*cobra.Command) *cobra.Command {
	cmd := a.Command(path, nil, runGroup)
	cmd.Args = cobra.ArbitraryArgs
	cmd.ValidArgsFunction = nil
	cmd.AddCommand(commands...)
	return cmd
}

// runGroup runs a command that only has subcommands. Without arguments it prints a help text. Any argument is
// a mistake, because cobra would have found a subcommand of that name.
func runGroup(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) == 0 && !cmd.HasParent():
		_, err := fmt.Fprintln(cmd.OutOrStdout(), texts.Commands["beginner"].Long)
		return err
	case len(args) == 0:
		return cmd.Help()
	}
	do := fmt.Sprintf("see `%s --help`", cmd.CommandPath())
	cmd.SuggestionsMinimumDistance = 2
	if s := cmd.SuggestionsFor(args[0]); len(s) > 0 {
		do = fmt.Sprintf("did you mean `%s %s`?", cmd.CommandPath(), s[0])
	}
	if cmd.HasParent() {
		var names []string
		for _, c := range cmd.Commands() {
			names = append(names, c.Name())
		}
		do += "\nits commands: " + strings.Join(names, ", ")
	}
	return failure.New(failure.Usage, do, "%s has no command %q", cmd.CommandPath(), args[0])
}
