package bulk_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// A plan says of each order what the command would do to it as it is now.
func TestWhatACommandWouldDo(t *testing.T) {
	stopped := client.Task{State: core.Error, Error: &view.TaskError{Step: "charge"}}
	undoing := client.Task{State: core.Error, Phase: core.Undoing, Error: &view.TaskError{Step: "charge"}}
	for _, c := range []struct {
		task   client.Task
		action bulk.Action
		want   string
	}{
		{stopped, bulk.Action{Command: "undo"}, "what it did would be undone"},
		{stopped, bulk.Action{Command: "cancel"}, "what it did would be undone"},
		{stopped, bulk.Action{Command: "close"}, "it would end as it stands"},
		{stopped, bulk.Action{Command: "resolve", Step: "charge", Fact: core.Happened}, "it would stay in Error, with charge stated as happened"},
		{stopped, bulk.Action{Command: "resubmit", Step: "charge"}, "it would go on, with another input for charge"},
		{stopped, bulk.Action{Command: "resubmit"}, "it would go on with charge"},
		{undoing, bulk.Action{Command: "resubmit"}, "its undo would go on"},
		{client.Task{State: core.Error}, bulk.Action{Command: "resubmit"}, "it would go on"},
		{client.Task{State: core.Error, Error: &view.TaskError{Message: "full"}}, bulk.Action{Command: "resubmit"}, "it would go on"},
		{client.Task{State: core.Compensated, Error: &view.TaskError{Step: "charge"}}, bulk.Action{Command: "resubmit"}, "it would start again from the beginning"},
	} {
		c.task.Accepts = []view.Command{{Command: c.action.Command, Step: c.action.Step, Fact: c.action.Fact}}
		v, err := bulk.Would(t.Context(), nil, &c.task, c.action)
		if err != nil || !v.Accepted || v.Reason != c.want || v.Command != c.action.Command {
			t.Errorf("%s of %+v: %+v, %v, want %q", c.action.Command, c.task, v, err, c.want)
		}
		c.task.Accepts = []view.Command{{Command: "other"}}
		if v, err := bulk.Would(t.Context(), nil, &c.task, c.action); err != nil || v.Accepted || v.Reason != "it would be refused as the order is now" {
			t.Errorf("%s where it is not accepted: %+v, %v", c.action.Command, v, err)
		}
	}
}

// Orders with one outcome are one group; the refused come last, and within each the groups are sorted by what they say.
func TestGroupsOfAPlan(t *testing.T) {
	got := ""
	for _, g := range bulk.Groups([]bulk.Order{
		{OrderID: "a", Would: "no", Result: bulk.Refused}, {OrderID: "b", Would: "on with z"}, {OrderID: "c", Would: "on with y"},
		{OrderID: "d", Would: "on with z"}, {OrderID: "e", Would: "no"}, {OrderID: "f", Would: "never", Result: bulk.Refused},
	}) {
		got += fmt.Sprintln(g.Would, g.Refused, g.IDs)
	}
	if want := "no false [e]\non with y false [c]\non with z false [b d]\nnever true [f]\nno true [a]\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// A server that is away gets no more commands; single ones without an answer stop nothing.
func TestAServerThatIsAwayGetsNoMoreCommands(t *testing.T) {
	for name, c := range map[string]struct {
		lost    func(n int64) bool
		stopped string
	}{
		"away":         {func(int64) bool { return true }, "5 commands, one after another, had no answer"},
		"now and then": {func(n int64) bool { return n%6 == 0 }, ""},
	} {
		var n atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if c.lost(n.Add(1)) {
				w.WriteHeader(http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"accepted":false,"reason":"it has ended"}`)
		}))
		defer s.Close()
		at, err := client.New(s.URL)
		if err != nil {
			t.Fatal(err)
		}
		orders := make([]bulk.Order, 60)
		for i := range orders {
			orders[i].OrderID = fmt.Sprint("o-", i)
		}
		file := filepath.Join(t.TempDir(), "list.jsonl")
		header := bulk.Header{Bulk: "b", Action: bulk.Action{Command: "undo", By: "ada", Reason: "why"}, Where: bulk.Where{"step": "charge"}, Made: time.Now(),
			Pace: bulk.Pace{Rate: 1000, StopAt: 1, Patience: 0.1}}
		if err := bulk.Create(file, header, orders); err != nil {
			t.Fatal(err)
		}
		l, err := bulk.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := l.Run(t.Context(), at, nil)
		if err := errors.Join(err, l.Close()); err != nil {
			t.Fatal(err)
		}
		lost := 10
		if c.stopped != "" {
			lost = 60 - len(r.NotSent)
		}
		if r.Stopped != c.stopped || (len(r.NotSent) > 0) != (c.stopped != "") || len(r.Unknown) != lost || len(r.Refused)+len(r.Unknown)+len(r.NotSent) != 60 {
			t.Errorf("%s: %+v", name, r)
		}
	}
}
