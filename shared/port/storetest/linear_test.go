package storetest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// HistoriesVariable is the variable with the number of histories that Linearizable records; default 20.
const HistoriesVariable = "STEPKEEPER_HISTORIES"

// Linearizable lets several clients create, replace and load the same few tasks at the same time, and checks
// each history with porcupine. There must be an order of all calls in which the model returns the same
// results, with each call between its begin and its end. If the adapter allows injected faults of its
// backend, they occur at random. A write in doubt may take effect at any time after its begin, or never.
func Linearizable(t *testing.T, make Make) {
	histories := 20
	if text := os.Getenv(HistoriesVariable); text != "" {
		n, err := strconv.Atoi(text)
		require.NoError(t, err)
		require.GreaterOrEqual(t, n, 1)
		histories = n
	}
	calls := 0
	doubts := 0
	for seed := range histories {
		b := make(t)
		h := recordHistory(t.Context(), b, uint64(seed)) //nolint:gosec // not negative
		if b.Close != nil {
			b.Close()
		}
		calls += len(h)
		for i := range h {
			switch {
			case h[i].Input.(question).landing:
				calls--
			case h[i].Output.(answer).doubt():
				doubts++
			}
		}
		require.Empty(t, judge(h), "%+v", seed)
	}
	t.Logf("%d histories of %d calls in all, %d writes in doubt: each is linearizable", histories, calls,
		doubts)
}

// question is one call: a write, or a load of the record.
type question struct {
	id    string
	write *port.Write
	// landing marks the first time of a write that was executed twice (see doubled).
	landing bool
}

// answer is the result of a call: the class of its error, and the loaded record.
type answer struct{ class, found string }

// doubt reports whether it is unknown if the call happened.
func (a answer) doubt() bool { return a.class == class(errDoubt) }

var errDoubt = errors.New("perhaps stored")

// show returns a stored record as text. Each write has its own document.
func (r row) show() string {
	if r.record == nil {
		return ""
	}
	return fmt.Sprintf("version %d, %s", r.record.Version, r.record.Document)
}

// step returns all possible rows after the call, if the call may have that result at all.
func (r row) step(q question, a answer) []any {
	if q.landing {
		return r.land(q.write)
	}
	if q.write == nil {
		if a.doubt() || a.class == class(port.ErrUnavailable) || a.found == r.show() {
			return []any{r}
		}
		return nil
	}
	next, err := r.commit(*q.write)
	switch {
	case a.doubt() && err == nil:
		return []any{r, next}
	case a.doubt() || a.class == class(port.ErrUnavailable):
		return []any{r}
	case a.class == class(err) && errors.Is(err, port.ErrConflict):
		return r.refuse(q.write)
	case a.class == class(err):
		return []any{next}
	}
	return nil
}

// land returns the possible rows after a write that may or may not have happened. A refused write never
// happens later.
func (r row) land(w *port.Write) []any {
	next, err := r.commit(*w)
	if err != nil || slices.Contains(r.refused, string(w.Record.Document)) {
		return []any{r}
	}
	return []any{r, next}
}

// refuse checks a conflict. No writer gets a conflict with itself, so its own write must not be stored.
func (r row) refuse(w *port.Write) []any {
	own := string(w.Record.Document)
	if string(r.record.Document) == own {
		return nil
	}
	r.refused = append(slices.Clip(r.refused), own)
	return []any{r}
}

// doubled splits each write that returned a conflict into two calls, if the backend can execute a request
// twice: the first execution, which may have stored the write, and the second one, which was refused. Both
// are within the time of the call. The second execution fails at its condition. If it finds its own version,
// the adapter reports success. If another writer has replaced that version meanwhile, the adapter can only
// report a conflict, although the write was stored. That is harmless. The caller loads and decides again, and
// finds its cause in the stored task (P12, effects are emitted again), as after a crash between commit and
// delete.
func doubled(history []porcupine.Operation) []porcupine.Operation {
	for _, op := range history {
		q := op.Input.(question)
		if q.write == nil || op.Output.(answer).class != class(port.ErrConflict) {
			continue
		}
		q.landing = true
		op.Input = q
		op.Output = answer{class: class(errDoubt)}
		history = append(history, op)
	}
	return history
}

// linear is the model of one task for porcupine.
var linear = (&porcupine.NondeterministicModel{
	Init: func() []any { return []any{row{}} },
	Step: func(state, input, output any) []any {
		return state.(row).step(input.(question),
			output.(answer))
	},
	Equal: func(a, b any) bool { return a.(row).show() == b.(row).show() },
}).ToModel()

