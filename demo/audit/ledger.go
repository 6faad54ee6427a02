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
