package main

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

// The table stands between these two lines of the document.
const (
	begin = "<!-- make bench-peers: begin -->\n"
	end   = "<!-- make bench-peers: end -->\n"
)

type column struct {
	title  string
	format string
	of     func(figures) float64
}

var columns = []column{
	{"orders/s", "%.0f", func(f figures) float64 { return f.ordersPerS }},
	{"p50 alone, ms", "%.2f", func(f figures) float64 { return f.aloneMS }},
	{"processor time of an order, ms", "%.2f", func(f figures) float64 { return f.cpuMS }},
	{"peak memory, MB", "%.0f", func(f figures) float64 { return f.memoryMB }},
	{"files for each order, KB", "%.1f", func(f figures) float64 { return f.diskKB }},
	{"start to first order done, ms", "%.0f", func(f figures) float64 { return f.readyMS }},
}

func (s setting) median(of func(figures) float64) float64 {
	var all []float64
	for _, f := range s.turns {
		all = append(all, of(f))
	}
	return load.Median(all)
}

func (e engine) best() setting {
	best := e.settings[0]
	for _, s := range e.settings {
		if s.median(columns[0].of) > best.median(columns[0].of) {
			best = s
		}
	}
	return best
}

// tables returns the text with the table. The first engine must be the floor, and the next two must be
// Stepkeeper. The numbers in brackets are ratios to the floor.
func tables(all []engine, machine string) string {
	var b strings.Builder
	var foreign []float64
	for _, e := range all {
		for _, s := range e.settings {
			foreign = append(foreign, s.median(func(f figures) float64 { return f.foreign }))
		}
	}
	rounds := len(all[0].settings[0].turns)
	others := load.Median(foreign)
	fmt.Fprintf(&b, "Measured on %s: %s. Medians of the rounds (%d). ",
		time.Now().UTC().Format("2006-01-02"), machine, rounds)
	fmt.Fprintf(&b, "Other programs used %.0f %% of the processors meanwhile.\n", 100*others)
	if others > 0.1 {
		b.WriteString("That is too much for good figures; measure again on an idle machine.\n")
	}
	b.WriteString("\n")
	b.WriteString("Each engine at its best setting; in brackets the ratio to the floor of the same run:\n\n")
	floor := all[0].best()
	ours := all[1:min(3, len(all))]
	b.WriteString("| engine | version | best setting |")
	for _, e := range ours {
		fmt.Fprintf(&b, " orders/s of %s ÷ its |", e.name)
	}
	for _, c := range columns {
		fmt.Fprintf(&b, " %s |", c.title)
	}
	fmt.Fprintf(&b, "\n|%s\n", strings.Repeat("---|", 3+len(ours)+len(columns)))
	for _, e := range all {
		best := e.best()
		fmt.Fprintf(&b, "| %s | %s | %s |", e.name, e.version, best.name)
		for _, o := range ours {
			fmt.Fprintf(&b, " %s |", ratio(o.best().median(columns[0].of)/best.median(columns[0].of)))
		}
		for _, c := range columns {
			value := best.median(c.of)
			fmt.Fprintf(&b, " "+c.format+" (%s) |", value, ratio(value/floor.median(c.of)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

func ratio(v float64) string {
	switch {
	case v >= 10:
		return fmt.Sprintf("%.0f", v)
	case v < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func replace(file, text string) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("%s lacks the lines %q and %q", file, strings.TrimSpace(begin),
			strings.TrimSpace(end))
	}
	//nolint:gosec // a document
	return os.WriteFile(file, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644)
}
