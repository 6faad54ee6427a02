package console

import (
	"fmt"
	"html"
	"slices"
	"strings"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type bar struct {
	from, to core.Time
	kind     string // CSS class; barTexts lists the classes
	text     string
}

var barTexts = [][2]string{
	{"work", "running"},
	{"failed", "failed attempt"},
	{"backoff", "backoff"},
	{"queued", "not started"},
	{"time", "waiting for a time"},
	{"answer", "waiting for an answer"},
	{"children", "waiting for child orders"},
	{"undo", "undoing"},
	{"operator", "waiting for the operator"},
}

func legendOf(t *client.Task, now core.Time) (legend [][2]string) {
	drawn := map[string]bool{}
	for i := range t.Steps {
		for _, bar := range barsOf(t, &t.Steps[i], now) {
			drawn[bar.kind] = true
		}
	}
	for _, kind := range barTexts {
		if drawn[kind[0]] {
			legend = append(legend, kind)
		}
	}
	return legend
}

// barsOf returns the bars of a step. It leaves out periods whose times the task does not store.
func barsOf(t *client.Task, st *client.Step, now core.Time) (all []bar) {
	end := now
	if t.EndedAt != 0 && t.Ended && t.State != core.Error {
		end = t.EndedAt
	}
	if st.FirstAt == 0 {
		return nil
	}
	add := func(from, to core.Time, kind, text string) {
		if from != 0 && to > from {
			all = append(all, bar{from, to, kind, text})
		}
	}
	add(ready(t, st), st.FirstAt, "queued", "not started")
	done := st.FirstAt // end of the last bar
	for _, a := range t.Attempts {
		if a.Step != st.Name || a.Began < done {
			continue
		}
		add(done, a.Began, "backoff", "backoff")
		add(a.Began, a.Ended, kindOf(a), fmt.Sprintf("attempt %d: %s %s", a.Number, a.Outcome, a.Code))
		done = a.Ended
	}
	kind, text := working(st)
	undoing := st.Undo != nil && st.Undo.Running
	switch finished := st.FinishedAt; {
	case finished != 0:
		if st.ClaimedAt > done && st.ClaimedAt < finished {
			add(done, st.ClaimedAt, "backoff", "backoff")
			done = st.ClaimedAt
		}
		add(done, finished, kind, text)
		done = finished
	case st.State == core.Processing || st.State == core.Waiting && !undoing:
		if st.ClaimedAt > done {
			add(done, st.ClaimedAt, "backoff", "backoff")
			done = st.ClaimedAt
		}
		add(done, end, kind, text)
	case st.State == core.Pending && st.WakeAt != 0:
		add(done, end, "backoff", "backoff until the next attempt")
	}
	hasUndo := kind != "answer" && kind != "time"
	switch {
	case st.State == core.Compensated && !hasUndo && st.FinishedAt == 0 && st.Withdrawn != 0:
		add(done, st.Withdrawn, kind, text)
	case st.State == core.Compensated && !hasUndo && st.FinishedAt == 0:
		add(done, undone(t, st, end), kind, text)
	case st.State == core.Compensated && !hasUndo:
	case st.State == core.Compensated:
		add(max(st.ClaimedAt, done), undone(t, st, end), "undo", "undo, at the latest")
	case undoing || st.State == core.Compensating || st.State == core.UndoWait:
		add(max(st.ClaimedAt, done), end, "undo", "undoing")
	case t.State == core.Error && t.Error != nil && t.Error.Step == st.Name:
		add(max(t.EndedAt, done), end, "operator", "waiting for the operator since "+render.Moment(t.EndedAt))
	}
	return all
}

// kindOf returns the kind of an attempt's bar. A call that was superseded has not failed.
func kindOf(a view.Attempt) string {
	if a.Outcome == protocol.OutcomeSuperseded {
		return "work"
	}
	return "failed"
}

// struck returns the attribute that strikes out the name of a step that is no longer wanted.
func struck(st *client.Step) string {
	if st.Withdrawn == 0 {
		return ""
	}
	return ` class="lost"`
}

func working(st *client.Step) (kind, text string) {
	switch st.Kind {
	case view.KindWait:
		return "time", "waiting for a time"
	case view.KindApproval, view.KindEvent:
		return "answer", "waiting for an answer"
	case view.KindEach, view.KindWorkflow, view.KindBlock:
		return "children", "waiting for child orders"
	case view.KindAny:
		return "time", "waiting for the first of its members"
	}
	return "work", fmt.Sprintf("attempt %d", st.Attempts)
}

// ready returns the time at which all predecessors of a step had finished.
func ready(t *client.Task, st *client.Step) core.Time {
	at := t.Created
	for _, name := range st.After {
		if before := t.Step(name); before != nil {
			at = max(at, before.FinishedAt)
		}
	}
	return at
}

// undone returns the latest time at which the undo of a step can have ended. The task does not store the
// exact time. The undo ended before the undo of a predecessor was claimed. If the order continued without the
// step, the undo also ended before a successor started. The result is the earliest such time, or end.
func undone(t *client.Task, st *client.Step, end core.Time) core.Time {
	for i := range t.Steps {
		other := &t.Steps[i]
		next := core.Time(0)
		switch {
		case slices.Contains(other.After, st.Name):
			next = other.FirstAt
		case slices.Contains(st.After, other.Name) &&
			(other.State == core.Compensating || other.State == core.Compensated):
			next = other.ClaimedAt
		}
		if next >= st.ClaimedAt {
			end = min(end, next)
		}
	}
	return end
}

// lastMoment returns the end of the bars that still grow. It is rounded up, so that an open page rarely changes.
func lastMoment(t *client.Task, now core.Time) core.Time {
	end := now
	if t.Ended && t.State != core.Error {
		end = t.EndedAt
	} else {
		step := core.Time(core.Second)
		for end-t.Created > 64*step {
			step *= 2
		}
		end = t.Created + (end-t.Created+step-1)/step*step
	}
	for i := range t.Steps {
		end = max(end, t.Steps[i].FinishedAt)
	}
	return end
}

// scaleEnd returns the time at the right end of the picture. The picture of an order in Error ends soon after the
// stop, because the wait for the operator would otherwise leave no room for what happened.
func scaleEnd(t *client.Task, last core.Time) core.Time {
	if t.State != core.Error || !t.Ended {
		return last
	}
	busy := t.EndedAt
	for _, a := range t.Attempts {
		busy = max(busy, a.Ended)
	}
	return min(last, busy+max((busy-t.Created)/4, core.Time(core.Second)))
}

// gantt returns HTML that draws the steps over time: a name and a picture for each step, and a scale.
// Positions are percentages of the picture's width, so that the picture fits every page.
func gantt(t *client.Task, now core.Time) string {
	last := lastMoment(t, now)
	end := scaleEnd(t, last)
	span := max(float64(end-t.Created), 1)
	at := func(m core.Time) float64 { return 100 * float64(m-t.Created) / span }
	grid := ""
	scale := ""
	for i, anchor := range []string{"start", "middle", "middle", "middle", "end"} {
		m := t.Created + core.Time(span*float64(i)/4)
		grid += fmt.Sprintf(`<line x1="%d%%" y1="0" x2="%d%%" y2="28"/>`, 25*i, 25*i)
		scale += fmt.Sprintf(`<text class="tick tick-%d" x="%d%%" y="14" text-anchor="%s">%s</text>`, i, 25*i,
			anchor, html.EscapeString("+"+render.Span(m.Sub(t.Created).Std())))
	}
	var b strings.Builder
	b.WriteString(`<div class="gantt" role="img" aria-label="the time that each step took">`)
	for i := range t.Steps {
		st := &t.Steps[i]
		fmt.Fprintf(&b, `<span%s>%s</span><svg width="100%%" height="28">%s`, struck(st), html.EscapeString(st.Name), grid)
		for _, bar := range barsOf(t, st, last) {
			const least = 0.4 // smallest width in percent, so that a short bar is visible
			width := max(at(min(bar.to, end))-at(min(bar.from, end)), least)
			fmt.Fprintf(&b,
				`<rect class="bar %s" x="%.2f%%" y="7" width="%.2f%%" height="14" rx="2"><title>%s</title></rect>`,
				bar.kind, min(at(bar.from), 100-width), width,
				html.EscapeString(st.Name+": "+bar.text+", "+render.Span(bar.to.Sub(bar.from).Std())))
		}
		b.WriteString("</svg>")
	}
	fmt.Fprintf(&b, `<span></span><svg width="100%%" height="20">%s</svg></div>`, scale)
	return b.String()
}
