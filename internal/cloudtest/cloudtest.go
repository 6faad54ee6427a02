// Package cloudtest is a deployment of the functions for their tests. Its AWS is a stub.
package cloudtest

import (
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/workflow"
	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
)

// Quiet drops the log.
var Quiet = slog.New(slog.DiscardHandler)

// Deployment is the stack Shop/Engine.
type Deployment struct {
	*awsstub.Stub
	Settings    map[string]string // environment of the functions
	Definitions map[string]*core.Definition

	t *testing.T
}

// New returns a deployment of workflow files, each given by its text. It has the queues of the actors and of the
// workflows' agents, and the reply-to shop. Its tables keep nothing; see Keep.
func New(t *testing.T, workflows ...string) *Deployment {
	t.Helper()
	d := &Deployment{Stub: awsstub.New(t), t: t, Definitions: map[string]*core.Definition{}}
	root := t.TempDir()
	folder := filepath.Join(root, deployment.WorkflowsFolder)
	require.NoError(t, os.Mkdir(folder, 0o700))
	agents := map[string]bool{"payment": true}
	for _, text := range workflows {
		file := filepath.Join(root, "workflow.yaml")
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		def, problems := source.LoadFile(file, source.Options{})
		require.NoError(t, problems.Err())
		data, err := workflow.Encode(def)
		require.NoError(t, errors.Join(err, os.WriteFile(filepath.Join(folder, def.Name+".json"), data, 0o600)))
		d.Definitions[def.Name] = def
		for agent := range def.Agents {
			agents[agent] = true
		}
	}
	queues := []string{port.Intake, port.Replies, port.Control, port.Quarantine}
	for _, agent := range slices.Sorted(maps.Keys(agents)) {
		queues = append(queues, port.Requests(agent))
	}
	d.Settings = map[string]string{
		"LAMBDA_TASK_ROOT": root, deployment.VarStack: "Shop/Engine", deployment.VarOrders: "orders",
		deployment.VarDefinitions: "definitions", deployment.VarShards: "1", deployment.VarReplyTo: d.Queues("shop"),
		deployment.VarAlerts: "arn:aws:sns:eu-central-1:1:alerts", deployment.VarQueues: d.Queues(queues...),
	}
	return d
}

// Kept returns a New deployment whose tables keep what is stored.
func Kept(t *testing.T, workflows ...string) *Deployment {
	t.Helper()
	d := New(t, workflows...)
	d.Keep("orders", "OrderID")
	d.Keep("definitions", "Hash")
	return d
}

// Lookup looks up an environment variable of the functions.
func (d *Deployment) Lookup(name string) (string, bool) { return d.Environment(d.Settings)(name) }

// Step returns the step of an order as it is stored.
func (d *Deployment) Step(order, step string) *protocol.Step {
	d.t.Helper()
	c, err := wire.Environment(d.Lookup)
	require.NoError(d.t, err)
	store := dynamo.New(dynamo.NewHandlerClient(c), dynamo.Tables{Orders: "orders"}, dynamo.Options{})
	records, errs := store.Load(d.t.Context(), []string{order})
	require.NoError(d.t, errs[0])
	task, err := state.DecodeTask(records[0].Document)
	require.NoError(d.t, err)
	return task.Step(step)
}
