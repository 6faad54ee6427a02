package audit

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// Outcome is the outcome of an order as the sender sees it.
type Outcome string

// The outcomes of an order.
const (
	Processed  Outcome = "processed"
	Undone     Outcome = "undone"
	Refused    Outcome = "refused"    // never acknowledged; the sender got the reason
	Error      Outcome = "error"      // stopped, and waits for the operator
	Unfinished Outcome = "unfinished" // acknowledged, but still running when the audit began
	Lost       Outcome = "lost"       // acknowledged, but unknown to Stepkeeper when the audit began
	// Running means that the run ended before the order, for a reason of its own. It is no violation.
	Running Outcome = "running"
)

// Order describes the expected effects of one order. All fields except ID and Outcome come from the content
// of the order.
type Order struct {
	ID       string
	Outcome  Outcome
	Physical bool   // true if the order contains something to ship
	Units    int64  // total quantity of all items
	Amount   int64  // amount to charge, in minor units
	Currency string // currency code of three letters
}

// Violation is a violation of a rule of the audit.
type Violation struct {
	Order    string `json:"order"` // ID of the order, or the key or account that breaks a rule of the ledgers
	Service  string `json:"service"`
	What     string `json:"what"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// String returns the violation as one line.
func (v Violation) String() string {
	where := v.Service
	if where == "" {
		where = "engine"
	}
	return v.Order + ", " + where + ": " + v.What + "; expected " + v.Expected + ", found " + v.Found
}

// Result is the result of an audit. The audit has succeeded if there are no violations.
type Result struct {
	Orders     int // number of audited orders
	Effects    int // number of rows of kind do
	Reversals  int // number of rows of kind undo
	Violations []Violation
}

// row is one line of a ledger. It has all members of the services' rows, so that no change of them passes unseen.
type row struct {
	Kind, Key, Unit, Output, At string
	Amount                      int64
	Parts                       []part
}

// part is a quantity of an account. An account is the stock of a SKU or the money of a card.
type part struct {
	Account           string
	Quantity, Balance int64
}

// readLedger returns the rows of a ledger, oldest first.
func readLedger(path string) (rows []row, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read ledger: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := json.NewDecoder(bufio.NewReader(file))
	lines.DisallowUnknownFields()
	for {
		var r row
		switch err := lines.Decode(&r); {
		case errors.Is(err, io.EOF):
			return rows, nil
		case err != nil:
			return nil, fmt.Errorf("read ledger %s, row %d: %w", path, len(rows)+1, err)
		}
		rows = append(rows, r)
	}
}

// orderOf returns the order of an idempotency key. For a child order <order>~<step>~<index> it is the order that the
// child belongs to. It returns false if the key does not have the form <order>/<run>/<step>.
func orderOf(key string) (order string, ok bool) {
	parts := strings.Split(key, "/")
	if len(parts) != 3 || parts[0] == "" || parts[1] == "" || parts[2] == "" {
		return "", false
	}
	order, _, _ = strings.Cut(parts[0], "~")
	return order, order != ""
}
