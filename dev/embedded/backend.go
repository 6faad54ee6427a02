package embedded

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"slices"
	"strconv"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/answerpage"
	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/functions/scheduler"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/schedule"
	"github.com/stepkeeper/stepkeeper/shared/state"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var _ api.Backend = (*Runtime)(nil)

const busyRetry = 2 * time.Second

// Submit stores and starts orders. While MaxOpen tasks are active, Submit refuses new orders with
// *api.BusyError. More active tasks would exhaust the memory. Submit still accepts an order that is already
// stored.
func (s *Runtime) Submit(ctx context.Context, orders []message.SubmitOrder) []api.SubmitResult {
	return s.submit(ctx, orders, s.options.MaxOpen)
}

func (s *Runtime) submit(ctx context.Context, orders []message.SubmitOrder, limit int) []api.SubmitResult {
	results := make([]api.SubmitResult, len(orders))
	ctx, done, err := s.carry(ctx)
	if err != nil {
		for i := range orders {
			results[i] = api.SubmitResult{OrderID: orders[i].OrderID, Err: err}
		}
		return results
	}
	defer done()
	for begin, end := 0, 0; begin < len(orders); begin = end {
		active := s.hub.activeOrders() // count again, because started orders that only wait are not active
		end = min(begin+limit-active, len(orders))
		if end > begin {
			s.take(ctx, orders[begin:end], results[begin:end])
			continue
		}
		end = begin + 1
		results[begin] = s.knownOrBusy(ctx, &orders[begin], active)
	}
	return results
}

func (s *Runtime) take(ctx context.Context, orders []message.SubmitOrder, results []api.SubmitResult) {
	for i, r := range s.scheduler.Submit(ctx, orders) {
		results[i] = resultOf(r)
		if results[i].Err == nil {
			results[i].Unattended = s.unattendedOf(ctx, orders[i].Workflow)
		}
	}
}

// knownOrBusy handles a submission while the limit is reached. It accepts an order that is already stored, so
// that sending an order again stays harmless.
func (s *Runtime) knownOrBusy(ctx context.Context, o *message.SubmitOrder, active int) api.SubmitResult {
	if loaded := s.state.Load(ctx, []string{o.OrderID}); loaded[0].Task != nil {
		return resultOf(s.scheduler.Submit(ctx, []message.SubmitOrder{*o})[0])
	}
	s.count("busy", "intake")
	busy := &api.BusyError{RetryAfter: busyRetry, Active: active, Limit: s.options.MaxOpen}
	if s.refused.Swap(busy) == nil {
		s.log.Warn("new orders are refused, and this line does not repeat while that lasts", "error", busy)
	}
	return api.SubmitResult{OrderID: o.OrderID, Err: busy}
}

func resultOf(r scheduler.SubmitResult) api.SubmitResult {
	out := api.SubmitResult{OrderID: r.OrderID, Known: r.Known, State: r.State, Notes: r.Notes, Err: r.Err}
	switch {
	case r.Refusal != nil:
		out.Err = r.Refusal
	case r.Err != nil && !errors.Is(r.Err, port.ErrUnavailable):
		out.Err = fmt.Errorf("%w: %w", port.ErrUnavailable, r.Err)
	}
	return out
}

const carryTime = 30 * time.Second

var errShuttingDown = fmt.Errorf("%w: shutting down", port.ErrUnavailable)

// carry returns a context for the work of a client's request. The work continues if the client disconnects,
// because no queue would send the request again (P12a, who emits again). Close waits for the work.
func (s *Runtime) carry(ctx context.Context) (_ context.Context, done func(), err error) {
	s.gate.RLock()
	if s.closed.Load() {
		s.gate.RUnlock()
		return nil, nil, errShuttingDown
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), carryTime)
	stop := context.AfterFunc(s.work, cancel)
	return ctx, func() {
		stop()
		cancel()
		s.gate.RUnlock()
	}, nil
}

