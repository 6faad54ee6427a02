package dynamo

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const (
	// readAlways is a number of open tasks. Up to this number, each listing reads all open tasks again.
	readAlways = 500
	// readEvery determines how long listings reuse a record that was read. The time is readEvery multiplied
	// by the number of open tasks above readAlways. With 1,000 open tasks, this time is 10 s, so a process
	// reads at most 100 unchanged tasks a second.
	readEvery = 20 * time.Millisecond
)

// recent holds the records that earlier listings have read. The key of the map is the task's entry in the
// index. If this entry changes, the next listing reads the record again.
type recent struct {
	mu   sync.Mutex
	read map[port.Due]reading
}

type reading struct {
	record *port.Record
	at     time.Time
}

func (l *listing) openRecords(ctx context.Context, entries []port.Due) ([]*port.Record, []error) {
	slices.SortFunc(entries, func(a, b port.Due) int { return strings.Compare(a.ID, b.ID) })
	// A stale index may contain an ID twice.
	entries = slices.CompactFunc(entries, func(a, b port.Due) bool { return a.ID == b.ID })
	hold := time.Duration(max(0, len(entries)-readAlways)) * readEvery
	now := l.options.Clock.Now()
	records := make([]*port.Record, len(entries))
	var ids []string
	var places []int
	l.recent.mu.Lock()
	for i, e := range entries {
		if known, is := l.recent.read[e]; is && port.Recent(known.at, now, hold) {
			records[i] = known.record
			continue
		}
		ids = append(ids, e.ID)
		places = append(places, i)
	}
	l.recent.mu.Unlock()
	loaded, errs := l.load(ctx, ids, false)
	for i, r := range loaded {
		records[places[i]] = r
	}
	l.recent.remember(entries, places, loaded, now, hold)
	return records, errs
}

func (r *recent) remember(entries []port.Due, places []int, loaded []*port.Record, now time.Time,
	hold time.Duration,
) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for e, known := range r.read {
		if !port.Recent(known.at, now, hold) {
			delete(r.read, e)
		}
	}
	if hold == 0 {
		return
	}
	if r.read == nil {
		r.read = map[port.Due]reading{}
	}
	for i, record := range loaded {
		if record != nil {
			r.read[entries[places[i]]] = reading{record, now}
		}
	}
}
