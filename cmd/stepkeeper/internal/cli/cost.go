package cli

import (
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/shared/cost"
)

func newCost(a *App) *cobra.Command {
	return &cobra.Command{
		Use:   "cost",
		Short: "Tell what an order costs on AWS, with the arithmetic",
		Long: "What an order of four steps costs on AWS, under load and one by one, what a deployment costs while\n" +
			"nothing happens, and what others publish for the same work. Units are those of the last measurement\n" +
			"(`make cost`), prices are published ones with their sources and dates; nothing is asked over the network.",
		Example: "  stepkeeper cost\n  stepkeeper cost --output json | jq .dollars_per_million.load",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return runCost(a) },
	}
}

func runCost(a *App) error {
	units, err := cost.Measured()
	if err != nil {
		return failure.Wrap(err, failure.General, "build the program again from a clean checkout", "the measured units cannot be read")
	}
	prices, err := cost.Published()
	if err != nil {
		return failure.Wrap(err, failure.General, "build the program again from a clean checkout", "the prices cannot be read")
	}
	report := cost.Calculate(units, prices)
	if a.JSON() {
		return a.printJSON(report)
	}
	return cost.Write(a.Streams.Out, report)
}
