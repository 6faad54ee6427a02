package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// checkTime bounds the check of the file during a start.
const checkTime = 5 * time.Second

// checking is the check of the file. It continues in the background if the start did not wait for its end.
type checking struct {
	limit time.Duration
	whole bool // the start has waited for the end
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// check searches the whole file for damage, with each entry of each index.
func check(ctx context.Context, db *sql.DB) error {
	var verdict string
	if err := db.QueryRowContext(ctx, "PRAGMA integrity_check(1)").Scan(&verdict); err != nil {
		return err
	}
	if verdict != "ok" {
		return fmt.Errorf("%w: %s", ErrDamaged, verdict)
	}
	return nil
}

// atStart checks the file before it is opened for writing. If the time is over first, it reports no damage.
func (c *checking) atStart(ctx context.Context, source string) error {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // it was only read
	limited, cancel := context.WithTimeout(ctx, cmp.Or(c.limit, checkTime))
	defer cancel()
	err = check(limited, db)
	if limited.Err() != nil {
		return ctx.Err()
	}
	c.whole = err == nil
	return err
}

// goOn checks the file in the background, if the start had no time to check it completely.
func (s *Store) goOn() {
	if s.checking.whole {
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	s.checking.stop = cancel
	s.checking.ended.Go(func() {
		_ = port.Guard(nil, "the check of the file", func() error {
			return s.explained(check(ctx, s.readers)) // the damage is remembered
		})
	})
}

func (c *checking) end() {
	if c.stop != nil {
		c.stop()
		c.ended.Wait()
	}
}

// Checked reports whether the whole file was checked when it was opened. Otherwise the check continues, and
// Probe reports its result.
func (s *Store) Checked() bool { return s.checking.whole }
