package world

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/stepkeeper/stepkeeper/dev/memory"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Faulty is a store that counts its calls and fails where it is set to.
type Faulty struct {
	*memory.Store
	Commits, Loads, Orders, Dues int
	FailCommit, FailLoad         func(call int) error
	FailOrder                    func(call int) error
	FailDue                      func(shard int) error
	Damaged                      string // the task whose document cannot be read
	Unread                       string // the task whose read fails
}

// Commit fails for all writes, or none.
func (s *Faulty) Commit(ctx context.Context, writes []port.Write) []error {
	s.Commits++
	if s.FailCommit != nil {
		if err := s.FailCommit(s.Commits); err != nil {
			errs := make([]error, len(writes))
			for i := range errs {
				errs[i] = err
			}
			return errs
		}
	}
	return s.Store.Commit(ctx, writes)
}

// Load shows one document damaged, and does not answer the records of Unread.
func (s *Faulty) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	s.Loads++
	if s.FailLoad != nil {
		if err := s.FailLoad(s.Loads); err != nil {
			return make([]*port.Record, len(ids)), slices.Repeat([]error{err}, len(ids))
		}
	}
	records, errs := s.Store.Load(ctx, ids)
	for i := range records {
		if s.Unread != "" && ids[i] == s.Unread {
			records[i], errs[i] = nil, ErrFailing
		}
		if records[i] != nil && records[i].ID == s.Damaged {
			damaged := *records[i]
			damaged.Document = []byte(`{"schema":1`)
			records[i] = &damaged
		}
	}
	return records, errs
}

// Content of port.Store.
func (s *Faulty) Content(ctx context.Context, id, hash string) ([]byte, error) {
	s.Orders++
	if s.FailOrder != nil {
		if err := s.FailOrder(s.Orders); err != nil {
			return nil, err
		}
	}
	return s.Store.Content(ctx, id, hash)
}

// Erase of port.Store.
func (s *Faulty) Erase(ctx context.Context, id, hash string) error {
	s.Orders++
	if s.FailOrder != nil {
		if err := s.FailOrder(s.Orders); err != nil {
			return err
		}
	}
	return s.Store.Erase(ctx, id, hash)
}

// Ended of port.Store.
func (s *Faulty) Ended(ctx context.Context, id string) (bool, error) {
	s.Orders++
	if s.FailOrder != nil {
		if err := s.FailOrder(s.Orders); err != nil {
			return false, err
		}
	}
	return s.Store.Ended(ctx, id)
}

// Due of port.Store.
func (s *Faulty) Due(ctx context.Context, b port.Bucket, shard int, before time.Time, after *port.Due,
	limit int) ([]port.Due, error) {
	s.Dues++
	if s.FailDue != nil {
		if err := s.FailDue(shard); err != nil {
			return nil, err
		}
	}
	return s.Store.Due(ctx, b, shard, before, after, limit)
}

// ErrFailing is a fault that will pass.
var ErrFailing = fmt.Errorf("the store is failing: %w", port.ErrUnavailable)

// OnCall fails the n-th call, n from 1.
func OnCall(n int, err error) func(int) error {
	return func(call int) error {
		if call == n {
			return err
		}
		return nil
	}
}
