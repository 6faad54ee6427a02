package port

import (
	"fmt"
	"strconv"
	"strings"
)

// Position is the place of a record in a listing of a store that numbers its records.
type Position struct {
	Created int64 // time of the record, in milliseconds since the epoch
	Number  int64
}

// Cursor returns the form of a position in Page.Next.
func (p Position) Cursor() string {
	return strconv.FormatInt(p.Created, 36) + "." + strconv.FormatInt(p.Number, 36)
}

// CheckQuery returns an error for a limit that is out of its bounds, or for a cursor that Position.Cursor cannot have
// returned. It returns the position of the cursor.
func CheckQuery(q *Query) (p Position, err error) {
	if q.Limit < 1 || q.Limit > 1000 {
		return p, fmt.Errorf("listing with limit %d: give 1 to 1000", q.Limit)
	}
	if q.Cursor == "" {
		return p, nil
	}
	created, number, _ := strings.Cut(q.Cursor, ".")
	p.Created, err = strconv.ParseInt(created, 36, 64)
	if err == nil {
		p.Number, err = strconv.ParseInt(number, 36, 64)
	}
	if err != nil {
		return p, fmt.Errorf("%w: %.40q is not one of a page of this store; start again without a cursor", ErrCursor,
			q.Cursor)
	}
	return p, nil
}
