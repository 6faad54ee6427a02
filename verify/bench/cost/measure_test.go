// Package cost_test measures what one order of four steps consumes of what AWS bills, by running the
// real actors against a DynamoDB and an SQS on this machine. `make cost` starts the former.
package cost_test

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/internal/cost"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/dynamo/dynamotest"
)

// Flags of TestMeasure, after -args.
var (
	out  = flag.String("out", "", "`file` to write the units to, as an absolute path; nothing skips TestMeasure")
	only = flag.String("only", "", "`shape` to measure alone; the others stay as they were measured last")
)

// TestMeasure is the measurement of `make cost`.
func TestMeasure(t *testing.T) {
	if *out == "" {
		t.Skip("run make cost")
	}
	endpoint := os.Getenv(dynamotest.Variable)
	if err := dynamotest.Check(endpoint); err != nil || !dynamotest.Emulated() {
		t.Fatalf("%s=%q: this is measured on this machine only; run `make cost`", dynamotest.Variable, endpoint)
	}
	units, err := measured(t.Context(), endpoint, *only)
	if err != nil {
		t.Fatal(err)
	}
	b, err := json.MarshalIndent(units, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(cost.Write(os.Stdout, cost.Calculate(units, cost.Published(), cost.ServiceTime)),
		os.WriteFile(*out, append(b, '\n'), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func measured(ctx context.Context, endpoint, only string) (units cost.Units, err error) {
	if only == "" {
		return measureAll(ctx, endpoint, shapes)
	}
	units = cost.Measured()
	o, known := shapes[only]
	if !known {
		return units, fmt.Errorf("there is no shape %q", only)
	}
	units.Shapes[only], err = measure(ctx, endpoint, o)
	return units, err
}

// shapes holds all measured shapes, by their names in the units.
var shapes = map[string]options{
	cost.Load:         {orders: 500, scheduler: 10, agent: 5, reported: true},
	cost.Three:        {orders: 60, scheduler: 3, agent: 3, reported: true},
	cost.Trickle:      {orders: 60, scheduler: 1, agent: 1, reported: true},
	cost.NoReplyTo:    {orders: 500, scheduler: 10, agent: 5},
	cost.Finished:     {orders: 500, scheduler: 10, agent: 5, reported: true, finished: true},
	cost.Sequence:     {orders: 500, scheduler: 10, agent: 5, reported: true, agents: true},
	cost.EightLoad:    {orders: 500, scheduler: 10, agent: 5, reported: true, eight: true},
	cost.Wait:         {orders: 500, scheduler: 10, agent: 5, reported: true, wait: 10 * core.Minute},
	cost.Answer:       {orders: 500, scheduler: 10, agent: 5, reported: true, answer: true},
	cost.Children:     {orders: 500, scheduler: 10, agent: 5, reported: true, children: true},
	cost.Progress:     {orders: 500, scheduler: 10, agent: 5, reported: true, progress: true},
	cost.EightTrickle: {orders: 60, scheduler: 1, agent: 1, reported: true, eight: true},
}

func measureAll(ctx context.Context, endpoint string, shapes map[string]options) (cost.Units, error) {
	units := cost.Units{Measured: time.Now().UTC().Format(time.DateOnly), Shapes: map[string]cost.Shape{},
		How: "verify/bench/cost: the bench's order of 4 steps, Scheduler and agents as they run on " +
			"Lambda, DynamoDB Local 3.3.1, SQS's protocol on loopback"}
	for name, o := range shapes {
		shape, err := measure(ctx, endpoint, o)
		if err != nil {
			return units, fmt.Errorf("%s: %w", name, err)
		}
		units.Shapes[name] = shape
	}
	idle, err := sweep(ctx, endpoint)
	if err != nil {
		return units, fmt.Errorf("sweep: %w", err)
	}
	units.Shapes[cost.Sweep] = idle
	return units, nil
}
