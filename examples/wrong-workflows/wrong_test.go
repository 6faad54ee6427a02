// Package wrongworkflows_test finds what is wrong with the workflow files here, and holds their
// corrections to be right.
package wrongworkflows_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/shared/workflow/source"
	"github.com/stepkeeper/stepkeeper/workflowtest"
)

// found is what validation says of each wrong file; "" where it cannot know.
var found = map[string]string{
	"forgets-keys":          "",
	"outlives-its-deadline": "longer than the deadline of 5m",
	"no-way-back":           "step reserve declares no undo",
	"cannot-fence":          "",
	"impatient":             "",
	"asks-in-vain":          "",
}

func TestWhatValidationFinds(t *testing.T) {
	files, err := filepath.Glob("*.yaml")
	require.NoError(t, err)
	require.Len(t, files, 2*len(found))
	for name, says := range found {
		_, problems := source.LoadFile(name+".yaml", source.Options{})
		text := problems.Error()
		require.Contains(t, text, says, name)
		require.Equal(t, says == "", text == "", name)
		def, problems := source.LoadFile(name+"-fixed.yaml", source.Options{})
		require.NotNil(t, def, name)
		require.Empty(t, problems, name)
	}
}

// calm plays a file with services that are well, and take as long as it says.
func calm(t *testing.T, file string, takes time.Duration) *workflowtest.Run {
	t.Helper()
	w := workflowtest.New(t, file).AllowUnscripted()
	if strings.HasPrefix(file, "impatient") {
		w.Agent("warehouse").On("reserve").Return(nil).After(takes)
	}
	return w.Submit(map[string]any{}).UntilEnd(24 * time.Hour)
}

// With services that are well every order ends Processed: every file that is valid, but for the
// impatient one.
func TestCalmOrdersEndProcessed(t *testing.T) {
	for name := range found {
		calm(t, name+"-fixed.yaml", 4*time.Second).ExpectProcessed()
	}
	calm(t, "impatient.yaml", 4*time.Second).ExpectCompensated()
}

// holdsRoom cancels an order whose booking lands 8 s after it was sent, at a hotel whose cancel finds only what has
// landed. It reports whether the order holds a room an hour later.
func holdsRoom(t *testing.T, file string) bool {
	t.Helper()
	w := workflowtest.New(t, file)
	var landed time.Time
	booked := false
	w.Agent("hotel").On("book").Func(func(c workflowtest.Call) (any, error) {
		if !booked {
			landed = c.At.Add(8 * time.Second)
			booked = true
		}
		return nil, nil
	}).After(8 * time.Second)
	w.Agent("hotel").On("cancel").Func(func(c workflowtest.Call) (any, error) {
		booked = booked && landed.After(c.At)
		return nil, nil
	})
	run := w.Submit(map[string]any{})
	w.Advance(2 * time.Second)
	run.Cancel()
	run.UntilEnd(time.Hour).ExpectCancelled()
	w.Advance(time.Hour)
	return booked
}

func TestCannotFence(t *testing.T) {
	require.True(t, holdsRoom(t, "cannot-fence.yaml"))
	require.False(t, holdsRoom(t, "cannot-fence-fixed.yaml"))
}

// lostOnce loses the answer of the first booking, and reports how long the operator waited for the
// alert, and how many attempts were made of how many calls.
func lostOnce(t *testing.T, file string) (waited time.Duration, attempts, calls int) {
	t.Helper()
	w := workflowtest.New(t, file)
	w.Agent("carrier").On("book").Fail(workflowtest.InDoubt("reset", "the connection was cut")).Return(nil)
	run := w.Submit(map[string]any{}).UntilEnd(24 * time.Hour)
	run.ExpectError("book-parcel")
	return run.Alerts()[0].At.Std().Sub(workflowtest.Start), run.Step("book-parcel").Attempts,
		len(run.Calls("carrier.book"))
}

func TestAsksInVain(t *testing.T) {
	waited, attempts, calls := lostOnce(t, "asks-in-vain.yaml")
	require.GreaterOrEqual(t, waited, 10*time.Minute)
	require.Equal(t, 8, attempts)
	require.Equal(t, 1, calls)
	waited, attempts, calls = lostOnce(t, "asks-in-vain-fixed.yaml")
	require.LessOrEqual(t, waited, time.Minute)
	require.Equal(t, calls, attempts)
}
