package api_test

import (
	"net/http"
	"strings"
	"testing"
)

// What of an order has no effect is said in its receipt, alone and in a stream.
func TestReceiptSaysWhatHasNoEffect(t *testing.T) {
	r := newRig(t)
	high := func(id string) string {
		return strings.Replace(orderJSON(id), `{`, `{"priority":"high",`, 1)
	}
	const said = `"notes":["priority \"high\" is stored with the order and has no effect`
	if a := r.post("/v1/orders", high("o-1")); a.status != http.StatusAccepted ||
		!strings.Contains(string(a.body), said) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := r.post("/v1/orders", orderJSON("o-2")); a.status != http.StatusAccepted ||
		strings.Contains(string(a.body), "notes") {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := r.do("POST", "/v1/orders", "application/x-ndjson", high("o-3")+"\n"+orderJSON("o-4")+"\n")
	if lines := strings.Split(strings.TrimSpace(string(a.body)), "\n"); len(lines) != 2 ||
		!strings.Contains(lines[0], said) || strings.Contains(lines[1], "notes") {
		t.Errorf("%d %s", a.status, a.body)
	}
}
