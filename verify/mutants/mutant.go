package mutants

import (
	"embed"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Mutant is one change of the product that the tests must notice.
type Mutant struct {
	// Name begins with a rule, an invariant or a word for the package, as in "P21-no-quiet-time".
	Name string
	File string `json:"file"` // path of the changed file, such as "shared/core/reply.go"
	// Func is the name of the changed function, such as "deciding.finish" for a method. New replaces Old in
	// the body of the function. Old must occur exactly once in the body, in any layout.
	Func string `json:"function"`
	Old  string `json:"-"`
	New  string `json:"-"`
	// At is the byte offset of Old in the file. Only randomly drawn mutants set it, because their Old may
	// occur several times. The zero value means that Weave searches the function for Old.
	At int `json:"-"`
	// Equivalent explains why no test can notice the mutant. It is "" if the tests must notice the mutant.
	Equivalent string
	// Unsimulated explains why the simulator cannot notice the mutant although tests can. It is "" if the
	// simulator must notice the mutant.
	Unsimulated string `json:"-"`
}

// lists holds the files with the mutants. The package comment describes their format.
//
//go:embed lists/*.txt
var lists embed.FS

func parsed(file string) (all []Mutant) {
	text, err := lists.ReadFile("lists/" + file)
	if err != nil {
		panic(err) // this cannot happen, because the file is embedded
	}
	for block := range strings.SplitSeq(string(text), "\n\n") {
		var m Mutant
		var before, after []string
		for line := range strings.Lines(block) {
			line = strings.TrimSuffix(line, "\n")
			key, value, _ := strings.Cut(line, ": ")
			switch {
			case strings.HasPrefix(line, "#"):
			case strings.HasPrefix(line, "-"):
				before = append(before, line[1:])
			case strings.HasPrefix(line, "+"):
				after = append(after, line[1:])
			case key == "equivalent":
				m.Equivalent = value
			case key == "unsimulated":
				m.Unsimulated = value
			default:
				m.Name, line, _ = strings.Cut(line, " ")
				m.File, m.Func, _ = strings.Cut(line, " ")
			}
		}
		if m.Old, m.New = strings.Join(before, "\n"), strings.Join(after, "\n"); m.Name != "" {
			all = append(all, m)
		}
	}
	return all
}

// Rule returns the first part of the name, such as "P21" or "I10".
func (m *Mutant) Rule() string {
	rule, _, _ := strings.Cut(m.Name, "-")
	return rule
}

// Package returns the folder of the changed file.
func (m *Mutant) Package() string { return path.Dir(m.File) }

// All returns all mutants. The mutants of the core come first.
func All() []Mutant {
	return slices.Concat(parsed("core.txt"), parsed("actors.txt"), parsed("adapters.txt"),
		parsed("surface.txt"), parsed("infra.txt"))
}

// Offline returns the mutants that `make mutants` tries. It omits the mutants of the infrastructure, whose
// tests need Node (`make mutants-infra`). It also omits the mutants whose tests need DynamoDB (`make
// mutants-dynamo`).
func Offline() []Mutant {
	return slices.DeleteFunc(All(), func(m Mutant) bool {
		return m.Package() == "infra" || strings.HasPrefix(m.Name, "P52-dynamo-")
	})
}

// wellNamed matches the name of a mutant. A name begins with a rule of the protocol, an invariant, a rule of
// docs/reference/aws-rules.md or a word for the package.
var wellNamed = regexp.MustCompile(
	`^(P([1-9]|9a|12a|1[0-9]|2[0-9]|22a|23a|3[0-9]|4[0-689]|5[0-2])|I([1-9]|1[0-9]|2[01])|A[1-9][0-9]?|` +
		`api|bulk|cli|client|codec|console|diagram|httpagent|infra|schedule|sns|sqlite|sqs|wiring|workflow)(-[a-z0-9]+)+$`)

// Check returns an error with all problems of a list of mutants. It does not read the sources.
func Check(all []Mutant) error {
	var problems []error
	seen := map[string]bool{}
	for i := range all {
		m := &all[i]
		switch {
		case !wellNamed.MatchString(m.Name):
			problems = append(problems,
				fmt.Errorf(
					"mutant %q: its name must begin with a rule or an invariant, as in P21-no-quiet-time",
					m.Name))
		case seen[m.Name]:
			problems = append(problems, fmt.Errorf("mutant %s is listed twice", m.Name))
		case m.File == "" || m.Func == "" || m.Old == "" || m.Old == m.New:
			problems = append(problems,
				fmt.Errorf("mutant %s: it needs a file, a function, an old text, and another new one",
					m.Name))
		}
		seen[m.Name] = true
		if len(roomOf(m).Packages) == 0 {
			problems = append(problems, fmt.Errorf("mutant %s: no room of rooms.go has %s", m.Name,
				m.Package()))
		}
	}
	return errors.Join(problems...)
}
