package examples_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/workflowtest"
)

var customer = map[string]any{
	"customer": map[string]any{"email": "ada@example.com"}, "domain": "Ada.Example.com", "gigabytes": 20,
}

func provision(t *testing.T) *workflowtest.Workflow {
	w := workflowtest.New(t, "order/provision.yaml")
	w.Agent("accounts").On("create").Return(map[string]any{"accountId": "a-1"})
	w.Agent("accounts").On("delete").Return(nil)
	w.Agent("databases").On("allocate").Return(map[string]any{"host": "db-1.example.com"})
	w.Agent("databases").On("release").Return(nil)
	w.Agent("dns").On("add").Return(nil)
	w.Agent("dns").On("remove").Return(nil)
	w.Agent("notification").On("welcome").Return(nil)
	return w
}

func TestProvision(t *testing.T) {
	run := provision(t).Submit(customer).UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectPath("create-account", "allocate-database", "configure-dns", "announce")
	run.ExpectOutput(map[string]any{"accountId": "a-1", "host": "db-1.example.com"})
	var record struct{ Name, Target string }
	require.NoError(t, run.Calls("dns.add")[0].Into(&record))
	require.Equal(t, "ada.example.com", record.Name)
	require.Equal(t, "db-1.example.com", record.Target)
}

// A permanent fault sets Error and alerts; the operator removes the cause and resubmits the step.
func TestProvisionStopsAndGoesOn(t *testing.T) {
	w := provision(t)
	w.Agent("databases").On("allocate").Fail(workflowtest.Permanent("quota", "no database is left"))
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("allocate-database")
	run.ExpectUndone()
	a := run.Alerts()
	require.Len(t, a, 1)
	require.Equal(t, "quota", a[0].Code)
	w.Advance(24 * time.Hour)
	run.ExpectError("allocate-database")
	run.ExpectCalls("databases.allocate", 1)

	w.Agent("databases").On("allocate").Return(map[string]any{"host": "db-2.example.com"})
	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("accounts.create", 1) // what was done is not done again
	calls := run.Calls("databases.allocate")
	require.Len(t, calls, 2)
	require.Equal(t, calls[1].Key, calls[0].Key)
}

// Or the operator has the whole order undone.
func TestProvisionStopsAndIsUndone(t *testing.T) {
	w := provision(t)
	w.Agent("dns").On("add").Fail(workflowtest.Permanent("taken", "the name belongs to another customer"))
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("configure-dns")
	require.True(t, run.Undo().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("configure-dns", "allocate-database", "create-account")
}
