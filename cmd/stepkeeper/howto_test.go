//go:build unix

package main

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// repairable is a workflow whose orders stop for the operator.
const repairable = `workflow: shop
agents: {payment: {queueAllowance: 1s, clockSkew: 10ms}, parcel: {queueAllowance: 1s, clockSkew: 10ms}}
steps:
  charge-payment:
    agent: payment
    operation: charge
    input: {amount: "${ order.amount }"}
    timeout: 1s
    retry: {maxFailures: 1}
    onFailure: stop
    undo: refund
    grade: fenced
  ship:
    agent: parcel
    operation: ship
    after: [charge-payment]
    input: {to: "${ order.to }", express: true}
    timeout: 1s
    retry: {maxFailures: 1}
    onFailure: stop
    undo: recall
    grade: fenced
`

const answerable = `workflow: purchase
steps:
  approve:
    approval: {question: Pay?, answers: [approve, reject], refuse: value == "reject", timeout: 2d, onTimeout: undo}
  paid:
    event: {name: payment-settled, timeout: 7d, onTimeout: undo}
    after: [approve]
`

// shopServices answer the steps of repairable: 503 for a charge while bankDown, 422 for an address that does not
// exist.
func shopServices(t *testing.T, bankDown *atomic.Bool) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body) // a body that is cut short has no address
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/payment/charge" && bankDown.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case strings.Contains(string(body), "Elm St 1"):
			w.WriteHeader(http.StatusUnprocessableEntity)
			_, _ = io.WriteString(w, `{"code": "no-such-address"}`)
		default:
			_, _ = io.WriteString(w, `{}`)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestHowTo runs the commands of how-to pages that a server on this machine takes, and checks that the pages show
// what they print.
func TestHowTo(t *testing.T) {
	if testing.Short() {
		t.Skip("starts processes")
	}
	const folder = "../../docs/how-to/"
	var bankDown atomic.Bool
	x := open(t)
	url := shopServices(t, &bankDown)
	require.NoError(t, os.Mkdir(filepath.Join(x.dir, "workflows"), 0o700))
	for name, text := range map[string]string{
		"workflows/shop.yaml": repairable, "workflows/purchase.yaml": answerable,
		"agents.yaml": "agents:\n  payment: {url: " + url + "/payment, allow: {loopback: true}}\n" +
			"  parcel: {url: " + url + "/parcel, allow: {loopback: true}}\n",
		"corrected.json": `{"to": "Oak St 12", "express": true}`,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(x.dir, name), []byte(text), 0o600))
	}
	server := x.leave(t, "stepkeeper dev --listen 127.0.0.1:0", address)
	x.env = append(x.env, "STEPKEEPER_SERVER=http://"+server)
	x.here[server] = "127.0.0.1:8377"
	submit := func(id, workflow, order string, code int) {
		x.run(t, "echo '"+order+"' | stepkeeper submit --workflow "+workflow+" --id "+id+" --wait -", code)
	}

	page := folder + "answers.md"
	x.run(t, "echo '{}' | stepkeeper submit --workflow purchase --id order-1001 -", 0)
	x.run(t, untilListed("order-1001", "approvals"), 0)
	answers := lines(t, page, "stepkeeper answer")
	x.recorded(t, page, strings.Join(answers, "\n"), x.run(t, answers[0]+" && "+answers[1], 0))
	x.run(t, "stepkeeper watch order-1001", 0, "Processed")
	x.shows(t, folder+"check-health.md", "stepkeeper doctor", 0)

	bankDown.Store(true)
	for _, id := range []string{"order-1002", "order-1003"} {
		submit(id, "shop", `{"amount": 120, "to": "Oak St 12"}`, 6)
	}
	submit("last", "shop", `{"amount": 120, "to": "Oak St 12"}`, 6)
	quiet := func(id string) { // commands about a step wait until no call of it can take effect
		x.run(t, "timeout 60 sh -c 'until stepkeeper close "+id+" --reason none --yes; do sleep 0.1; done'", 0)
	}
	quiet("last")
	page = folder + "repair-an-order.md"
	x.shows(t, page, "stepkeeper list --where state=Error", 0)
	x.shows(t, page, "stepkeeper show order-1002", 0)
	confirm := func(line string) { x.recorded(t, page, line, x.run(t, line+" --yes", 0)) } // there is no terminal
	confirm(`stepkeeper close order-1002 --reason "refunded by hand, ticket 4711"`)
	bankDown.Store(false)
	const many = `stepkeeper resubmit --where step=charge-payment,code=http-503 --reason "the bank was down"`
	x.shows(t, page, many+" --dry-run", 0)
	x.run(t, many+" --yes", 0, "1 fixed: order-1003")

	submit("order-1004", "shop", `{"amount": 120, "to": "Elm St 1"}`, 6)
	submit("last-too", "shop", `{"amount": 120, "to": "Elm St 1"}`, 6)
	quiet("last-too")
	correct := lines(t, page, "stepkeeper resolve")
	x.recorded(t, page, strings.Join(correct, "\n"), x.run(t, correct[0]+" && "+correct[1], 0))
	x.run(t, "stepkeeper watch order-1004", 0, "Processed")

	bankDown.Store(true)
	submit("order-1005", "shop", `{"amount": 120, "to": "Oak St 12"}`, 6)
	bankDown.Store(false)
	x.edit(t, "workflows/shop.yaml", "express: true", "express: false")
	_, hash, _ := strings.Cut(x.run(t, "stepkeeper workflow validate workflows/shop.yaml --output json", 0), `"hash":"`)
	hash, _, _ = strings.Cut(hash, `"`)
	x.run(t, untilListed(hash, "workflow list --output json"), 0) // the server has read the changed file
	page = folder + "change-a-workflow.md"
	x.shows(t, page, "stepkeeper move order-1005 --definition latest --dry-run", 0)
	x.shows(t, page, "stepkeeper move order-1005 --definition latest --simulate --dry-run", 0)
	x.shows(t, page, "stepkeeper resubmit order-1005 --definition latest", 0)
	x.run(t, "stepkeeper watch order-1005", 0, "Processed")

	page = folder + "erase-data.md"
	confirm(`stepkeeper erase order-1004 --reason "the customer asked for it, ticket 4711"`)
}
