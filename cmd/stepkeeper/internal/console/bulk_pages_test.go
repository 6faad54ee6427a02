package console_test

import (
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/net/html"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/console"
)

// Nothing is sent if the list cannot be kept.
func TestBulkCommandWithoutAFolder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	w := newWorld(t, func(o *console.Options) { o.Folder = file })
	w.stopped(1)
	action, form := w.form("/bulk?command=resubmit&step=charge&workflow=order", "command", "resubmit")
	form.Set("by", "ada")
	form.Set("reason", "the bank is back")
	_, body := w.post(action, form)
	wants(t, body, "Nothing was sent: mkdir "+file)
}

const bulkPage = "/bulk?command=resubmit&step=charge&workflow=order&code=failed"

// bulkForm returns the form of the plan, filled in.
func (w *world) bulkForm() (action string, form url.Values) {
	w.Helper()
	action, form = w.form(bulkPage, "command", "resubmit")
	form.Set("by", "ada <b>")
	form.Set("reason", "the bank is back")
	return action, form
}

// The plan shows what the command would do to the orders. A form with a wrong field sends nothing, and so does one
// of a plan whose orders have changed.
func TestBulkFormsAreChecked(t *testing.T) {
	w := newWorld(t, func(o *console.Options) { o.Folder = t.TempDir() })
	all := w.stopped(12)
	_, body := w.get("/incidents")
	wants(t, body, "/bulk?code=failed&amp;command=resubmit&amp;step=charge&amp;workflow=order")
	_, body = w.get(bulkPage)
	wants(t, body, "12 it would go on with charge",
		"stepkeeper resubmit --where workflow=order,step=charge,code=failed", "Send resubmit to 12 orders")
	action, form := w.bulkForm()
	for _, x := range []struct{ field, value, says string }{
		{"rate", "fast", "Nothing was sent: rate is not a number."},
		{"canary", "NaN", "write a whole number"},
		{"stop-at", "101", "Nothing was sent: the share to stop at is 1.01"},
		{"step", "", "Nothing was sent: no orders are selected"},
		{"token", "x", "The form is not from this console"},
	} {
		t.Run(x.field+"="+x.value, func(t *testing.T) {
			bad := maps.Clone(form)
			bad.Set(x.field, x.value)
			if x.field == "step" {
				bad.Del("workflow")
				bad.Del("code")
			}
			status, body := w.post(action, bad)
			require.GreaterOrEqual(t, status, 400)
			require.Contains(t, body, "Refused")
			require.Contains(t, body, x.says)
		})
	}
	t.Run("another order has stopped", func(t *testing.T) {
		w.stops("order", "late")
		status, body := w.post(action, form)
		require.Equal(t, http.StatusConflict, status)
		require.Contains(t, body, "the orders have changed since the page was loaded")
	})
	require.Empty(t, w.verdicts(all[0]))
}

// A list reports its progress, and can be stopped. Its file is for its owner only, and the command line continues
// from it.
func TestBulkIsStopped(t *testing.T) {
	folder := t.TempDir()
	w := newWorld(t, func(o *console.Options) { o.Folder = folder })
	all := w.stopped(13)
	w.refusing("")
	action, form := w.bulkForm()
	form.Set("rate", "5")
	form.Set("canary", "2")
	status, body := w.post(action, form)
	require.Equal(t, http.StatusOK, status)
	wants(t, body, "resubmit 13 orders", "running", "ada &lt;b&gt;: the bank is back", "not sent")
	w.until("the canary is fixed",
		func() bool { return w.inState(all[0], "Processed")() && w.inState(all[1], "Processed")() })

	_, body = w.get("/bulk")
	at := regexp.MustCompile(`/bulk/[^"]+`).FindString(body)
	action, form = w.form(at, "command", "")
	w.post(action, form)
	w.until("it stops", func() bool { _, body = w.get(at); return strings.Contains(body, "ended") })
	wants(t, body, "Stopped: it was interrupted", "stepkeeper continue "+folder)
	tiles := elements(parsed(t, at, http.StatusOK, strings.NewReader(body)).one(with("class", "tiles")), named("span"))
	require.Equal(t, []string{"fixed", "failed again", "refused", "unknown, or running", "not sent"}, texts(tiles))

	files, err := filepath.Glob(filepath.Join(folder, "bulk-*.jsonl"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	info, err := os.Stat(files[0])
	require.NoError(t, err)
	require.EqualValues(t, 0o600, info.Mode())
	left, err := bulk.Open(files[0])
	require.NoError(t, err)
	require.Equal(t, 13, left.Report().Orders)
	require.NoError(t, left.Close())
}

// A list says why orders refused the command.
func TestBulkSaysWhyOrdersRefused(t *testing.T) {
	w := newWorld(t, func(o *console.Options) { o.Folder = t.TempDir() })
	all := w.stopped(2)
	w.refusing("")
	action, form := w.bulkForm()
	form.Set("rate", "1")
	form.Set("canary", "0")
	w.post(action, form)
	for _, id := range all {
		v, err := w.client.Undo(t.Context(), id)
		require.NoError(t, err)
		require.True(t, v.Accepted)
	}
	_, body := w.get("/bulk")
	at := regexp.MustCompile(`/bulk/[^"]+`).FindString(body)
	w.until("it ends", func() bool { _, body = w.get(at); return strings.Contains(body, "ended") })
	wants(t, body, "2 orders refused: the order has accepted or refused another command")
}

// Addresses of bulk commands are answered with what to do, and with a command line that a shell reads as one. A
// further look keeps the filter.
func TestBulkAddresses(t *testing.T) {
	h := recordedPages(t)
	for path, text := range map[string]string{
		"/bulk/none":                        "To continue a list of another process, run `stepkeeper --stack shop continue JOURNAL`.",
		"/bulk?command=resubmit&older=soon": "write a duration",
		"/bulk?command=resubmit&step=none":  "No order matches.",
		"/bulk?command=resolve&resolve-step=charge&fact=happened&state=compensating": "resolve charge happened " +
			"--where state=compensating --reason",
		"/bulk?command=resolve&resolve-step=a%27%3Breboot&fact=happened&state=compensating": `resolve 'a'\'';reboot' ` +
			"happened --where state=compensating --reason",
		"/bulk?command=move&definition=latest&state=compensating&workflow=order": "move --definition latest " +
			"--where state=compensating,workflow=order --reason",
	} {
		t.Run(path, func(t *testing.T) {
			p := visit(t, h, path)
			require.Contains(t, p.text(), text)
			if strings.Contains(path, "state=compensating") {
				selected := elements(p.one(with("id", "bulk-state")), func(n *html.Node) bool {
					return slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "selected" })
				})
				require.Equal(t, []string{"Compensating"}, texts(selected))
			}
		})
	}
}
