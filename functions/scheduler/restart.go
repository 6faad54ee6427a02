package scheduler

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/engine"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

const restartPage = 200

var farFuture = time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)

// Restart loads all tasks that are not at rest, and emits again the messages that these tasks still
// need: requests, Wakes and final statuses (P27, the embedded runtime survives its queues). If a
// process lost its queues, the next process calls Restart before it takes new messages.
//
// Restart returns the number of restarted tasks. The error names the tasks that it could not restart.
// The Supervisor finds these tasks when they are due. Restart reports a damaged task, and restarts one that can
// be read again (P60, a damaged order is set aside).
func (s *Scheduler) Restart(ctx context.Context) (tasks int, err error) {
	store := s.cfg.State.Port()
	var errs []error
	for shard := range store.Shards() {
		for _, bucket := range []port.Bucket{port.DamagedBucket, port.DueBucket} {
			var after *port.Due
			for {
				due, err := store.Due(ctx, bucket, shard, farFuture, after, restartPage)
				if err != nil {
					return tasks, errors.Join(append(errs, fmt.Errorf("restart shard %d: %w", shard, err))...)
				}
				n, err := s.restart(ctx, due, bucket == port.DamagedBucket)
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
	}
	return tasks, errors.Join(errs...)
}

func (s *Scheduler) restart(ctx context.Context, due []port.Due, aside bool) (tasks int, err error) {
	var batch engine.Batch
	for i := range due {
		batch.Add(&engine.Message{OrderID: due[i].ID}).Aside = aside
	}
	s.run(ctx, batch.Jobs, nil)
	for i, j := range batch.Jobs {
		switch failed := j.Messages[0].Err; {
		case failed == nil && j.Task != nil && j.Task.Damaged != "":
		case failed == nil:
			tasks++
			if s.cfg.Restarted != nil && j.Task != nil {
				s.cfg.Restarted(j.Task)
			}
		default:
			err = errors.Join(err, fmt.Errorf("restart task %q: %w", due[i].ID, failed))
		}
	}
	return tasks, err
}
