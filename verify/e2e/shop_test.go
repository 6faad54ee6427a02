package e2e

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/audit"
	"github.com/stepkeeper/stepkeeper/demo/services"
)

// shop is the remote services, whose calls take slowFor until Calm. They inject no fault.
type shop struct{ *services.Fleet }

func newShop(t *testing.T, slowFor time.Duration) shop {
	o := services.Options{Dir: t.TempDir(), SlowFor: slowFor, Rates: map[string]services.Rates{}}
	for _, name := range services.Names() {
		if slowFor > 0 {
			o.Rates[name] = services.Rates{services.Slow: 1}
		}
	}
	fleet, err := services.Start(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, fleet.Close()) })
	return shop{fleet}
}

// waits lets the inventory have that many calls under way.
func (s shop) waits(t *testing.T) {
	t.Helper()
	eventually(t, "calls under way", func() bool { return s.Counts(services.Inventory).Calls >= 32 })
}

// holds checks that these orders had their effects once, or had none or all undone, and that there are no others.
func (s shop) holds(t *testing.T, outcomes map[string]audit.Outcome) {
	t.Helper()
	require.NoError(t, s.Drain(t.Context()))
	var orders []audit.Order
	for id, outcome := range outcomes {
		orders = append(orders, audit.Order{ID: id, Outcome: outcome, Units: 1, Amount: 1999, Currency: "EUR"})
	}
	result, err := audit.Run(s.Ledger, orders)
	require.NoError(t, err)
	require.Empty(t, result.Violations)
}

// processed is the outcome of orders that were all processed.
func processed(ids []string) map[string]audit.Outcome {
	all := map[string]audit.Outcome{}
	for _, id := range ids {
		all[id] = audit.Processed
	}
	return all
}

// good is the content of an order that no service refuses. The payment refuses the card of the other.
const (
	good    = `{"card":"tok_visa"}`
	refused = `{"card":"tok_declined"}`
)

// sale is a workflow of three steps, the last without return.
const sale = `workflow: sale
grace: 1s
tellAfter: 1s
agents:
  inventory: {queueAllowance: 30s, clockSkew: 100ms}
  payment: {queueAllowance: 30s, clockSkew: 100ms}
  notification: {queueAllowance: 30s, clockSkew: 100ms}
steps:
  reserve:
    agent: inventory
    operation: reserve
    input: {items: [{sku: MUG, quantity: 1}]}
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    onFailure: undo
    undo: release
    grade: fenced
  charge:
    agent: payment
    operation: charge
    after: [reserve]
    input: {card: "${ order.card }", amount: 1999, currency: EUR}
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    onFailure: undo
    undo: refund
    grade: idempotent
  confirm:
    agent: notification
    operation: confirm
    after: [charge]
    timeout: 20s
    retry: {maxFailures: 20, backoff: {initial: 20ms, max: 200ms}}
    pointOfNoReturn: true
    onFailure: stop
    grade: idempotent
`

// newSite returns a site with the workflow sale, whose agents call the shop.
func (s shop) newSite(t *testing.T, flags ...string) *site {
	t.Helper()
	return newSite(t, string(services.AgentsFile(s.URL())), map[string]string{"sale.yaml": sale}, flags...)
}
