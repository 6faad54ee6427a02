package author

import (
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/cost"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

type costOptions struct {
	app     *app.App
	file    string
	steps   int // number of steps, given instead of a workflow file
	agents  int // number of deployed agents; 0 means the agents of the workflow, or one for each step
	orders  int
	service time.Duration
	prices  string // file with prices that replace the published ones
	rate    int    // orders per second, for comparing ways to bill the tables
	sweep   bool   // true to print only the comparison of the Supervisor's intervals
}

// NewCost returns the command `cost`.
func NewCost(a *app.App) *cobra.Command {
	o := &costOptions{app: a, service: cost.ServiceTime}
	return a.Command("cost", app.Flags{"steps": &o.steps, "agents": &o.agents, "orders-per-month": &o.orders,
		"service-time": &o.service, "prices": &o.prices, "rate": &o.rate, "sweep": &o.sweep},
		func(_ *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.file = given[0]
			}
			return runCost(o)
		})
}

func runCost(o *costOptions) error {
	units := cost.Measured()
	prices := cost.Published()
	if o.prices != "" {
		file, err := os.ReadFile(o.prices)
		if err != nil {
			return failure.Wrap(err, failure.Usage, "give a file of prices that can be read",
				"%s cannot be read", o.prices)
		}
		if prices, err = prices.With(file); err != nil {
			return failure.Wrap(err, failure.Usage, "correct the file; internal/cost/prices.json is one",
				"%s is no file of prices", o.prices)
		}
	}
	report := cost.Calculate(units, prices, o.service)
	workload, asked, err := o.workload()
	if err != nil {
		return err
	}
	if asked {
		if report.Yours, err = report.Estimate(workload); err != nil {
			return failure.Wrap(err, failure.Usage, "give numbers within these bounds",
				"the cost cannot be estimated")
		}
	}
	if o.rate != 0 {
		if report.Capacities, err = report.CompareCapacities(o.rate); err != nil {
			return failure.Wrap(err, failure.Usage, "give a rate within these bounds",
				"the ways to bill the tables cannot be compared")
		}
	}
	if o.app.JSON() {
		return o.app.PrintJSON(report)
	}
	if o.sweep {
		return cost.WriteSweeps(o.app.Streams.Out, report)
	}
	if o.rate != 0 {
		return cost.WriteCapacities(o.app.Streams.Out, report)
	}
	return cost.Write(o.app.Streams.Out, report)
}

// workload returns the workload that the user asks about. The result asked is false if the user gave no file
// and no number.
func (o *costOptions) workload() (w cost.Workload, asked bool, err error) {
	w = cost.Workload{Steps: 4, Agents: o.agents, Orders: o.orders}
	switch {
	case o.file != "" && o.steps != 0:
		return w, false, failure.New(failure.Usage, "give one of them",
			"a workflow file and --steps were given")
	case o.file != "":
		def, err := definitionOf(o.file)
		if err != nil {
			return w, false, err
		}
		w.Name, w.Steps = def.Name, 0
		if def.Events {
			w.Events = 1
		}
		for i := range def.Steps {
			switch def.Steps[i].Kind() {
			case core.KindCall, core.KindEach:
				w.Steps++
			case core.KindFail: // This kind of step calls no agent.
			default:
				w.Waits++
			}
		}
		if w.Agents == 0 {
			w.Agents = len(def.Agents)
		}
	case o.steps != 0:
		w.Steps = o.steps
	}
	if w.Agents == 0 {
		w.Agents = w.Steps
	}
	return w, o.file != "" || o.steps != 0 || o.agents != 0 || o.orders != 0, nil
}

func definitionOf(file string) (*core.Definition, error) {
	if _, err := os.Stat(file); err != nil {
		return nil, failure.Wrap(err, failure.NotFound, "name the file of a workflow",
			"the workflow cannot be read")
	}
	def, problems := source.LoadFile(file, source.Options{})
	if def == nil {
		return nil, failure.New(failure.Usage, problems.Error(), "%s is no valid workflow", file)
	}
	return def, nil
}