// Reject handles a refused message that a client has sent in the protocol of SQS. It sends the application a
// status, or puts the message into quarantine. If clients may not send this kind of message, Reject only logs
// and counts the refusal.
func (s *Runtime) Reject(ctx context.Context, r api.Rejected) error {
	var forbidden *core.Refusal
	if errors.As(r.Err, &forbidden) && forbidden.Code == api.CodeForbidden {
		s.log.Warn("message refused", "queue", r.Queue, "reason", r.Err)
		s.count("refused", forbidden.Code)
		return nil
	}
	if r.Queue == port.Intake && s.answered(r.Body) {
		return nil
	}
	ctx, done, err := s.carry(ctx)
	if err != nil {
		return err
	}
	defer done()
	id := r.Queue + "-" + strconv.FormatInt(s.rejects.Add(1), 10)
	failed := s.scheduler.Handle(ctx, r.Queue, []port.Delivery{{
		Message: port.Message{Body: r.Body}, ID: id, Receipt: id, Received: 1, SentAt: s.clock.Now(),
	}})
	if len(failed) > 0 {
		return fmt.Errorf("%w: the refused message could not be kept", port.ErrUnavailable)
	}
	return nil
}

// answered reports whether Submit has already sent the refusal as a status. Submit sends a status if the
// message can be parsed and names a known reply-to.
func (s *Runtime) answered(body []byte) bool {
	o, err := message.DecodeSubmit(body)
	if err != nil {
		return false
	}
	_, err = s.queues.ReplyTo(o.ReplyTo)
	return err == nil
}

// Command executes a command. Only a Cancel may come before its order. The error is port.ErrUnavailable if
// every attempt to commit conflicted with another writer. The sender may then send the command again.
func (s *Runtime) Command(ctx context.Context, c message.Control) (protocol.Verdict, error) {
	ctx, done, err := s.carry(ctx)
	if err != nil {
		return protocol.Verdict{}, err
	}
	defer done()
	v, err := s.scheduler.Command(ctx, c)
	var refused *core.Refusal
	if errors.As(err, &refused) && refused.Code == core.CodeUnknownTask {
		return v, fmt.Errorf("order %q: %w", c.OrderID, port.ErrNotFound)
	}
	if errors.Is(err, port.ErrConflict) {
		return v, fmt.Errorf("%w: %w", port.ErrUnavailable, err)
	}
	return v, err
}

// load reads a task. After Close it returns an error, because the cache may still contain tasks while the
// store is closed.
func (s *Runtime) load(ctx context.Context, id string) (*protocol.Task, error) {
	if s.closed.Load() {
		return nil, errShuttingDown
	}
	loaded := s.state.Load(ctx, []string{id})[0]
	switch {
	case loaded.Err != nil:
		return nil, loaded.Err
	case loaded.Task == nil:
		return nil, fmt.Errorf("order %q: %w", id, port.ErrNotFound)
	}
	return loaded.Task, nil
}

// Task returns a task and the definition that the task pins. The definition is nil if the task is damaged.
func (s *Runtime) Task(ctx context.Context, id string) (*protocol.Task, *core.Definition, error) {
	t, err := s.load(ctx, id)
	if err != nil || t.Damaged != "" {
		return t, nil, err
	}
	def, err := s.state.Definition(ctx, t.Workflow, t.Definition)
	if err == nil || errors.Is(err, port.ErrNotFound) || errors.Is(err, state.ErrDefinition) {
		return view.Fitted(t, def, err), def, nil
	}
	return t, def, err
}

// Target returns the definition that a Move command names.
func (s *Runtime) Target(ctx context.Context, workflow, definition string) (core.Target, error) {
	return s.state.Target(ctx, workflow, definition)
}

// Question returns the data that the answer page may show for a token (P39, a token is an answer's
// permission).
func (s *Runtime) Question(ctx context.Context, id, token string) (answerpage.Question, error) {
	of, err := s.tokens.Read(id, token, core.TimeOf(s.clock.Now()))
	if err != nil {
		return answerpage.Question{}, err
	}
	t, def, err := s.Task(ctx, id)
	if err != nil {
		return answerpage.Question{}, err
	}
	order, err := s.Order(ctx, t)
	if err != nil {
		return answerpage.Question{}, err
	}
	return answerpage.Read(t, def, order, of), nil
}

