package view

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
)

// CheckDamaged is the name of the check of damaged orders.
const CheckDamaged = "damaged orders"

// FixDamaged is the advice for damaged orders.
const FixDamaged = "restore them from a backup, or end them with close; show tells what can still be read"

// CheckReceiver begins the name of a check of a receiver of statuses.
const CheckReceiver = "reply-to "

// mostDamaged limits the IDs in the text of the check.
const mostDamaged = 20

// Fitted returns the task. If the task does not fit its definition, or err states that the definition cannot be
// read, it returns a damaged copy (P60, a damaged order is set aside).
func Fitted(t *protocol.Task, def *core.Definition, err error) *protocol.Task {
	if t.Damaged == "" && err == nil {
		err = protocol.Unfit(def, t)
	}
	if t.Damaged != "" || err == nil {
		return t
	}
	c := *t
	c.Damaged = err.Error()
	return &c
}

// index is the part of port.Store that reads the index.
type index interface {
	Due(ctx context.Context, bucket port.Bucket, shard int, before time.Time, after *port.Due,
		limit int) ([]port.Due, error)
}

// Damaged describes the orders that were set aside because they cannot be read (P60, a damaged order is set
// aside). The result is "" if there are none.
func Damaged(ctx context.Context, in index, shards int) (string, error) {
	var ids []string
	for shard := range shards {
		far := time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)
		found, err := in.Due(ctx, port.DamagedBucket, shard, far, nil, mostDamaged+1)
		if err != nil {
			return "", fmt.Errorf("damaged orders: %w", err)
		}
		for _, d := range found {
			ids = append(ids, d.ID)
		}
	}
	switch n := len(ids); {
	case n == 0:
		return "", nil
	case n > mostDamaged:
		return fmt.Sprintf("more than %d stored orders cannot be read: %s, and others", mostDamaged,
			strings.Join(ids[:mostDamaged], ", ")), nil
	default:
		return fmt.Sprintf("%s cannot be read: %s", Count(n, "stored order"), strings.Join(ids, ", ")), nil
	}
}
