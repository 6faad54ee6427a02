package build_test

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent/agentsfile"
	"github.com/stepkeeper/stepkeeper/functions/agent/settings"
	"github.com/stepkeeper/stepkeeper/infra/build"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

var measure = flag.Bool("measure", false,
	"hold the functions to their limits of size, start and memory, which takes an idle machine")

// Limits of each function, and how it is measured.
const (
	maxBinary = 15_200_000 // 800 kB of them check values by their schemas, and 600 kB put events on buses
	maxZip    = 5_400_000
	maxStart  = 40 * time.Millisecond
	maxPeak   = 40_000_000
	starts    = 15 // of each function; the median counts
	batches   = 20 // of work, before the memory is looked at
)

// measured is one of our functions, with what stands beside its binary, its environment, and its work.
type measured struct {
	name, pkg   string
	files       map[string][]byte
	environment map[string]string
	event       func(n int) any // the n-th batch of work
}

// TestFunctionsKeepTheirLimits builds the functions as they are deployed and prints the size of binary and
// package, the time from the start of the process to its first request for work, and the peak of memory over
// some batches of work.
func TestFunctionsKeepTheirLimits(t *testing.T) {
	if !*measure {
		t.Skip("SKIPPED: make lambda-size measures")
	}
	aws := awsstub.New(t)
	dir := t.TempDir()
	t.Logf("%-12s binary MB  zip MB  start ms  first batch ms  warm batch ms  peak MB", "")
	for _, f := range measuredFunctions(t, aws) {
		binary, packed := sizes(t, dir, f)
		var all []timing
		program := forThisMachine(t, dir, f)
		for range starts {
			all = append(all, started(t, aws, program, f))
		}
		median := func(of func(timing) time.Duration) time.Duration {
			slices.SortFunc(all, func(a, b timing) int { return int(of(a) - of(b)) })
			return of(all[len(all)/2])
		}
		start := median(func(r timing) time.Duration { return r.start })
		peak := slices.MaxFunc(all, func(a, b timing) int { return int(a.peak - b.peak) }).peak
		t.Logf("%-12s %9.1f %7.1f %9.1f %15.1f %14.1f %8.1f", f.name, mega(binary), mega(packed),
			milli(start),
			milli(median(func(r timing) time.Duration {
				return r.first
			})), milli(median(func(r timing) time.Duration { return r.warm })), mega(peak))
		require.LessOrEqual(t, binary, int64(maxBinary), f.name)
		require.LessOrEqual(t, packed, int64(maxZip), f.name)
		require.LessOrEqual(t, start, maxStart, f.name)
		require.LessOrEqual(t, peak, int64(maxPeak), f.name)
	}
	t.Logf(
		"sizes of arm64 as deployed; starts and memory of %s on this machine, median of %d starts, peak "+
			"after %d batches", runtime.GOARCH, starts, batches)
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func measuredFunctions(t *testing.T, aws *awsstub.Stub) []measured {
	t.Helper()
	d, problems := source.LoadFile("../../examples/order/order.yaml", source.Options{})
	require.NoError(t, problems.Err())
	flow, err := workflow.Encode(d)
	require.NoError(t, err)
	raw, err := agentsfile.Read([]byte("agents: {payment: {url: " + aws.URL + "/service}}"))
	require.NoError(t, err)
	compiled, err := settings.Encode(raw)
	require.NoError(t, err)
	queues := aws.Queues("intake", "replies", "control", "quarantine", "requests-inventory",
		"requests-payment", "requests-shipping", "requests-notification", "requests-coats")
	engine := map[string]string{
		deployment.VarOrders: "orders", deployment.VarDefinitions: "definitions", deployment.VarShards: "8",
		deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts", deployment.VarQueues: queues,
		deployment.VarStack: "measured",
	}
	order := json.RawMessage(`{"items":[{"sku":"a","quantity":2,"unitPrice":990,"physical":true}],"currency":"EUR","payment":{"card":"tok"},"shipTo":{"country":"DE"},"customer":{"email":"a@example.com"}}`)
	return []measured{
		{
			"scheduler", build.Scheduler,
			map[string][]byte{"workflows/order.json": flow},
			engine,
			work("intake", 10, func(id string) any {
				return message.SubmitOrder{
					Schema: message.Schema, OrderID: id, Workflow: "order",
					Order: order,
				}
			}),
		},
		{
			"agent", build.HTTPAgent,
			map[string][]byte{deployment.AgentFile: compiled},
			map[string]string{deployment.VarAgent: "payment", deployment.VarQueues: queues},
			work("requests-payment", 5, request("payment", "charge", `{"amount":1980}`)),
		},
		{
			"agent in Go", "github.com/stepkeeper/stepkeeper/examples/agent-go", nil,
			map[string]string{
				deployment.VarAgent: "coats", deployment.VarQueues: queues,
				deployment.VarLedger: "ledger",
			},
			work("requests-coats", 5,
				request("coats", "hang", `{"coat":"red"}`)),
		},
		{
			"supervisor", build.Supervisor, nil, engine,
			func(int) any { return map[string]string{"from": "schedule"} },
		},
	}
}

// work makes full batches of one queue.
func work(queue string, size int, body func(id string) any) func(n int) any {
	return func(n int) any {
		var e events.SQSEvent
		for i := range size {
			id := fmt.Sprintf("o-%d-%d", n, i)
			text, err := json.Marshal(body(id))
			if err != nil {
				panic(err) // of our own types
			}
			e.Records = append(e.Records, events.SQSMessage{
				MessageId: id, ReceiptHandle: id, Body: string(text), EventSource: "aws:sqs",
				EventSourceARN: "arn:aws:sqs:eu-central-1:1:" + queue,
				Attributes: map[string]string{
					"ApproximateReceiveCount": "1",
					"SentTimestamp":           "1795230000000",
				},
			})
		}
		return e
	}
}

func request(agent, operation, input string) func(id string) any {
	farFuture := core.TimeOf(time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC))
	return func(id string) any {
		return message.Request{Schema: message.Schema, SendRequest: core.SendRequest{
			Agent: agent, OrderID: id, Step: operation, Attempt: 1, Operation: core.Do, Name: operation,
			Grade: core.Idempotent,
			Key:   id + "/0/" + operation, Timeout: 10 * core.Second, StopBy: farFuture,
			CompleteBy: farFuture,
			Input:      json.RawMessage(input),
		}}
	}
}

