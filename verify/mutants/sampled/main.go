// Sampled draws random mutants of the product's code and measures the share that the tests notice. The list
// in verify/mutants cannot show this share, because people have chosen its mutants.
//
//	go run ./verify/mutants/sampled -n 10 -seed 1 -room core,scheduler
//
// The program draws common changes (operators.go) in each room (rooms.go). It omits mutants that do not
// compile, and runs the tests as verify/mutants does. A mutant that no test reaches counts as a survivor. The
// exit code is 1 if the tests of any room notice a smaller share than -floor. The flag -total sets the number
// of mutants in all rooms together, and then only the share of all rooms together counts.
//
// With -changed, the seed comes from the hash of the Git tree, and the program draws from at most six rooms.
// It chooses them from the changed rooms, or from all rooms if Git cannot show the changes.
//
// The program changes only functions, not the constants and variables of a package. The tests run with
// -short. If STEPKEEPER_NEED_NODE is set, the tests of infra run without -short. For each mutant and package
// only the likeliest tests run. One test always runs. Further tests run while the total time is at most
// -enough (infra: six times -enough).
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

type result struct {
	sampled
	mutants.Result
}

type options struct {
	n       int
	seed    uint64
	rooms   string
	changed bool
	total   int
	only    string
	floor   int
	json    string
	root    string
	listed  bool
	enough  time.Duration // value of Gate.Enough
}

