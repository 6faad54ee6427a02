package state

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/shared/core"
)

// The attempts that did not end done stand in one text, so that they cost few bytes: one entry for each, with ; between
// them, and in it
//
//	=2         the one that the error and firstAt of the step with that N describe; nothing else follows
//	2.1        the step's N (or the name of one that is not there any more), the number of the attempt, and u for an undo;
//	           absent: the next attempt of the step of the entry before
//	1137 5003  when it began, in milliseconds after the end of the entry before (the first: after Created), and how long it
//	           took; absent: as long as the entry before
//	r:http-503 how it ended, and the code; absent: as the entry before
//	@courier   its agent, where the definition names another one
//
// What is assumed where the text is absent follows from the last errors of the steps.

func triedField() field[core.Task] {
	return field[core.Task]{
		name: "tried", says: "its last attempts that did not end done, oldest first; see [below](#attempts)",
		absent: "one for each step that failed once, as its error and firstAt say",
		put: func(w *writer, name *label, t *core.Task) {
			if slices.Equal(t.Attempts, usualAttempts(t)) {
				return
			}
			w.text(name, triedText(t))
			for i := range t.Attempts {
				if a := &t.Attempts[i]; !a.Began.InRange() || !a.Ended.InRange() {
					w.fail(fmt.Errorf("encode task: %s: %w", name.text, errRange))
				}
			}
		},
		take: func(d *decoder, _ *core.Task) (err error) {
			d.tried, err = readText[string](d.r.Value())
			return err
		},
		fill: func(t *core.Task) { t.Attempts = usualAttempts(t) },
	}
}

// usualAttempts are those that the steps' last errors describe: of each step that has failed once.
func usualAttempts(t *core.Task) (all []core.Attempt) {
	for i := range t.Steps {
		s := &t.Steps[i]
		if s.Error == nil || s.FailureCount != 1 || s.UndoFailures != 0 || s.Error.Attempt != 1 {
			continue
		}
		a := core.Attempt{Step: s.Name, Number: 1, Began: s.FirstAt, Ended: s.Error.At, Outcome: core.OutcomeFailed, Code: s.Error.Code}
		switch {
		case a.Code == core.CodeTimeout:
			a.Outcome = core.OutcomeOverdue
		case s.State == core.Processed || s.State == core.Pending || s.State == core.Processing:
			a.Outcome = core.OutcomeRetryLater
		}
		all = append(all, a)
	}
	slices.SortStableFunc(all, func(a, b core.Attempt) int { return cmp.Compare(a.Ended, b.Ended) })
	return all
}

// outcomes are written as their first letter.
var outcomes = [...]core.Outcome{core.OutcomeFailed, core.OutcomeRetryLater, core.OutcomeOverdue, core.OutcomeSuperseded}

// timed is an attempt, and what the entry after it may leave out.
type timed struct {
	core.Attempt
	wait, took core.Duration
}

func (e timed) after(last *timed) timed {
	e.wait, e.took = e.Began.Sub(last.Ended), e.Ended.Sub(e.Began)
	return e
}

func triedText(t *core.Task) string {
	var b strings.Builder
	usual := usualAttempts(t)
	last := timed{Attempt: core.Attempt{Ended: t.Created}}
	for i := range t.Attempts {
		if i > 0 {
			b.WriteByte(';')
		}
		e := timed{Attempt: t.Attempts[i]}.after(&last)
		n := slices.IndexFunc(t.Steps, func(s core.Step) bool { return s.Name == e.Step })
		if n >= 0 && slices.Contains(usual, e.Attempt) {
			fmt.Fprintf(&b, "=%d", n)
		} else {
			b.WriteString(strings.Join(words(&e, &last, n, i == 0), " "))
		}
		last = e
	}
	return b.String()
}

