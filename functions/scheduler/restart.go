package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/state"
)

// restartPage is how many tasks are loaded at a time.
const restartPage = 200

// farFuture is after every due time.
var farFuture = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Restart emits again all that is under way in every task that is not at rest, from its document
// alone (P27). It is for a process whose queues died with its predecessor, before it takes new
// messages. It answers how many tasks it took up; the error tells of those that it could not,
// which the Supervisor finds when they are due.
func (s *Scheduler) Restart(ctx context.Context) (tasks int, err error) {
	store := s.cfg.State.Port()
	var errs []error
	for shard := range store.Shards() {
		var after *port.Due
		for {
			due, err := store.Due(ctx, port.DueBucket, shard, farFuture, after, restartPage)
			if err != nil {
				return tasks, errors.Join(append(errs, fmt.Errorf("restart shard %d: %w", shard, err))...)
			}
			n, err := s.restart(ctx, due)
			tasks += n
			if err != nil {
				errs = append(errs, err)
			}
			if len(due) < restartPage {
				break
			}
			after = &due[len(due)-1]
		}
	}
	return tasks, errors.Join(errs...)
}

func (s *Scheduler) restart(ctx context.Context, due []port.Due) (tasks int, err error) {
	if len(due) == 0 {
		return 0, nil
	}
	jobs := make([]*job, len(due))
	for i := range due {
		jobs[i] = &job{id: due[i].ID, items: []*item{{}}}
	}
	s.run(ctx, jobs)
	for _, j := range jobs {
		if j.failed {
			err = errors.Join(err, fmt.Errorf("restart task %q: %w", j.id, j.items[0].err))
			continue
		}
		tasks++
	}
	return tasks, err
}

// Told settles the ends whose final status was taken out of a queue in memory, or expired there
// (P27, H32). A status that is no end's, or of an end that is past, changes nothing.
func (s *Scheduler) Told(ctx context.Context, statuses []core.Status) error {
	byID := map[string]core.Status{}
	var ids []string
	for _, st := range statuses {
		if st.Seq == 0 {
			continue
		}
		if was, ok := byID[st.OrderID]; !ok {
			ids = append(ids, st.OrderID)
		} else if was.Seq > st.Seq {
			continue
		}
		byID[st.OrderID] = st
	}
	for try := 0; len(ids) > 0 && try < s.cfg.Tries; try++ {
		loaded, err := s.cfg.State.Load(ctx, ids)
		if err != nil {
			return fmt.Errorf("settle: %w", err)
		}
		var changes []state.Change
		for i, l := range loaded {
			st := byID[ids[i]]
			if l.Err == nil && l.Task != nil && l.Task.Tell != 0 && l.Task.EndSeq == st.Seq && l.Task.Run == st.Run {
				changes = append(changes, state.Change{Task: settled(l.Task)})
			}
		}
		ids = ids[:0:0]
		for i, err := range s.cfg.State.Commit(ctx, changes) {
			if err != nil {
				ids = append(ids, changes[i].Task.OrderID)
			}
		}
	}
	if len(ids) > 0 {
		return fmt.Errorf("settle %d ends: %w", len(ids), errLost)
	}
	return nil
}
