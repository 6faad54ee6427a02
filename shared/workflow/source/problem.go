package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
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

func (r *report) add(at position, severity Severity, what, fix string) {
	if len(what) > maxWhat {
		what = strings.ToValidUTF8(what[:maxWhat], "") + "…"
	}
	if len(r.problems) < maxProblems {
		r.problems = append(r.problems, Problem{r.file, at.line, at.column, severity, what, fix})
	}
}

func (r *report) error(at position, what, fix string) { r.add(at, SeverityError, what, fix) }

func (r *report) warn(at position, what, fix string) { r.add(at, SeverityWarning, what, fix) }