// sizes builds a function as it is deployed, and packs it as CDK does.
func sizes(t *testing.T, dir string, f measured) (binary, packed int64) {
	t.Helper()
	folder := filepath.Join(dir, f.name+"-deployed")
	program := filepath.Join(folder, "bootstrap")
	archive := folder + ".zip"
	for name, text := range f.files {
		placeFile(t, folder, name, string(text))
	}
	require.NoError(t, errors.Join(os.MkdirAll(folder, 0o755), build.Go(build.Binary{Package: f.pkg, Out: program}),
		build.ZipFile(archive, folder)))
	size := func(file string) int64 {
		info, err := os.Stat(file)
		require.NoError(t, err)
		return info.Size()
	}
	return size(program), size(archive)
}

// forThisMachine builds a function in a folder with its files.
func forThisMachine(t *testing.T, dir string, f measured) (program string) {
	t.Helper()
	folder := filepath.Join(dir, f.name)
	for name, text := range f.files {
		file := filepath.Join(folder, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(file, text, 0o600))
	}
	program = filepath.Join(folder, "bootstrap")
	require.NoError(t, build.Go(build.Binary{Package: f.pkg, X86: runtime.GOARCH == "amd64", Out: program}))
	return program
}

// timing is what one start took, and the highest memory of it.
type timing struct {
	start, first, warm time.Duration
	peak               int64
}

func started(t *testing.T, aws *awsstub.Stub, program string, f measured) (r timing) {
	t.Helper()
	env := aws.Variables(f.environment)
	env["LAMBDA_TASK_ROOT"] = filepath.Dir(program)
	env["AWS_LAMBDA_FUNCTION_MEMORY_SIZE"] = "128"
	began := time.Now()
	function := awsstub.Start(t, program, env)
	defer function.Kill()
	function.Asks()
	r.start = time.Since(began)
	for n := range batches {
		began = time.Now()
		answer := function.Answer(f.event(n))
		r.warm = time.Since(began)
		if n == 0 {
			r.first = r.warm
		}
		var said struct {
			BatchItemFailures []any
			ErrorMessage      string
		}
		require.NoError(t, json.Unmarshal(answer, &said), "%+v", n)
		require.Empty(t, said.BatchItemFailures, "%+v", n)
		require.Empty(t, said.ErrorMessage, "%+v", n)
	}
	r.peak = function.Memory()
	return r
}
