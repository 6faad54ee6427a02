package services

import (
	"fmt"
	"net/http"
)

type grade int

const (
	fenced grade = iota
	idempotent
	plain
)

// refusal is an error response. If a book returns a refusal, the call has had no effect.
type refusal struct {
	status  int
	code    string
	message string
}

func (r *refusal) Error() string { return r.code + ": " + r.message }

func unprocessable(code, format string, args ...any) *refusal {
	return &refusal{http.StatusUnprocessableEntity, code, fmt.Sprintf(format, args...)}
}

func conflict(code, message string) *refusal { return &refusal{http.StatusConflict, code, message} }

// service describes what one service does.
type service struct {
	name    string
	do      string
	undo    string // "" if the service has no undo
	grade   grade
	read    func(key string, input []byte) (row, error) // function that returns the effect of a call
	opening func(account string) int64                  // function that returns the opening balance of an account
	lacking func(account string) *refusal
}

// all lists the services in the sequence in which the demo's workflow calls them.
func all() []*service {
	return []*service{inventory(), payment(), shipping(), notification()}
}

func (s *service) operations() []string {
	if s.undo == "" {
		return []string{s.do}
	}
	return []string{s.do, s.undo}
}