func main() {
	var o options
	flag.IntVar(&o.n, "n", 10, "mutants in each room")
	flag.Uint64Var(&o.seed, "seed", 1, "the same seed draws the same mutants from the same sources")
	flag.StringVar(&o.rooms, "room", "", "only these rooms, with commas between: "+mutants.RoomNames())
	flag.BoolVar(&o.changed, "changed", false,
		"draw from the rooms that have changed, with the tree's hash as the seed")
	flag.IntVar(&o.total, "total", 0,
		"mutants in all rooms together, in place of -n; the floor holds for all of them together then")
	flag.StringVar(&o.only, "only", "",
		"of what is drawn, only what holds this text in place, function or operator, as in reply.go:118")
	flag.IntVar(&o.floor, "floor", 60, "percentage of a room that must be noticed")
	flag.StringVar(&o.json, "json", "", "write the results to this file")
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.BoolVar(&o.listed, "list", false, "only list what is drawn")
	flag.DurationVar(&o.enough, "enough", 10*time.Second,
		"time for the tests of one package with one mutant; the likeliest tests run; 0: all of them")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) error {
	chosen, err := mutants.Choose(o.rooms)
	if err != nil {
		return err
	}
	if o.root, err = filepath.Abs(o.root); err != nil {
		return err
	}
	if o.changed {
		if chosen, o.seed, err = changed(o.root, chosen); err != nil {
			return err
		}
		if len(chosen) == 0 {
			fmt.Println("no room that is drawn from has changed: there is nothing to draw")
			return nil
		}
	}
	drawn, err := draw(o, chosen)
	if err != nil || o.listed {
		return err
	}
	if len(drawn) == 0 {
		return fmt.Errorf("nothing that is drawn holds %q; nothing was tried", o.only)
	}
	folder, err := os.MkdirTemp("", "mutants-sampled")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system removes the temporary folder if this fails
	results, err := try(ctx, &mutants.Gate{Root: o.root, Folder: folder, Workers: runtime.NumCPU(),
		Enough: o.enough, Log: func(format string, args ...any) {
			fmt.Printf(format+"\n", args...)
		}}, drawn)
	if err != nil {
		return err
	}
	counts := count(chosen, results)
	fmt.Print(summary(counts, results))
	if o.json != "" {
		text, err := json.MarshalIndent(map[string]any{"seed": o.seed, "rooms": counts, "results": results},
			"", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.json, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	if o.total > 0 {
		return belowInAll(counts, o.floor)
	}
	return below(counts, o.floor)
}

// mostRooms is the largest number of rooms that the flag -changed chooses. More rooms would need too many
// test binaries.
const mostRooms = 6

// changed returns at most mostRooms rooms, and the seed. It chooses from the changed rooms, or from all rooms
// if Git cannot show the changes.
func changed(root string, all []mutants.Room) ([]mutants.Room, uint64, error) {
	c, err := mutants.ChangesOf(root)
	if err != nil {
		return nil, 0, err
	}
	if c.Known {
		all = slices.DeleteFunc(slices.Clone(all), func(r mutants.Room) bool { return !c.Changed(&r) })
	}
	rand.New(rand.NewPCG(c.Seed, 0)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all[:min(len(all), mostRooms)], c.Seed, nil
}

func draw(o options, chosen []mutants.Room) ([]sampled, error) {
	var folders []string
	for _, r := range chosen {
		folders = append(folders, r.Packages...)
	}
	s, err := load(o.root, folders)
	if err != nil {
		return nil, err
	}
	var drawn []sampled
	for i, r := range chosen {
		n := o.n
		if o.total > 0 { // 40 mutants in 6 rooms are 7, 7, 7, 7, 6 and 6
			n = (o.total + len(chosen) - 1 - i) / len(chosen)
		}
		drawn = append(drawn, s.draw(r, n, o.seed)...)
	}
	drawn = slices.DeleteFunc(drawn, func(m sampled) bool {
		return !strings.Contains(fmt.Sprintf("%s:%d %s, %s", m.File, m.Line, m.Func, m.Operator), o.only)
	})
	if o.listed {
		for _, m := range drawn {
			fmt.Printf("%-10s %s:%d %s, %s\n    - %s\n    + %s\n", m.Room, m.File, m.Line, m.Func, m.Operator,
				m.Before, m.After)
		}
	}
	return drawn, nil
}

func try(ctx context.Context, gate *mutants.Gate, drawn []sampled) ([]result, error) {
	var tried []mutants.Mutant
	for _, m := range drawn {
		if m.Equivalent == "" {
			tried = append(tried, m.Mutant)
		}
	}
	found, err := gate.Run(ctx, tried)
	if err != nil {
		return nil, err
	}
	var results []result
	for _, m := range drawn {
		r := result{sampled: m, Result: mutants.Result{Name: m.Name, Equivalent: m.Equivalent != ""}}
		if !r.Equivalent {
			r.Result, found = found[0], found[1:]
		}
		results = append(results, r)
	}
	return results, nil
}

type counted struct {
	Room       string `json:"room"`
	Killed     int    `json:"killed"`
	Total      int    `json:"total"` // number of mutants, without the equivalent ones
	Equivalent int    `json:"equivalent"`
	Unreached  int    `json:"unreached"`
	Percent    int    `json:"percent"`
}

func count(chosen []mutants.Room, results []result) []counted {
	var counts []counted
	for _, r := range chosen {
		c := counted{Room: r.Name}
		for _, m := range results {
			switch {
			case m.Room != r.Name:
				continue
			case m.Equivalent:
				c.Equivalent++
				continue
			case m.By != "":
				c.Killed++
			case m.Reached == 0:
				c.Unreached++
			}
			c.Total++
		}
		c.Percent = 100 * c.Killed / max(1, c.Total)
		counts = append(counts, c)
	}
	return counts
}

func summary(counts []counted, results []result) string {
	var b strings.Builder
	b.WriteString("\nsurvivors:\n")
	for _, m := range slices.SortedFunc(slices.Values(results),
		func(a, b result) int { return cmp.Or(cmp.Compare(a.File, b.File), a.Line-b.Line) }) {
		if m.By == "" && !m.Equivalent {
			fmt.Fprintf(&b, "  %s\n      - %.200s\n      + %.200s\n", m, m.Before, m.After)
		}
	}
	b.WriteString("\nroom        killed  total      %  unreached  equivalent\n")
	for _, c := range counts {
		fmt.Fprintf(&b, "%-10s  %6d  %5d  %4d%%  %9d  %10d\n", c.Room, c.Killed, c.Total, c.Percent,
			c.Unreached, c.Equivalent)
	}
	return b.String()
}

func below(counts []counted, floor int) error {
	var rooms []string
	for _, c := range counts {
		if c.Total > 0 && c.Percent < floor {
			rooms = append(rooms, fmt.Sprintf("%s (%d %%)", c.Room, c.Percent))
		}
	}
	if len(rooms) == 0 {
		return nil
	}
	return fmt.Errorf(
		"the tests of these rooms notice less than %d %% of their mutants: %s; write the tests that the "+
			"survivors lack, or argue in equivalents.go why none can notice", floor,
		strings.Join(rooms, ", "))
}

func belowInAll(counts []counted, floor int) error {
	killed, total := 0, 0
	for _, c := range counts {
		killed, total = killed+c.Killed, total+c.Total
	}
	percent := 100 * killed / max(1, total)
	fmt.Printf("\n%d of %d drawn mutants noticed, %d %%; the floor is %d %%\n", killed, total, percent, floor)
	if total == 0 || percent >= floor {
		return nil
	}
	return fmt.Errorf(
		"the tests notice %d %% of the mutants that were drawn, and the floor is %d %%; write the tests "+
			"that the survivors lack, or argue in equivalents.go why none can notice", percent, floor)
}
