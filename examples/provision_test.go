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

// A permanent fault sets Error and alerts. The operator removes the cause and resubmits the step.
func TestProvisionStopsAndGoesOn(t *testing.T) {
	w := workflowtest.New(t, "order/provision.yaml").AllowUnscripted()
	w.Agent("accounts").On("create").Return(map[string]any{"accountId": "a-1"})
	w.Agent("databases").On("allocate").
		Fail(workflowtest.Permanent("quota", "no database is left")).
		Return(map[string]any{"host": "db-1.example.com"})
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("allocate-database")
	run.ExpectUndone()
	require.Len(t, run.Alerts(), 1)
	require.Equal(t, "quota", run.Alerts()[0].Code)
	w.Advance(24 * time.Hour)
	run.ExpectCalls("databases.allocate", 1)

	require.True(t, run.Resubmit().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectPath("create-account", "allocate-database", "configure-dns", "announce")
	run.ExpectOutput(map[string]any{"accountId": "a-1", "host": "db-1.example.com"})
	run.ExpectCalls("accounts.create", 1) // what was done is not done again
	calls := run.Calls("databases.allocate")
	require.Equal(t, calls[1].Key, calls[0].Key)
	var record struct{ Name, Target string }
	require.NoError(t, run.Calls("dns.add")[0].Into(&record))
	require.Equal(t, "ada.example.com", record.Name)
	require.Equal(t, "db-1.example.com", record.Target)
}

// Or the operator has the whole order undone.
func TestProvisionStopsAndIsUndone(t *testing.T) {
	w := workflowtest.New(t, "order/provision.yaml").AllowUnscripted()
	w.Agent("databases").On("allocate").Return(map[string]any{"host": "db-1.example.com"})
	w.Agent("dns").On("add").Fail(workflowtest.Permanent("taken", "the name belongs to another customer"))
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("configure-dns")
	require.True(t, run.Undo().Accepted)
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("configure-dns", "allocate-database", "create-account")
}
