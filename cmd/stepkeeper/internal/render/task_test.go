package render_test

import (
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"

	"gotest.tools/v3/golden"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var (
	begin = core.TimeOf(time.Date(2026, 3, 1, 23, 58, 13, 120e6, time.UTC))
	now   = begin.Add(15 * core.Minute).Std()
)

// recorded reads tasks as a server returns them.
func recorded[T any](t *testing.T, file string) (tasks T) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &tasks))
	return tasks
}

// stories returns tasks in the situations that an operator sees.
func stories(t *testing.T) map[string]view.Task {
	t.Helper()
	return recorded[map[string]view.Task](t, "tasks.json")
}

func page(terminal bool) render.Page {
	s, _ := streams.Test(terminal)
	return render.Page{Style: s.Style(), Now: now, Program: "stepkeeper"}
}

// Commands are copied, and so stand on one line each, however long.
func TestTaskPageFitsTheScreen(t *testing.T) {
	for name, task := range stories(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			page(true).Task(&b, task)
			require.NotContains(t, b.String(), "\x1b[2J", "a message of a service clears the screen")
			require.Equal(t, task.State == core.Error, strings.Contains(b.String(), "\x1b[31;1mError\x1b["), "Error is red")
			for line := range strings.Lines(b.String()) {
				if strings.Contains(line, "\x1b[1mstepkeeper ") {
					continue
				}
				require.LessOrEqual(t, text.StringWidthWithoutEscSequences(line), 100, line)
			}
		})
	}
}

func TestTaskPage(t *testing.T) {
	for name, task := range stories(t) {
		t.Run(name, func(t *testing.T) {
			var b bytes.Buffer
			page(false).Task(&b, task)
			golden.Assert(t, b.String(), name+".txt")
			for line := range strings.Lines(b.String()) {
				require.Equal(t, line, strings.TrimRight(line, " \n")+"\n")
			}
			require.False(t, strings.ContainsRune(b.String(), 0x1b), "a message of a service steers the terminal")
			for _, a := range render.Next(task, "stepkeeper") {
				require.True(t, a.Do.Command == "" || slices.Contains(task.Accepts, a.Do), "%s would be refused", a.Command)
			}
		})
	}
}

// Each state of an order, and of its steps, is printed with the right explanation.
func TestNotesOfOrdersAndSteps(t *testing.T) {
	var b bytes.Buffer
	for _, task := range recorded[[]view.Task](t, "notes.json") {
		task.Created = begin
		page(false).Task(&b, task)
		b.WriteString("\n")
	}
	golden.Assert(t, b.String(), "notes.txt")
	require.False(t, bytes.ContainsRune(b.Bytes(), 0x1b), "a text of an order steers the terminal")
}

func TestSpan(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0ms", 999 * time.Millisecond: "999ms", 1500 * time.Millisecond: "1.5s", 61 * time.Second: "1m01s",
		90 * time.Minute: "1h30m", 50 * time.Hour: "2d", -5 * time.Second: "-5.0s",
	} {
		require.Equal(t, want, render.Span(d), "%v", d)
	}
}
