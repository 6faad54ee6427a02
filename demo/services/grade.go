package services

import (
	"context"
	"database/sql"
	"fmt"
	"net/http"
)

type grade int

const (
	fenced grade = iota
	idempotent
	plain
)

// refusal is an error response. If perform or reverse returns a refusal, the call has had no effect.
type refusal struct {
	status  int
	code    string
	message string
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

func unprocessable(code, format string, args ...any) *refusal {
	return &refusal{http.StatusUnprocessableEntity, code, fmt.Sprintf(format, args...)}
}

type service struct {
	name    string
	do      string
	undo    string // "" if the service has no undo
	grade   grade
	read    func(key string, input []byte) (effect, error)
	opening func(account string) int64
	lacking func(account string) *refusal
}

func (s *service) perform(ctx context.Context, l *ledger, key string, input []byte) (string, error) {
	output := ""
	err := l.change(ctx, func(tx *sql.Tx) error {
		h, err := historyOf(ctx, tx, key)
		if err != nil {
			return err
		}
		if s.grade == fenced && (h.fences > 0 || h.undos > 0) {
			return &refusal{
				http.StatusConflict, "fenced",
				"this key was undone before; it cannot be used again",
			}
		}
		// A fenced or idempotent service never executes a key twice. It returns the output of the first call,
		// even if the effect was undone.
		if s.grade != plain && h.dos > 0 {
			output = h.output
			return nil
		}
		e, err := s.read(key, input)
		if err != nil {
			return err
		}
		output = e.output
		return l.record(ctx, tx, kindDo, key, e)
	})
	return output, err
}

func (s *service) reverse(ctx context.Context, l *ledger, key string) error {
	return l.change(ctx, func(tx *sql.Tx) error {
		h, err := historyOf(ctx, tx, key)
		if err != nil {
			return err
		}
		if !h.open() {
			switch {
			case s.grade == plain:
				return &refusal{http.StatusConflict, "nothing-to-cancel", "nothing is open under this key"}
			case s.grade == fenced && h.dos == 0 && h.fences == 0:
				return l.record(ctx, tx, kindFence, key, effect{unit: "none", output: "{}"})
			}
			return nil
		}
		return l.reverse(ctx, tx, h.lastDo)
	})
}

// happened reports whether the effect of an operation stands. It also returns the output of the operation.
func (s *service) happened(ctx context.Context, l *ledger, operation, key string) (bool, string, error) {
	var h history
	err := l.change(ctx, func(tx *sql.Tx) (err error) {
		h, err = historyOf(ctx, tx, key)
		return err
	})
	if operation == s.undo {
		return h.undos > 0 && !h.open() || h.fences > 0, "{}", err
	}
	return h.open(), h.output, err
}
