package source

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Severity is the severity of a problem.
type Severity string

// Severities of a problem.
const (
	SeverityError   Severity = "error"   // the file yields no definition
	SeverityWarning Severity = "warning" // the file is valid, but probably does not do what the author meant
)

// Problem is an error or a warning about a workflow file. Line and Column count from 1. 0 means the whole
// file.
type Problem struct {
	File     string   `json:"-"`
	Line     int      `json:"line,omitempty"`
	Column   int      `json:"column,omitempty"`
	Severity Severity `json:"severity"`
	What     string   `json:"what"`
	Fix      string   `json:"fix,omitempty"`
}

// String returns "order.yaml:12:5: what is wrong; fix: what to do".
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

// Problems holds the problems of a file, in the order of its lines.
type Problems []Problem

// Error lists the problems, one per line.
func (ps Problems) Error() string {
	lines := make([]string, len(ps))
	for i := range ps {
		lines[i] = ps[i].String()
	}
	return strings.Join(lines, "\n")
}

// Err returns the problems as an error if at least one of them has the severity error. Otherwise it returns
// nil.
func (ps Problems) Err() error {
	for i := range ps {
		if ps[i].Severity == SeverityError {
			return ps
		}
	}
	return nil
}

// sorted sorts the problems by position and drops repeated ones.
func (ps Problems) sorted() Problems {
	slices.SortStableFunc(ps, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return slices.Compact(ps)
}

// maxProblems is the largest number of problems that are reported for one file.
const maxProblems = 100

type report struct {
	file     string
	problems Problems
}

// maxWhat is the longest text of one problem, in bytes. A problem may be shown to others, so it quotes only
// the part of the file that identifies the place.
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