// Order returns the content of a task's order, as it was submitted.
func (s *Runtime) Order(ctx context.Context, t *protocol.Task) (json.RawMessage, error) {
	return s.state.Order(ctx, t)
}

// Document returns the document of an order as it is stored.
func (s *Runtime) Document(ctx context.Context, id string) (json.RawMessage, error) {
	if s.closed.Load() {
		return nil, errShuttingDown
	}
	records, errs := s.state.Port().Load(ctx, []string{id})
	if errs[0] != nil {
		return nil, fmt.Errorf("order %q: %w", id, errs[0])
	}
	return state.DocumentOf(records[0])
}

// Wait blocks until done returns true for a version of the task, or ctx ends. The function done also runs in
// the goroutine that commits the task, so it must not change the task or block.
func (s *Runtime) Wait(ctx context.Context, id string, done func(*protocol.Task) bool) (*protocol.Task, error) {
	return s.hub.wait(ctx, id, func() (*protocol.Task, error) { return s.load(ctx, id) }, done)
}

// Changes signals each commit of the order, or of all orders if id is "".
func (s *Runtime) Changes(ctx context.Context, id string) <-chan struct{} {
	w, stop := s.hub.watch(id, func(*protocol.Task) bool { return true })
	context.AfterFunc(ctx, stop)
	return w.wake
}

// List returns the selected tasks. It marks a task as damaged if its document cannot be read.
func (s *Runtime) List(ctx context.Context, q port.Query) ([]view.Summary, string, error) {
	page, err := s.store.List(ctx, q)
	if err != nil {
		return nil, "", err
	}
	orders := make([]view.Summary, len(page.Records))
	for i := range page.Records {
		orders[i] = view.Listed(&page.Records[i])
	}
	return orders, page.Next, nil
}

// Queue returns a queue for clients with the protocol of SQS.
func (s *Runtime) Queue(name string) (port.Queue, error) {
	if name == port.Tasks { // only the Scheduler uses this queue (P41, parent and child talk by messages)
		return nil, fmt.Errorf("queue %q: %w", name, port.ErrNotFound)
	}
	return s.queues.Queue(name)
}

// QueueNames returns the names of the queues that Queue returns.
func (s *Runtime) QueueNames() []string {
	return slices.DeleteFunc(s.queues.names(), func(name string) bool { return name == port.Tasks })
}

// startScheduled submits the orders of schedules for the Supervisor. The limit of active orders does not
// apply, because a schedule starts few orders and no client would send them again.
//
// startScheduled logs a refused order and returns no error for it, because another attempt would be refused
// too.
func (s *Runtime) startScheduled(ctx context.Context, orders []message.SubmitOrder) []error {
	errs := make([]error, len(orders))
	for i, r := range s.submit(ctx, orders, math.MaxInt32) {
		var refused *core.Refusal
		errs[i] = r.Err
		if errors.As(r.Err, &refused) {
			s.log.Error("an order of a schedule is refused", "order", r.OrderID, "error", r.Err)
			errs[i] = nil
		}
	}
	return errs
}

// Schedules returns the schedules of the present workflows, with their last starts and skipped times.
func (s *Runtime) Schedules(ctx context.Context) ([]schedule.Record, error) {
	if s.closed.Load() {
		return nil, errShuttingDown
	}
	all := []schedule.Record{}
	for _, def := range s.workflows.scheduled() {
		r, _, err := schedule.Load(ctx, s.store, def.Name)
		if err != nil {
			return nil, err
		}
		all = append(all, r.Of(def.Name, def.Schedule))
	}
	return all, nil
}

