package actorstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Faulty is a store that counts its calls. The fields from FailCommit to Unread inject faults.
type Faulty struct {
	*memory.Store
	Commits, Loads, Orders, Dues int
	FailCommit, FailLoad         func(call int) error
	FailOrder                    func(call int) error
	FailDue                      func(shard, limit int) error
	Instead                      map[string]string // documents that Load returns instead of the stored ones
	Unread                       string            // ID of the task that Load fails to read

	world *World // checks the context of each call; nil means no check
}

var errCut = errors.New("connection lost")

// ErrFailing is a temporary failure of the store.
var ErrFailing = fmt.Errorf("the store is failing: %w", port.ErrUnavailable)

// OnCall returns a function that returns err for the n-th call, counted from 1, and nil for every other call.
func OnCall(n int, err error) func(int) error {
	return func(call int) error {
		if call == n {
			return err
		}
		return nil
	}
}

func (s *Faulty) call(ctx context.Context, name string, calls *int, fail func(call int) error) error {
	*calls++
	if s.world != nil {
		if err := s.world.call(ctx, name); err != nil {
			return err
		}
	}
	if fail == nil {
		return nil
	}
	return fail(*calls)
}

// Commit implements port.Store. If the call fails, all its writes fail.
func (s *Faulty) Commit(ctx context.Context, writes []port.Write) []error {
	if err := s.call(ctx, "Commit", &s.Commits, s.FailCommit); err != nil {
		return slices.Repeat([]error{err}, len(writes))
	}
	return s.Store.Commit(ctx, writes)
}

// Damaged is a document that cannot be read.
const Damaged = `{"schema":1`

// Load implements port.Store. It returns the documents Instead, and an error for the task Unread.
func (s *Faulty) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	if err := s.call(ctx, "Load", &s.Loads, s.FailLoad); err != nil {
		return make([]*port.Record, len(ids)), slices.Repeat([]error{err}, len(ids))
	}
	records, errs := s.Store.Load(ctx, ids)
	for i := range records {
		if s.Unread != "" && ids[i] == s.Unread {
			records[i] = nil
			errs[i] = ErrFailing
		}
		if document := s.Instead[ids[i]]; records[i] != nil && document != "" {
			other := *records[i]
			other.Document = []byte(document)
			records[i] = &other
		}
	}
	return records, errs
}

// Place implements port.Store.
func (s *Faulty) Place(ctx context.Context, id string, version int64, bucket port.Bucket, at time.Time) error {
	if err := s.call(ctx, "Place", &s.Orders, s.FailOrder); err != nil {
		return err
	}
	return s.Store.Place(ctx, id, version, bucket, at)
}

// Content implements port.Store.
func (s *Faulty) Content(ctx context.Context, id, hash string) ([]byte, error) {
	if err := s.call(ctx, "Content", &s.Orders, s.FailOrder); err != nil {
		return nil, err
	}
	return s.Store.Content(ctx, id, hash)
}

// Erase implements port.Store.
func (s *Faulty) Erase(ctx context.Context, id, hash string) error {
	if err := s.call(ctx, "Erase", &s.Orders, s.FailOrder); err != nil {
		return err
	}
	return s.Store.Erase(ctx, id, hash)
}

// Ended implements port.Store.
func (s *Faulty) Ended(ctx context.Context, id string) (bool, error) {
	if err := s.call(ctx, "Ended", &s.Orders, s.FailOrder); err != nil {
		return false, err
	}
	return s.Store.Ended(ctx, id)
}

// Due implements port.Store.
func (s *Faulty) Due(ctx context.Context, b port.Bucket, shard int, before time.Time, after *port.Due,
	limit int,
) ([]port.Due, error) {
	if err := s.call(ctx, "Due", &s.Dues, func(int) error {
		if s.FailDue == nil {
			return nil
		}
		return s.FailDue(shard, limit)
	}); err != nil {
		return nil, err
	}
	return s.Store.Due(ctx, b, shard, before, after, limit)
}
