package stack_test

import (
	"context"
	"errors"
	"maps"
	"testing"
	"time"

	"github.com/stepkeeper/stepkeeper/client/stack"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// counted are queues of which some have a depth.
type counted struct {
	stack.Queues
	depth map[string]func() (port.Depth, error)
}

func (c counted) Queue(name string) (port.Queue, error) {
	if d := c.depth[name]; d != nil {
		return counter{depth: d}, nil
	}
	return c.Queues.Queue(name)
}

type counter struct {
	port.Queue
	depth func() (port.Depth, error)
}

func (c counter) Depth(context.Context) (port.Depth, error) { return c.depth() }

// A queue with requests of which none is being handled is told; what the caller may not see is left out.
func TestUnattended(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	depth, failure := port.Depth{}, error(nil)
	w.Parts.Outputs.Requests = map[string]string{"shop": "url", "mail": "url"}
	w.Parts.Queues = counted{w.Parts.Queues, map[string]func() (port.Depth, error){
		port.Requests("shop"): func() (port.Depth, error) { return depth, failure },
		port.Requests("mail"): func() (port.Depth, error) { return port.Depth{}, errors.New("AccessDenied") },
	}}
	w.Parts.Unattended = time.Nanosecond
	c := w.Client()
	submit(t, c, order("o-1", "order", "never"))
	started(t, c, "o-1")
	for _, x := range []struct {
		name  string
		depth port.Depth
		err   error
		want  int
	}{
		{"none waits", port.Depth{}, nil, 0},
		{"some wait", port.Depth{Visible: 3}, nil, 1},
		{"one is being handled", port.Depth{Visible: 3, InFlight: 1}, nil, 0},
		{"it may not be looked at", port.Depth{Visible: 3}, errors.New("AccessDenied"), 0},
	} {
		depth, failure = x.depth, x.err
		task, err := c.Get(t.Context(), "o-1")
		if err != nil || len(task.Unattended) != x.want {
			t.Errorf("%s: %+v, %v", x.name, task.Unattended, err)
			continue
		}
		all, err := c.Unattended(t.Context())
		if err != nil || len(all) != x.want {
			t.Errorf("%s: %+v, %v", x.name, all, err)
		}
		if x.want == 1 && (task.Unattended[0].Queue != "requests-shop" || task.Unattended[0].Waiting != 3 || task.Unattended[0].Since == 0 || all[0].Since != 0) {
			t.Errorf("%s: %+v, %+v", x.name, task.Unattended, all)
		}
	}
	depth, failure = port.Depth{Visible: 1}, nil
	w.Parts.Unattended = time.Hour
	if task, err := w.Client().Get(t.Context(), "o-1"); err != nil || len(task.Unattended) != 0 {
		t.Errorf("a request of a moment ago: %+v, %v", task.Unattended, err)
	}
}

func TestRequestsOfTheOutputs(t *testing.T) {
	values := map[string]string{"EngineVersion": "1", "EngineShards": "8", "EngineRequestsCardPaymentUrl": "u-1",
		"EngineRequestsCardPaymentDeadUrl": "u-2", "EngineRequestsSeatsUrl": "u-3", "OtherRequestsSeatsUrl": "u-4"}
	for _, name := range []string{"OrdersTable", "TasksTable", "DefinitionsTable", "IntakeUrl", "ControlUrl", "QuarantineUrl", "Finished", "ApplicationPolicy", "OperatorPolicy"} {
		values["Engine"+name] = "x"
	}
	o, err := stack.ReadOutputs(values, "")
	if want := map[string]string{"card-payment": "u-1", "seats": "u-3"}; err != nil || !maps.Equal(o.Requests, want) {
		t.Errorf("%v, %v; want %v", o.Requests, err, want)
	}
}