func (s *Runtime) checkSchedules(ctx context.Context, checks map[string]string) {
	for _, def := range s.workflows.scheduled() {
		r, _, err := schedule.Load(ctx, s.store, def.Name)
		problem := r.Problem(core.TimeOf(s.clock.Now()))
		if err != nil {
			problem = err.Error()
		}
		if problem != "" {
			checks["schedule of "+def.Name] = problem
		}
	}
}

// Workflows returns the workflows that orders can name, with the problems of newer files.
func (s *Runtime) Workflows(context.Context) []view.WorkflowInfo { return s.workflows.infos() }

// process returns the number of goroutines and the size of the heap, which grow if the process has a leak.
func process() (goroutines, heapBytes int64) {
	// runtime.ReadMemStats would stop the process; reading this metric does not
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	//nolint:gosec // far below the limit
	return int64(runtime.NumGoroutine()), int64(sample[0].Value.Uint64())
}

// intake describes, for Health, whether new orders are accepted. Readiness does not depend on the number of
// active orders. Agents in other processes reach their queues only through a ready server, and these agents
// must end the active orders.
func (s *Runtime) intake(active int64) string {
	if active < int64(s.options.MaxOpen) {
		return "ok"
	}
	return "new orders are refused: " + tooMany(int(active), s.options.MaxOpen)
}

func tooMany(active, limit int) string {
	return fmt.Sprintf(
		"%d orders are active and the limit is %d (--max-open). Orders that only wait do not count. "+
			"Look for an agent that is absent, slow or failing, or start with a higher limit", active, limit)
}

// unsentFor is how long Health names a receiver after a failed send. An undelivered status is sent again at least
// once in this time.
const unsentFor = 2 * time.Hour

// Health returns the state of the runtime. The runtime is ready if it has started and the store can write.
func (s *Runtime) Health(ctx context.Context) api.Health {
	h := api.Health{
		Ready: s.ready.Load(), Checks: map[string]string{"store": "ok"}, Counts: s.hub.counts(),
		Release: view.Built(),
	}
	if err := s.store.Probe(); err != nil {
		h.Checks["store"] = err.Error()
		h.Ready = false
		if s.ready.Load() && !s.unwritable.Swap(true) { // Close makes the runtime unready before the store ends
			s.log.Warn("the store cannot write, and this line does not repeat while that lasts", "error", err)
		}
	} else {
		s.unwritable.Store(false)
	}
	h.Checks["intake"] = s.intake(h.Counts["running"])
	for _, w := range s.workflows.infos() {
		if len(w.Problems) > 0 {
			h.Checks["workflow "+w.Name] = w.Problems[0]
		}
	}
	outages, err := s.outages(ctx)
	if err != nil {
		h.Checks["agents"] = err.Error()
	}
	for _, o := range outages {
		name, text := o.Check()
		h.Checks[name] = text
	}
	if damaged, err := view.Damaged(ctx, s.store, s.store.Shards()); err != nil {
		h.Checks[view.CheckDamaged] = err.Error()
	} else if damaged != "" {
		h.Checks[view.CheckDamaged] = damaged
	}
	if damaged := s.store.DamagedMessages(); damaged != "" {
		h.Checks["damaged messages"] = damaged
	}
	s.checkSchedules(ctx, h.Checks)
	s.unsent.Range(func(receiver, last any) bool {
		if port.Recent(last.(time.Time), s.clock.Now(), unsentFor) {
			h.Checks[view.CheckReceiver+receiver.(string)] = fmt.Sprintf("a status could not be sent, the last time "+
				"at %s; the orders go on, and the statuses are sent again", core.TimeOf(last.(time.Time)))
		}
		return true
	})
	s.counts.Range(func(k, v any) bool {
		h.Counts[k.(string)] = v.(*counter).Load()
		return true
	})
	for _, a := range s.agents {
		for name, n := range a.stats() {
			h.Counts["agent-"+a.name+"-"+name] = n
		}
	}
	h.Unattended = s.Unattended(ctx)
	h.Counts["process-goroutines"], h.Counts["process-heap-bytes"] = process()
	return h
}
