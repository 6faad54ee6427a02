package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// checkTime limits the time for which Open waits for the check of the file.
const checkTime = 5 * time.Second

// checking holds the state of the check of the database file. If it takes longer than the limit, Open does not wait
// for its end, and the file is checked again in the background.
type checking struct {
	limit time.Duration
	whole bool // true if no check is left for the background; set before the file is writable
	stop  context.CancelFunc
	ended sync.WaitGroup
}

// check searches the whole file for damage, including every entry of every index.
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

// atStart checks the file before Open opens the file for writing. If the time limit ends the check, atStart
// returns nil.
func (c *checking) atStart(ctx context.Context, source string) error {
	db, err := sql.Open("sqlite", source)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }() // the connection was only read, so Close cannot lose data
	limited, cancel := context.WithTimeout(ctx, cmp.Or(c.limit, checkTime))
	defer cancel()
	err = check(limited, db)
	if limited.Err() != nil {
		return ctx.Err()
	}
	c.whole = err == nil
	return err
}

// goOn checks the file, unless atStart has already checked the whole file.
func (s *Store) goOn(ctx context.Context) error {
	if s.checking.whole {
		return nil
	}
	return s.explained(check(ctx, s.readers)) // explained remembers the damage
}

func (c *checking) end() {
	if c.stop != nil {
		c.stop()
		c.ended.Wait()
	}
}

// Checked reports whether Open has checked the whole file. Otherwise the check continues after Open, and
// Probe returns the damage that the check finds.
func (s *Store) Checked() bool { return s.checking.whole }
