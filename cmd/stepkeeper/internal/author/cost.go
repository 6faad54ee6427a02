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
	file    string // a workflow of the user's
	steps   int    // instead of a file
	agents  int    // deployed agents; 0 means those of the workflow
	orders  int    // a month
	service time.Duration
	prices  string // file of prices that differ
	sweep   bool   // only the comparison of the Supervisor's intervals
}

// NewCost returns the command cost.
func NewCost(a *app.App) *cobra.Command {
	o := &costOptions{app: a}
	cmd := &cobra.Command{
		Use:   "cost [FILE]",
		Short: "Print what an order costs on AWS, with the arithmetic",
		Long: "What an order of four steps costs on AWS, under load and one by one, what a deployment " +
			"costs while\n" +
			"nothing happens, and what others publish for the same work. Units are those of the last " +
			"measurement\n" +
			"(`make cost`), prices are published ones with their sources and dates; nothing is asked over " +
			"the network.\n\n" +
			"With a workflow file, or --steps, the same is estimated for that many steps, and with\n" +
			"--orders-per-month for a month of yours. The functions of your agents are not in the totals. " +
			"Their cost\n" +
			"is computed for services that take as long as --service-time. --prices puts your Region's or " +
			"your\n" +
			"contract's prices over the published ones:\n{\"region\": \"eu-west-1\", \"prices\": " +
			"{\"dynamodb-write\": {\"dollars\": 0.7, \"per\": 1000000}}}.\n\n" +
			"--sweep compares intervals of the Supervisor: how late it finds a step overdue, and dollars " +
			"a month.",
		Example: "  stepkeeper cost\n  stepkeeper cost workflows/order.yaml --orders-per-month 3000000\n" +
			"  stepkeeper cost --output json | jq .dollars_per_million.load",
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, given []string) error {
			if len(given) == 1 {
				o.file = given[0]
			}
			return runCost(o)
		},
		ValidArgsFunction: app.CompleteWorkflowFiles,
	}
	f := cmd.Flags()
	f.IntVar(&o.steps, "steps", 0, "`number` of steps of an order, instead of a file")
	f.IntVar(&o.agents, "agents", 0,
		"`number` of agents deployed; without it those of the file, or as many as steps")
	f.IntVar(&o.orders, "orders-per-month", 0, "`number` of orders a month, for a monthly bill")
	f.DurationVar(&o.service, "service-time", cost.ServiceTime,
		"how long an agent waits for its service, up to 15m")
	f.StringVar(&o.prices, "prices", "",
		"JSON `file` of the prices that you pay, where they differ from the published ones")
	f.BoolVar(&o.sweep, "sweep", false,
		"only compare intervals of the Supervisor: delay of detection against dollars")
	_ = cmd.MarkFlagFilename("prices", "json")
	return cmd
}

// longestService is as long as a Lambda function runs.
const longestService = 15 * time.Minute

func runCost(o *costOptions) error {
	units, err := cost.Measured()
	if err != nil {
		return failure.Wrap(err, failure.General, "build the program again from a clean checkout",
			"the measured units cannot be read")
	}
	prices, err := cost.Published()
	if err != nil {
		return failure.Wrap(err, failure.General, "build the program again from a clean checkout",
			"the prices cannot be read")
	}
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
	if o.service <= 0 || o.service > longestService {
		return failure.New(failure.Usage,
			"give more than 0 and at most 15m, as long as a Lambda function runs", "--service-time is %s",
			o.service)
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
	if o.app.JSON() {
		return o.app.PrintJSON(report)
	}
	if o.sweep {
		return cost.WriteSweeps(o.app.Streams.Out, report)
	}
	return cost.Write(o.app.Streams.Out, report)
}

// workload is what the user asks about; asked is false where they asked for nothing of their own.
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
		for i := range def.Steps {
			switch d := &def.Steps[i]; {
			case d.Wait != nil || d.Answer != nil:
				w.Waits++
			case d.Fail == nil: // a rule is decided in passing
				w.Steps++
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

// definitionOf reads a workflow file that has to be right.
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
