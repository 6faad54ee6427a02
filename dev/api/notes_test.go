package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
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
	lines := strings.Split(strings.TrimSpace(string(a.body)), "\n")
	require.Len(t, lines, 2)
	require.Contains(t, lines[0], said)
	require.NotContains(t, lines[1], "notes")
}
