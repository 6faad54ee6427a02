package app

import (
	"encoding/csv"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/suggest"
)

// Flag describes a flag of a command.
type Flag struct {
	In   Section
	Name string
	// To points to the variable of the flag: a text, a number, a bool, a duration, a list or a map. It may
	// also be a Whole.
	To   any
	Text string

	Short       string   // the one letter that stands for the name; "" means none
	Bare        string   // the value if the user writes the flag without a value; "" means that it needs one
	Least, Most string   // limits for a number or a duration; "" means no limit
	Of          []string // values that the flag accepts; empty means all values
	Offer       Offer
}

// Section is a title above flags in the help of a command.
type Section string

// The sections of flags.
const (
	WhichOrders   Section = "Which orders"
	WhichMessages Section = "Which messages"
	OrderFlags    Section = "Order"
	AnswerFlags   Section = "Answer"
	RunFlags      Section = "Run"
	WorkflowFlags Section = "Workflow"
	CommandFlags  Section = "Command"
	PaceFlags     Section = "Pace"
	RecordFlags   Section = "Record"
	FileFlags     Section = "Files"
	ServerFlags   Section = "Server"
	AlertFlags    Section = "Alerts"
	LogFlags      Section = "Log"
	SearchFlags   Section = "Search"
	OutputFlags   Section = "Output"
	Target        Section = "Server or stack"
	EveryCommand  Section = "Every command"
)

// sections lists the sections in the sequence of a command's help.
var sections = []Section{
	WhichOrders, WhichMessages, OrderFlags, AnswerFlags, RunFlags, WorkflowFlags, CommandFlags, PaceFlags,
	RecordFlags, FileFlags, ServerFlags, AlertFlags, LogFlags, SearchFlags, OutputFlags, Target, EveryCommand,
}

// Flag returns a flag of the section.
func (s Section) Flag(name string, to any, text string) Flag {
	return Flag{In: s, Name: name, To: to, Text: text}
}

// Within returns the flag with limits. The limit "" means none.
func (about Flag) Within(least, most string) Flag {
	about.Least = least
	about.Most = most
	return about
}

// Offers returns the flag with completions.
func (about Flag) Offers(offer Offer) Flag {
	about.Offer = offer
	return about
}

// Whole is a flag that the user may repeat. Commas do not split its values.
type Whole struct{ To *[]string }

const titled = "title"

// addFlag adds a flag of a command to a flag set.
func (a *App) addFlag(cmd *cobra.Command, set *pflag.FlagSet, about Flag) {
	name := about.Name
	switch v := about.To.(type) {
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
		set.Var(&pairs{to: v}, name, about.Text)
	}
	f := set.Lookup(name)
	if f.DefValue == "-1" || f.DefValue == "0s" {
		// With this value the help prints no default. The text of the flag states the default.
		f.DefValue = "0"
	}
	if about.Bare != "" {
		f.NoOptDefVal = about.Bare
	}
	offer := about.Offer
	offer.Suggest = slices.Concat(offer.Suggest, about.Of)
	_ = cmd.RegisterFlagCompletionFunc(name, a.complete(offer, -1)) // The flag exists, so there is no error.
	_ = set.SetAnnotation(name, titled, []string{string(about.In)})
}

// pairs is the value of a flag with keys and values. A key that is given twice is a mistake.
type pairs struct{ to *map[string]string }

func (p *pairs) Type() string   { return "stringToString" }
func (p *pairs) String() string { return "" }

func (p *pairs) Set(text string) error {
	fields := []string{text}
	if strings.Count(text, "=") > 1 {
		var err error
		fields, err = csv.NewReader(strings.NewReader(text)).Read()
		if err != nil {
			return err
		}
	}
	if *p.to == nil {
		*p.to = map[string]string{}
	}
	for _, field := range fields {
		key, value, found := strings.Cut(field, "=")
		if _, twice := (*p.to)[key]; !found || twice {
			return errors.New("it is no pair, or its key is given twice")
		}
		(*p.to)[key] = value
	}
	return nil
}

// duration is the value of a flag. It reads the notation of workflow files, so that 7d works too, and a minus
// sign, because some flags have a meaning for a negative time.
type duration time.Duration

func (d *duration) Type() string   { return "duration" }
func (d *duration) String() string { return time.Duration(*d).String() }

func (d *duration) Set(text string) error {
	v, ok := parseDuration(text)
	if !ok {
		return errors.New("it is no span of time")
	}
	*d = duration(v)
	return nil
}

// parseDuration parses the value of a flag, or one of its limits.
func parseDuration(text string) (time.Duration, bool) {
	text, minus := strings.CutPrefix(text, "-")
	v, ok := core.ParseDuration(text)
	if minus {
		v = -v
	}
	return v.Std(), ok && max(v, -v) <= core.Duration(math.MaxInt64/time.Millisecond)
}

// check returns an error if the flag's value is empty, out of range or not in the list of values. An empty text
// often is a variable that a script did not set, and the default would mean something else. If the value differs
// from a listed value only in case or white space, check replaces it with the listed value.
func (about *Flag) check(f *pflag.Flag) error {
	_, isText := about.To.(*string)
	if isText && f.Value.String() == "" {
		return failure.New(failure.Usage, fmt.Sprintf("give a value, or leave --%s out", f.Name), "--%s is empty", f.Name)
	}
	if len(about.Of) > 0 {
		given := []string{f.Value.String()}
		if list, ok := f.Value.(pflag.SliceValue); ok {
			given = list.GetSlice()
		}
		for i, value := range given {
			known := slices.IndexFunc(about.Of,
				func(v string) bool { return strings.EqualFold(v, strings.TrimSpace(value)) })
			if known < 0 {
				return failure.New(failure.Usage, suggest.DidYouMean(value, about.Of,
					"use one of "+strings.Join(about.Of, ", ")), "--%s cannot be %.60q", f.Name, value)
			}
			given[i] = about.Of[known]
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

// Foreign returns an error if the user gave one of the flags, which have an effect only with others.
func Foreign(cmd *cobra.Command, flags []Flag, others string) error {
	for _, f := range flags {
		if cmd.Flags().Changed(f.Name) {
			return failure.New(failure.Usage, "leave it out", "--%s belongs to %s", f.Name, others)
		}
	}
	return nil
}

// amount returns the value of a number, or the nanoseconds of a duration. It returns NaN for any other text.
func amount(text string) float64 {
	if d, ok := parseDuration(text); ok {
		return float64(d)
	}
	n, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return math.NaN()
	}
	return n
}