func words(e, last *timed, n int, first bool) (all []string) {
	if first || e.Step != last.Step || e.Undo != last.Undo || e.Number != last.Number+1 {
		step, undo := strconv.Itoa(n), ""
		if n < 0 {
			step = url.QueryEscape(e.Step)
		}
		if e.Undo {
			undo = "u"
		}
		all = append(all, fmt.Sprintf("%s.%d%s", step, e.Number, undo))
	}
	if e.wait != last.wait || e.took != last.took {
		all = append(all, fmt.Sprint(int64(e.wait)))
	}
	if e.took != last.took {
		all = append(all, fmt.Sprint(int64(e.took)))
	}
	if e.Outcome != last.Outcome || e.Code != last.Code {
		how := url.QueryEscape(string(e.Outcome))
		if slices.Contains(outcomes[:], e.Outcome) {
			how = how[:1]
		}
		all = append(all, how+":"+url.QueryEscape(e.Code))
	}
	if e.Agent != "" {
		all = append(all, "@"+url.QueryEscape(e.Agent))
	}
	return all
}

// triedFrom reads what triedText wrote. The steps must be known.
func triedFrom(t *core.Task, text string) (all []core.Attempt, err error) {
	if text == "" {
		return nil, nil
	}
	usual := usualAttempts(t)
	last := timed{Attempt: core.Attempt{Ended: t.Created}}
	for part := range strings.SplitSeq(text, ";") {
		e, err := readEntry(t, usual, &last, part)
		if err == nil && (!e.Began.InRange() || !e.Ended.InRange()) {
			err = errRange
		}
		if err != nil {
			return nil, fmt.Errorf("tried: the entry %.60q: %w", part, err)
		}
		all = append(all, e.Attempt)
		last = e
	}
	return all, nil
}

func readEntry(t *core.Task, usual []core.Attempt, last *timed, text string) (timed, error) {
	e := *last
	e.Number, e.Agent = last.Number+1, ""
	if n, ok := strings.CutPrefix(text, "="); ok {
		at, err := strconv.Atoi(n)
		i := slices.IndexFunc(usual, func(a core.Attempt) bool { return at >= 0 && at < len(t.Steps) && a.Step == t.Steps[at].Name })
		if err != nil || i < 0 {
			return e, errors.New("no step with that N has failed once")
		}
		return timed{Attempt: usual[i]}.after(last), nil
	}
	times := []*core.Duration{&e.wait, &e.took}
	var failed error
	for _, word := range strings.Fields(text) {
		var err error
		switch {
		case strings.Contains(word, ":"):
			err = readHow(&e.Attempt, word)
		case word[0] == '@':
			e.Agent, err = url.QueryUnescape(word[1:])
		case strings.Contains(word, "."):
			err = readPlace(&e.Attempt, t, word)
		case len(times) == 0:
			err = fmt.Errorf("%q is one time too many", word)
		default:
			*times[0], err = readInt[core.Duration]([]byte(word))
			times = times[1:]
		}
		failed = errors.Join(failed, err)
	}
	e.Began = last.Ended.Add(e.wait)
	e.Ended = e.Began.Add(e.took)
	return e, failed
}

// readPlace reads which attempt it was.
func readPlace(a *core.Attempt, t *core.Task, word string) (err error) {
	dot := strings.LastIndexByte(word, '.')
	step, number := word[:dot], word[dot+1:]
	number, a.Undo = strings.CutSuffix(number, "u")
	if a.Number, err = strconv.Atoi(number); err != nil {
		return err
	}
	if n, err := strconv.Atoi(step); err == nil && n >= 0 && n < len(t.Steps) {
		a.Step = t.Steps[n].Name
		return nil
	}
	a.Step, err = url.QueryUnescape(step)
	return err
}

// readHow reads how it ended.
func readHow(a *core.Attempt, word string) (err error) {
	how, code, _ := strings.Cut(word, ":")
	for _, o := range outcomes {
		if how == string(o[0]) {
			how = string(o)
		}
	}
	outcome, err := url.QueryUnescape(how)
	if err != nil {
		return err
	}
	a.Outcome = core.Outcome(outcome)
	a.Code, err = url.QueryUnescape(code)
	return err
}
