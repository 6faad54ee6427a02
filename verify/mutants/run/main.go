// Command run tries the mutants in the files of verify/mutants/lists. A line "equivalent: " after a mutant
// says why no test can notice the mutant. The command fails if the tests do not notice a mutant that lacks
// this line. It also fails if the tests notice a mutant that has this line.
//
//	go run ./verify/mutants/run [-only TEXT] [-json FILE] [-by simulate|explore] [-changed] [-within TIME]
//
// With -changed, the mutants of changed groups of packages (mutants.Room) run first. The hash of the Git tree
// determines the order of the other mutants. With -within, the command starts no mutant after the given time,
// and prints the number of untried mutants. Use -only infra/ for the mutants of the infrastructure.
//
// With -by simulate the command runs simulations instead of the tests. With -by explore it runs explorations,
// which try many sequences of events. In both cases it tries only the mutants of the packages that a
// simulation executes. With -by simulate the command fails if the simulator misses a mutant that has no line
// "unsimulated: ". With -by explore it does not fail.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

type options struct {
	only, file, by, root string
	changed              bool
	within               time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.only, "only", "", "run only the mutants whose name or file holds this text")
	flag.StringVar(&o.file, "json", "", "write the results to this file")
	flag.StringVar(&o.by, "by", "", "try only the simulator (simulate) or its exploration (explore)")
	flag.BoolVar(&o.changed, "changed", false,
		"begin with the mutants of what has changed; the tree's hash orders the others")
	flag.DurationVar(&o.within, "within", 0, "begin no mutant after this time (default: no limit)")
	flag.StringVar(&o.root, "root", ".", "folder of the module")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type report struct {
	Mutants    int              `json:"mutants"` // number of tried mutants without the argument "equivalent"
	Killed     int              `json:"mutants_killed"`
	Equivalent int              `json:"mutants_equivalent"`
	Left       int              `json:"mutants_left"` // number of mutants that were not tried
	Seconds    float64          `json:"seconds"`
	Results    []mutants.Result `json:"results"`
}

func run(ctx context.Context, o options) error {
	began := time.Now()
	all := chosen(o.only, o.by)
	if len(all) == 0 {
		return fmt.Errorf("no mutant's name or file holds %q; nothing was tried", o.only)
	}
	if err := mutants.Check(all); err != nil {
		return err
	}
	if o.by != "" && byTest[o.by] == "" {
		return fmt.Errorf("-by %s: it is simulate or explore", o.by)
	}
	if o.changed {
		var err error
		if all, err = changedFirst(o.root, all); err != nil {
			return err
		}
	}
	folder, err := os.MkdirTemp("", "mutants")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }() // the system removes the temporary folder if this fails
	// The number of workers is twice the number of processors, because tests mostly wait.
	gate := mutants.Gate{Root: o.root, Folder: folder, Workers: 2 * runtime.NumCPU(), Within: o.within,
		By: byTest[o.by], Log: func(format string, args ...any) {
			fmt.Printf(format+"\n", args...)
		}}
	results, err := gate.Run(ctx, all)
	if err != nil {
		return err
	}
	r := report{Results: results, Left: len(all) - len(results), Seconds: time.Since(began).Seconds()}
	wrong := r.count()
	fmt.Printf("\n%d of %d mutants killed, %d argued to be equivalent, in %.0f s\n", r.Killed, r.Mutants,
		r.Equivalent, r.Seconds)
	if r.Left > 0 {
		fmt.Printf("%d were not tried, because the time was over; `make mutants` tries all\n", r.Left)
	}
	if o.file != "" {
		text, err := json.MarshalIndent(r, "", "  ")
		if err != nil {
			return err
		}
		if err := os.WriteFile(o.file, append(text, '\n'), 0o600); err != nil {
			return err
		}
	}
	if o.by == "simulate" {
		return r.simulated()
	}
	if len(wrong) > 0 && o.by == "" {
		return errors.New("the tests let these pass; write the test that notices, or argue why none can:\n" +
			strings.Join(wrong, "\n"))
	}
	return nil
}

func changedFirst(root string, all []mutants.Mutant) ([]mutants.Mutant, error) {
	c, err := mutants.ChangesOf(root)
	if err != nil {
		return nil, err
	}
	all, concerned := c.Order(all)
	if c.Known {
		fmt.Printf("%d mutants of what has changed; the others in the order of seed %d\n", concerned, c.Seed)
	} else {
		fmt.Printf("no history says what has changed: all in the order of seed %d\n", c.Seed)
	}
	return all, nil
}

func chosen(only, by string) []mutants.Mutant {
	all := slices.DeleteFunc(mutants.All(), func(m mutants.Mutant) bool {
		return !strings.Contains(m.Name, only) && !strings.Contains(m.File, only)
	})
	if only == "" {
		all = mutants.Offline()
		fmt.Println("SKIP infra: its tests need Node 20 and minutes; make mutants-infra runs them")
		fmt.Println(
			"SKIP the expiry of orders on DynamoDB: its tests need one; make mutants-dynamo starts it and " +
				"runs them")
	}
	if by == "" {
		return all
	}
	return slices.DeleteFunc(all, func(m mutants.Mutant) bool { return !slices.Contains(real, m.Package()) })
}

var byTest = map[string]string{"simulate": "TestMutant", "explore": "TestMutantExplored"}

// real lists the packages whose real code a simulation executes. The simulator replaces the stores, queues
// and services.
var real = []string{"shared/core", "shared/protocol", "shared/engine", "shared/state", "functions/scheduler",
	"functions/supervisor", "functions/agent/worker"}

// simulated prints three numbers of mutants:
//   - mutants that the simulator notices only with faults
//   - mutants that the simulator notices even without faults
//   - mutants with a line "unsimulated: ", which says why the simulator cannot notice them
//
// It returns an error if the simulator misses a mutant without such a line.
func (r *report) simulated() error {
	withoutFaults, argued, why := 0, 0, map[string]string{}
	for _, m := range mutants.All() {
		why[m.Name] = m.Unsimulated
	}
	var open []string
	for _, m := range r.Results {
		switch {
		case m.Equivalent || m.By != "":
		case m.WithoutFaults:
			withoutFaults++
		case why[m.Name] != "":
			argued++
		default:
			open = append(open, "  "+m.Name)
		}
	}
	fmt.Printf(
		"the simulator notices %d of them with faults only, and %d with all faults off as well; %d are "+
			"argued to be out of its reach\n", r.Killed, withoutFaults, argued)
	if len(open) == 0 {
		return nil
	}
	return fmt.Errorf(
		"the simulator does not notice these, and nothing argues why it cannot (\"unsimulated: \" in its "+
			"list):\n%s",
		strings.Join(open, "\n"))
}

func (r *report) count() (wrong []string) {
	for _, m := range r.Results {
		switch {
		case m.Equivalent:
			r.Equivalent++
		case m.By != "":
			r.Killed++
			r.Mutants++
		default:
			r.Mutants++
		}
		if m.Wrong() {
			wrong = append(wrong, "  "+m.String())
		}
	}
	return wrong
}
