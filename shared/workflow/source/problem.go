package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
)

// Severity distinguishes errors from warnings.
type Severity string

// Severities of problems.
const (
	SeverityError   Severity = "error"   // the file has no valid definition
	SeverityWarning Severity = "warning" // the file is valid, but probably does not do what its author wants
)

// Problem is an error or a warning about a workflow file. Line and Column count from 1. Line 0 means the
// whole file.
type Problem struct {
	File     string   `json:"-"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Fix      string   `json:"fix,omitempty"`
}

// String returns the problem as "order.yaml:12:5: what is wrong; fix: what to do".
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Severity == SeverityWarning {
		b.WriteString("warning: ")
	}
	b.WriteString(p.What)
	if p.Fix != "" {
		b.WriteString("; fix: " + p.Fix)
	}
	return b.String()
}

// Problems contains the problems of a file, sorted by line.
type Problems []Problem

// Error returns the problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i := range ps {
		lines[i] = ps[i].String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error if at least one has the severity error. Otherwise it returns nil.
func (ps Problems) Err() error {
	for i := range ps {
		if ps[i].Severity == SeverityError {
			return ps
		}
	}
	return nil
}

// sorted sorts the problems by position and removes repeated ones.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}

const maxProblems = 100

type report struct {
	file     string
	problems Problems
}

// maxWhat limits the text of one problem, in bytes. Otherwise a problem could quote a large part of the file.
const maxWhat = 400

func (r *report) add(at position, severity Severity, format string, args []any) *Problem {
	for i := range args {
		switch a := args[i].(type) {
		case core.Duration:
			args[i] = workflow.Short(a)
		case *value:
			args[i] = quoted(a)
		}
	}
	what := fmt.Sprintf(format, args...)
	if len(what) > maxWhat {
		what = strings.ToValidUTF8(what[:maxWhat], "") + "…"
	}
	p := Problem{File: r.file, Line: at.line, Column: at.column, Severity: severity, What: what}
	if len(r.problems) == maxProblems {
		return &p
	}
	r.problems = append(r.problems, p)
	return &r.problems[len(r.problems)-1]
}

// error adds an error. In its text, a duration has the notation of workflow files, and a value of the file is quoted.
func (r *report) error(at position, format string, args ...any) *Problem {
	return r.add(at, SeverityError, format, args)
}

// warn adds a warning. Its arguments are those of error.
func (r *report) warn(at position, format string, args ...any) *Problem {
	return r.add(at, SeverityWarning, format, args)
}

// fix adds to a problem what to do about it.
func (p *Problem) fix(format string, args ...any) { p.Fix = fmt.Sprintf(format, args...) }
