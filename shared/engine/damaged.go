package engine

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// LookAgain is the time after which the Supervisor looks at a damaged order again (P60, a damaged order is set
// aside). The order may have been restored meanwhile, or a program may run that can read it.
const LookAgain = 15 * time.Minute

// damaged makes the job's messages decide about a damaged task. It looks for the parent of the task if the
// document does not name it.
func (e *Engine) damaged(ctx context.Context, j *Job, damage string) (err error) {
	t := *j.loaded
	t.Damaged = damage
	if t.Parent == nil {
		t.Parent, err = e.parentOf(ctx, t.OrderID)
		if err != nil {
			return err
		}
	}
	e.State.Forget(j.ID)
	j.loaded = &t
	j.decided = decided{Task: &t, order: t.Order}
	return nil
}

// parentOf returns the step that waits for a child, or nil. The ID of a child begins with the ID of its parent
// (P40, a step can have child orders).
func (e *Engine) parentOf(ctx context.Context, id string) (*core.Parent, error) {
	for at := strings.LastIndexByte(id, '~'); at > 0; at = strings.LastIndexByte(id[:at], '~') {
		l := e.State.Load(ctx, []string{id[:at]})[0]
		if l.Err != nil {
			return nil, l.Err
		}
		if l.Task == nil {
			continue
		}
		for i := range l.Task.Steps {
			s := &l.Task.Steps[i]
			if s.Children == nil {
				continue
			}
			for _, open := range s.Children.Open {
				p := core.Parent{
					OrderID: l.Task.OrderID, Run: l.Task.Run, Step: s.Name, Index: open.Index,
					Attempt: s.Attempt,
				}
				if p.ChildID() == id {
					return &p, nil
				}
			}
		}
		return nil, nil
	}
	return nil, nil
}

// place moves the damaged tasks whose alert was raised to port.DamagedBucket. It moves a task from there to its
// own place if the task can be read again. It ignores an error, because the next sweep repeats the move.
func (e *Engine) place(ctx context.Context, jobs []*Job) {
	for _, j := range jobs {
		if j.err != nil || j.Task == nil {
			continue
		}
		bucket := port.DamagedBucket
		at := e.Clock.Now().Add(LookAgain)
		switch {
		case j.Task.Damaged != "":
			if !raises(j.effects) {
				continue
			}
			e.Logger.Error("the stored order is damaged; restore it from a backup, or close it", "order", j.ID,
				"damage", j.Task.Damaged)
			e.count("damaged", "set aside")
		case j.Aside && j.status != stored:
			name, when := protocol.Index(j.Task)
			bucket = port.Bucket(name)
			at = when.Std()
			e.Logger.Info("the damaged order can be read again", "order", j.ID)
		default:
			continue
		}
		err := e.State.Port().Place(ctx, j.ID, j.Task.Version, bucket, at)
		if err != nil && !errors.Is(err, port.ErrConflict) {
			e.Logger.Warn("the index entry of a damaged order was not moved; the next sweep tries again", "order",
				j.ID, "error", err)
		}
	}
}

func raises(effects []core.Effect) bool {
	for _, e := range effects {
		if _, ok := e.(core.RaiseAlert); ok {
			return true
		}
	}
	return false
}
