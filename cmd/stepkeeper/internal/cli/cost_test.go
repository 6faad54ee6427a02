package cli

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/cost"
)

func TestCostPrintsPricesAndSweeps(t *testing.T) {
	r := call{}.run(t, "cost")
	r.want(t, failure.OK, "Dollars per million orders", "All in", "batches of three",
		"a service that takes 200ms", "point-in-time recovery", "while nothing happens",
		"Step Functions Standard", "Temporal Cloud", "Source, 20")
	r = call{}.run(t, "cost", "--sweep")
	r.want(t, failure.OK, "interval, minutes", "30s", "1m0s", "1h0m0s")
	require.NotContains(t, r.out, "Step Functions", "--sweep prints the intervals alone")
	r = call{}.run(t, "cost", "--rate", "1000")
	r.want(t, failure.OK, "at 1000 orders a second", "Provisioned, writes", "Break-even")
	require.NotContains(t, r.out, "Step Functions", "--rate prints the comparison alone")
	call{}.run(t, "cost", "--rate", "-1").want(t, failure.Usage, "give 1 to 1000000")
	r = call{}.run(t, "cost", "--service-time", "1s", "--output", "json")
	r.want(t, failure.OK)
	var got struct {
		DollarsPerMillion map[string]float64 `json:"dollars_per_million"`
		ServiceTime       float64            `json:"service_time_s"`
		IdlePerMonth      float64            `json:"idle_per_month"`
		Units             cost.Units         `json:"units"`
		Sweeps            []cost.Frequency   `json:"sweeps"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.Positive(t, got.DollarsPerMillion["load"])
	require.Positive(t, got.DollarsPerMillion["trickle"])
	require.Positive(t, got.IdlePerMonth)
	require.EqualValues(t, 1, got.ServiceTime)
	require.NotEmpty(t, got.Units.Shapes["load"].Lines)
	for i, f := range got.Sweeps[1:] {
		before := got.Sweeps[i]
		require.Greater(t, f.Minutes, before.Minutes)
		require.Less(t, f.PerMonth, before.PerMonth)
		require.Greater(t, f.MeanDelay, before.MeanDelay)
	}
}

// With a workflow, or a number of steps, the cost of one order and of a month of orders is estimated.
func TestCostEstimatesAWorkflow(t *testing.T) {
	r := call{}.run(t, "cost", "../../../../workflows/order.yaml", "--orders-per-month", "3000000")
	r.want(t, failure.OK, "Yours, workflow order:", "Your month of 3000000 orders",
		"Stepkeeper, load to trickle")
	r = call{}.run(t, "cost", "--steps", "12", "--agents", "3", "--output", "json")
	r.want(t, failure.OK)
	var got struct {
		Yours *cost.Estimate `json:"yours"`
	}
	require.NoError(t, json.Unmarshal([]byte(r.out), &got))
	require.NotNil(t, got.Yours)
	require.Equal(t, 12, got.Yours.Steps)
	require.Equal(t, 3, got.Yours.Agents)
	require.Greater(t, got.Yours.DollarsPerMillion["load"], 11.0)
	require.InDelta(t, got.Yours.IdlePerMonth, got.Yours.DollarsPerMonth["load"], 1e-9)
	// Waits and answers are not calls. They are counted separately, and cost less.
	prices := map[int]float64{}
	for i, step := range []string{"wait: {for: 1h}",
		"approval: {question: Pay, answers: [pay, keep], timeout: 24h, onTimeout: stop}",
		"agent: bank\n    operation: x\n    grade: plain\n    timeout: 1s\n    onFailure: stop\n    undo: " +
			"none"} {
		file := write(t, "two.yaml",
			"workflow: two\nagents: {bank: {}}\nsteps:\n  a:\n    agent: bank\n    operation: x\n    "+
				"grade: plain\n    timeout: 1s\n    onFailure: stop\n    undo: none\n  b:\n    after: "+
				"[a]\n    "+step+"\n")
		r := call{}.run(t, "cost", file, "--output", "json")
		r.want(t, failure.OK)
		require.NoError(t, json.Unmarshal([]byte(r.out), &got))
		prices[i] = got.Yours.DollarsPerMillion["load"]
	}
	require.InDelta(t, prices[0], prices[1], 1e-9, "a wait costs as much as an answer")
	require.Less(t, prices[0], prices[2], "a wait costs less than a call")
	call{}.run(t, "cost", "--prices", write(t, "prices.json", `{"lambda":"cheap"}`)).want(t, failure.Usage,
		"prices.json is no file of prices", "internal/cost/prices.json is one")
	for _, wrong := range [][]string{
		{"cost", "testdata"}, {"cost", "--steps", "0x"}, {"cost", "--steps", "101"},
		{"cost", "--steps", "-1"},
		{"cost", "--orders-per-month", "-1"}, {"cost", "--agents", "-1"}, {"cost", "--service-time", "0s"},
		{"cost", "--service-time", "16m"}, {"cost", "--prices", "none.json"},
		{"cost", "../../../../workflows/order.yaml", "--steps", "3"},
	} {
		call{}.run(t, wrong...).want(t, failure.Usage)
	}
	call{}.run(t, "cost", "none.yaml").want(t, failure.NotFound)
}
