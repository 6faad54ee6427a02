package sqlite

import (
	"log/slog"
	"os"
)

// checkpoint moves the WAL's pages into the database file, so that the WAL stays bounded.
type checkpoint struct {
	wal  string
	next int64 // size of the WAL, in bytes, at which to move its pages
	seen int   // groups since the size was last looked at
}

// walBytes is how large the WAL grows before its pages are moved. Larger means fewer copies of a
// page that changes often, and a longer pause.
const walBytes = 16 << 20

func (c *checkpoint) start(file string) { c.wal, c.next = file+"-wal", walBytes }

func (c *checkpoint) stop() {}

// committed is called by the committer between two groups.
func (c *checkpoint) committed(w *writer) {
	if c.seen++; c.seen < 16 {
		return
	}
	c.seen = 0
	info, err := os.Stat(c.wal)
	if err != nil || info.Size() < c.next {
		return
	}
	row, err := w.checkpoint.first()
	if err != nil {
		slog.Warn("moving the WAL's pages failed, it is tried again", "error", err)
		return
	}
	_ = row
}
