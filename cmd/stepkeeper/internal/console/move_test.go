package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var moveTarget = regexp.MustCompile(`After the move it runs <a href="[^"]*definition=([0-9a-f]{32})"`)

// deploy replaces the workflow, and returns its definition when the page compares with it, another one than before, and
// says whether the order can be moved. While its end is not reported yet, it cannot.
func (w *world) deploy(text, says string, before ...string) (definition string) {
	w.Helper()
	require.NoError(w, os.WriteFile(filepath.Join(w.data, "workflows", "order.yaml"), []byte(text), 0o600))
	w.until("the file is in force", func() bool {
		_, page := w.get("/orders/o-1/move")
		found := moveTarget.FindStringSubmatch(page)
		if found == nil || slices.Contains(before, found[1]) || !strings.Contains(page, says) {
			return false
		}
		definition = found[1]
		return true
	})
	return definition
}

// An order is moved to the newer definition of its workflow, to that of its form, if the server accepts this one.
// TestEveryPage has the page that compares them.
func TestOrderMovesToTheNewerDefinition(t *testing.T) {
	w := newWorld(t, nil)
	close(w.hold)
	w.refusing("charge")
	w.stops("order", "o-1")
	before, err := w.client.Get(t.Context(), "o-1")
	require.NoError(t, err)
	weighed := strings.Replace(flows["order"], "after: [charge, pack]", "after: [charge, pack, weigh]", 1) +
		"  weigh: {agent: shop, operation: weigh, after: [pack], timeout: 30s, onFailure: stop, undo: none, " +
		"grade: fenced}\n"
	refused := w.deploy(strings.Replace(weighed, "charge: {agent: shop, operation: charge,",
		"charge: {agent: shop, operation: charge-card,", 1), "The order cannot be moved", before.Definition)
	_, order := w.get("/orders/o-1")
	require.Contains(t, order, ">Compare</a>")
	require.NotContains(t, order, "resubmit o-1 --definition latest")

	offered := w.deploy(weighed, "The order can be moved now", before.Definition, refused)
	_, order = w.get("/orders/o-1")
	wants(t, order, "Compare and move", "resubmit o-1 --definition latest")
	_, list := w.get("/bulk?command=move&definition=latest&workflow=order&state=error")
	wants(t, list, "1 the definitions differ: ")
	for _, x := range []struct{ definition, says string }{
		{refused, "move was refused"}, // an older page would send this definition
		{offered, "move was accepted"},
	} {
		action, form := w.form("/orders/o-1/move", "kind", "move")
		require.Equal(t, offered, form.Get("definition"))
		form.Set("by", "ada")
		form.Set("reason", "it has to be weighed")
		form.Set("definition", x.definition)
		_, body := w.post(action, form)
		wants(t, body, x.says)
	}
	after, err := w.client.Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.Equal(t, offered, after.Definition)
	require.Empty(t, after.Deployed)
	last := after.Verdicts[len(after.Verdicts)-1]
	require.Equal(t, []string{"move", "ada", "it has to be weighed"}, []string{last.Command, last.By, last.Note})
	status, _ := w.get("/workflows/order?definition=" + before.Definition)
	require.Equal(t, http.StatusOK, status, "the older definition is still shown")
}