// judge returns the fault of a history, with all calls for the task.
func judge(history []porcupine.Operation) string {
	tasks := map[string][]porcupine.Operation{}
	for _, op := range history {
		id := op.Input.(question).id
		tasks[id] = append(tasks[id], op)
	}
	for id, ops := range tasks {
		slices.SortFunc(ops, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
		switch porcupine.CheckOperationsTimeout(linear, ops, time.Minute) {
		case porcupine.Ok:
			continue
		case porcupine.Unknown:
			return fmt.Sprintf("task %q: not decided within a minute, %d calls", id, len(ops))
		}
		var b strings.Builder
		fmt.Fprintf(&b, "task %q: no order of these calls gives these answers (begin, end, client)", id)
		for _, op := range ops {
			fmt.Fprintf(&b, "\n  %9d %9d  %d  %s", op.Call, op.Return, op.ClientId,
				describe(op.Input.(question), op.Output.(answer)))
		}
		return b.String()
	}
	return ""
}

func describe(q question, a answer) string {
	switch {
	case q.landing:
		return fmt.Sprintf("first time, if any, of the write %s on version %d", q.write.Record.Document,
			q.write.Expected)
	case q.write != nil:
		return fmt.Sprintf("write %s on version %d: %s %s", q.write.Record.Document, q.write.Expected,
			a.class, a.found)
	}
	return fmt.Sprintf("load: %s %q", a.class, a.found)
}

// recorder records a history.
type recorder struct {
	Backends
	start   time.Time
	mu      sync.Mutex
	history []porcupine.Operation
}

// Sizes of one history.
const (
	linearClients = 6
	linearCalls   = 15
	linearTasks   = 3
)

// recordHistory runs the clients and returns the history.
func recordHistory(ctx context.Context, b Backends, seed uint64) []porcupine.Operation {
	r := &recorder{Backends: b, start: time.Now()}
	together(linearClients, func(client int) {
		dice := rand.New(rand.NewPCG(seed, uint64(client))) //nolint:gosec // reproducible
		known := map[string]int64{}
		for n := range linearCalls {
			runtime.Gosched() // adapters in memory return before the others have begun
			r.fault(dice)
			q := ask(dice, client, n, known)
			a, version := r.put(ctx, client, q)
			if version > 0 {
				known[q.id] = version
			}
			if a.class == class(port.ErrConflict) || a.class == class(port.ErrExists) {
				if _, version := r.put(ctx, client, question{id: q.id}); version > 0 {
					known[q.id] = version
				}
			}
		}
	})
	if b.Inject != nil {
		b.Inject()
	}
	for i := range r.history {
		if r.history[i].Output.(answer).doubt() {
			r.history[i].Return = int64(time.Since(r.start)) // it may happen as late as that
		}
	}
	if b.Inject != nil {
		return doubled(r.history)
	}
	return r.history
}

// fault injects a fault into one call in six. One call in twenty gets so many that it ends in doubt.
func (r *recorder) fault(dice *rand.Rand) {
	switch {
	case r.Inject == nil:
	case dice.IntN(40) == 0:
		r.Inject(slices.Repeat([]Fault{LostAnswer}, 4)...)
	case dice.IntN(40) == 0: // the last try is refused, but the first one was stored
		r.Inject(append([]Fault{LostAnswer}, slices.Repeat([]Fault{Throttle}, 6)...)...)
	case dice.IntN(6) == 0:
		r.Inject(allFaults[dice.IntN(len(allFaults))])
	}
}

// ask draws a call: mostly writes on the version that the client knows.
func ask(dice *rand.Rand, client, n int, known map[string]int64) question {
	q := question{id: fmt.Sprint("task-", dice.IntN(linearTasks))}
	switch expected := known[q.id]; dice.IntN(8) {
	case 0, 1, 2:
	case 3:
		expected = int64(dice.IntN(6))
		fallthrough
	default:
		w := write(q.id, expected)
		w.Record.Document = fmt.Appendf(nil, `"%d.%d"`, client, n)
		q.write = &w
	}
	return q
}

// put makes the call, records it, and returns the version that the client now knows.
func (r *recorder) put(ctx context.Context, client int, q question) (a answer, version int64) {
	begin := time.Since(r.start)
	var stored row
	var err error
	switch {
	case q.write != nil:
		err = r.Store.Commit(ctx, []port.Write{*q.write})[0]
		if err == nil {
			version = q.write.Record.Version
		}
	default:
		records, errs := r.Store.Load(ctx, []string{q.id})
		err = errs[0]
		if err == nil && records[0] != nil {
			stored.record = records[0]
			version = records[0].Version
		}
	}
	a = answer{class: class(err), found: stored.show()}
	end := time.Since(r.start)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.history = append(r.history, porcupine.Operation{
		ClientId: client, Input: q, Call: int64(begin),
		Output: a, Return: int64(end),
	})
	return a, version
}

// forgetful says of one batch in four that it is stored, and forgets it.
type forgetful struct{ *memory.Store }

func (s forgetful) Commit(ctx context.Context, writes []port.Write) []error {
	if rand.IntN(4) == 0 {
		return make([]error, len(writes))
	}
	return s.Store.Commit(ctx, writes)
}

// The checker finds a store that is broken.
func TestTheCheckerCanFail(t *testing.T) {
	found := ""
	for seed := uint64(0); seed < 20 && found == ""; seed++ {
		found = judge(recordHistory(t.Context(), Backends{Store: forgetful{memory.NewStore(1)}}, seed))
	}
	require.Contains(t, found, "no order of these calls gives these answers")
}
