package console_test

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/client"
)

// moving is an order in Error, whose workflow gets newer definitions.
type moving struct {
	*world
	before *client.Task
	page   string // page of the move, as it was last read
}

var moveTarget = regexp.MustCompile(`After the move it runs <a href="[^"]*definition=([0-9a-f]{32})"`)

// target returns the definition that the page compares.
func (m *moving) target() string {
	m.Helper()
	found := moveTarget.FindStringSubmatch(m.page)
	require.NotNil(m, found, m.page)
	return found[1]
}

// deploy replaces the workflow, and waits until the page compares with it and says whether the order can be moved.
// While its end is not reported yet, it cannot.
func (m *moving) deploy(text, says string) {
	m.Helper()
	was := ""
	if m.page != "" {
		was = m.target()
	}
	require.NoError(m, os.WriteFile(filepath.Join(m.data, "workflows", "order.yaml"), []byte(text), 0o600))
	m.until("the file is in force", func() bool {
		_, m.page = m.get("/orders/o-1/move")
		found := moveTarget.FindStringSubmatch(m.page)
		return found != nil && found[1] != was && found[1] != m.before.Definition && strings.Contains(m.page, says)
	})
}

// An order is compared with the newer definition of its workflow, and moved to it.
func TestOrderMovesToTheNewerDefinition(t *testing.T) {
	m := &moving{world: newWorld(t, nil)}
	close(m.hold)
	m.refusing("charge")
	m.stops("order", "o-1")
	before, err := m.client.Get(t.Context(), "o-1")
	require.NoError(t, err)
	m.before = before
	weighed := strings.Replace(flows["order"], "after: [charge, pack]", "after: [charge, pack, weigh]", 1) +
		"  weigh: {agent: shop, operation: weigh, after: [pack], timeout: 30s, onFailure: stop, undo: none, " +
		"grade: fenced}\n"

	refused := m.isNotOffered(t, strings.Replace(weighed, "charge: {agent: shop, operation: charge,",
		"charge: {agent: shop, operation: charge-card,", 1))
	m.isOffered(t, weighed)
	m.isMoved(t, refused)
}

// A definition that changes a step in doubt is compared, and the move is not offered.
func (m *moving) isNotOffered(t *testing.T, text string) (refused string) {
	m.deploy(text, "The order cannot be moved")
	wants(t, m.page, ">refused<", "cannot be moved", "new: shop: weigh",
		"as before: shop: reserve")
	require.NotContains(t, m.page, "do-move")
	_, order := m.get("/orders/o-1")
	require.Contains(t, order, ">Compare</a>")
	require.NotContains(t, order, "resubmit o-1 --definition latest")
	return m.target()
}

// A definition that the order accepts is offered with the command that simulates the move.
func (m *moving) isOffered(t *testing.T, text string) {
	m.deploy(text, "The order can be moved now")
	_, order := m.get("/orders/o-1")
	wants(t, order, "Compare and move", "resubmit o-1 --definition latest")
	wants(t, m.page, "new: shop: weigh", "as before: shop: charge",
		m.before.Definition)
	_, list := m.get("/bulk?command=move&definition=latest&workflow=order&state=error")
	wants(t, list, "1 the definitions differ: ")
	wants(t, m.page, "stepkeeper move o-1 --definition "+m.target()+" --simulate --dry-run")
}

// The order moves to the definition of its form, if the server accepts this one.
func (m *moving) isMoved(t *testing.T, refused string) {
	action, form := m.form("/orders/o-1/move", "kind", "move")
	form.Set("by", "ada")
	form.Set("reason", "it has to be weighed")
	offered := form.Get("definition")
	form.Set("definition", refused) // an older page would send this definition
	_, body := m.post(action, form)
	wants(t, body, "move was refused")
	action, form = m.form("/orders/o-1/move", "kind", "move") // the refusal has raised the number of commands
	form.Set("by", "ada")
	form.Set("reason", "it has to be weighed")
	require.Equal(t, offered, form.Get("definition"))
	_, body = m.post(action, form)
	wants(t, body, "move was accepted")
	after, err := m.client.Get(t.Context(), "o-1")
	require.NoError(t, err)
	require.NotEqual(t, m.before.Definition, after.Definition)
	require.Empty(t, after.Deployed)
	last := after.Verdicts[len(after.Verdicts)-1]
	require.Equal(t, "move", last.Command)
	require.Equal(t, "ada", last.By)
	require.Equal(t, "it has to be weighed", last.Note)
	status, _ := m.get("/workflows/order?definition=" + m.before.Definition)
	require.Equal(t, http.StatusOK, status, "the older definition is still shown")
}
