package examples_test

import (
	"testing"
	"time"

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
	if err := run.Calls("dns.add")[0].Into(&record); err != nil || record.Name != "ada.example.com" ||
		record.Target != "db-1.example.com" {
		t.Errorf("DNS record %+v, %v", record, err)
	}
}

// A permanent fault sets Error and alerts; the operator removes the cause and resubmits the step.
func TestProvisionStopsAndGoesOn(t *testing.T) {
	w := provision(t)
	w.Agent("databases").On("allocate").Fail(workflowtest.Permanent("quota", "no database is left"))
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("allocate-database")
	run.ExpectUndone()
	if a := run.Alerts(); len(a) != 1 || a[0].Code != "quota" {
		t.Errorf("alerts %+v", a)
	}
	w.Advance(24 * time.Hour)
	run.ExpectError("allocate-database")
	run.ExpectCalls("databases.allocate", 1)

	w.Agent("databases").On("allocate").Return(map[string]any{"host": "db-2.example.com"})
	if v := run.Resubmit(); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectProcessed()
	run.ExpectCalls("accounts.create", 1) // what was done is not done again
	calls := run.Calls("databases.allocate")
	if len(calls) != 2 || calls[0].Key != calls[1].Key {
		t.Errorf("allocated with other keys: %+v", calls)
	}
}

// Or the operator has the whole order undone.
func TestProvisionStopsAndIsUndone(t *testing.T) {
	w := provision(t)
	w.Agent("dns").On("add").Fail(workflowtest.Permanent("taken", "the name belongs to another customer"))
	run := w.Submit(customer).UntilEnd(time.Minute)
	run.ExpectError("configure-dns")
	if v := run.Undo(); !v.Accepted {
		t.Fatal(v.Reason)
	}
	run.UntilEnd(time.Minute)
	run.ExpectCompensated()
	run.ExpectUndone("configure-dns", "allocate-database", "create-account")
}
