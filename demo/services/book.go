package services

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

// row is one row of a service's ledger.
type row struct {
	Kind   string    `json:"kind"` // do, undo or fence
	Key    string    `json:"key"`
	Amount int64     `json:"amount"`
	Unit   string    `json:"unit"`
	Output string    `json:"output"` // output of the call as JSON
	Parts  []part    `json:"parts,omitempty"`
	At     time.Time `json:"at"`
}

// part is the quantity that a do takes from one account, and that its undo returns. An account is the stock of a SKU
// or the money of a card.
type part struct {
	Account  string   `json:"account"`
	Quantity int64    `json:"quantity"`
	Balance  int64    `json:"balance"` // balance of the account after the row
	opening  int64    // balance of the account before its first row
	lacking  *refusal // error if the account does not have the quantity
}

// book is what a service has done. It appends each row to the service's ledger.
type book struct {
	*service
	path string // path of the ledger

	mu       sync.Mutex
	ledger   *os.File
	keys     map[string]history
	balances map[string]int64 // by account
}

// history is what a service remembers about a key.
type history struct {
	open   []row  // dos that were not undone, oldest first
	output string // output of the newest do; "" if there was no do
	undone bool   // true after a row of kind undo or fence
}

func openBook(dir string, s *service) (*book, error) {
	b := &book{
		service: s, path: filepath.Join(dir, s.name+".jsonl"), keys: map[string]history{}, balances: map[string]int64{},
	}
	var err error
	b.ledger, err = os.OpenFile(b.path, os.O_CREATE|os.O_EXCL|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create the ledger, which must not exist yet: %w", err)
	}
	return b, nil
}

// perform executes the operation do. It returns the output.
func (b *book) perform(key string, input []byte) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.keys[key]
	switch {
	case b.grade == fenced && h.undone:
		return "", conflict("fenced", "this key was undone before; it cannot be used again")
	case b.grade != plain && h.output != "":
		// A fenced or idempotent service never executes a key twice. It returns the output of the first call,
		// even if the effect was undone.
		return h.output, nil
	}
	r, err := b.read(key, readInput(input))
	if err != nil {
		return "", err
	}
	r.Kind = "do"
	r.Key = key
	if err := b.add(r, -1); err != nil {
		return "", err
	}
	h.open = append(h.open, r)
	h.output = r.Output
	b.keys[key] = h
	return r.Output, nil
}

// reverse executes the operation undo.
func (b *book) reverse(key string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.keys[key]
	r := row{Kind: "fence", Key: key, Unit: "none"}
	switch last := len(h.open) - 1; {
	case last >= 0:
		r = h.open[last]
		r.Kind = "undo"
		r.Parts = slices.Clone(r.Parts)
		h.open = h.open[:last]
	case b.grade == plain:
		return conflict("nothing-to-cancel", "nothing is open under this key")
	case b.grade == idempotent || h.undone:
		return nil
	}
	r.Output = "{}"
	if err := b.add(r, 1); err != nil {
		return err
	}
	h.undone = true
	b.keys[key] = h
	return nil
}

// happened reports whether the effect of an operation stands. It also returns the output of the operation.
func (b *book) happened(operation, key string) (bool, string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	h := b.keys[key]
	if operation == b.undo {
		return h.undone && len(h.open) == 0, "{}"
	}
	return len(h.open) > 0, h.output
}

// add moves the accounts of a row's parts in the direction of sign, and appends the row to the ledger. If it returns
// an error, nothing has changed.
func (b *book) add(r row, sign int64) error {
	after := map[string]int64{}
	for i := range r.Parts {
		p := &r.Parts[i]
		balance, known := after[p.Account]
		if !known {
			balance, known = b.balances[p.Account]
		}
		if !known {
			balance = p.opening
		}
		p.Balance = balance + sign*p.Quantity
		if p.Balance < 0 {
			return p.lacking
		}
		after[p.Account] = p.Balance
	}
	r.At = time.Now().UTC()
	line, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if _, err := b.ledger.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("write the row %s of %s: %w", r.Kind, r.Key, err)
	}
	for account, balance := range after {
		b.balances[account] = balance
	}
	return nil
}
