package services

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// Prefixes of SKUs with special behaviour.
const (
	soldOut       = "SOLDOUT-" // prefix of SKUs that are never in stock
	limited       = "LTD-"     // prefix of SKUs with the small stock LimitedPieces
	LimitedPieces = 25
)

// usualPieces is the stock of a SKU that has neither of the prefixes soldOut and limited.
const usualPieces = 1_000_000

type line struct {
	SKU      string `json:"sku"`
	Quantity int64  `json:"quantity"`
}

func inventory() *service {
	return &service{
		name: Inventory, do: "reserve", undo: "release", grade: fenced,
		read: readReserve,
		opening: func(sku string) int64 {
			switch {
			case strings.HasPrefix(sku, soldOut):
				return 0
			case strings.HasPrefix(sku, limited):
				return LimitedPieces
			}
			return usualPieces
		},
		lacking: func(sku string) *refusal {
			return unprocessable("out-of-stock", "not enough pieces of %.40q on stock", sku)
		},
	}
}

func readReserve(key string, input []byte) (row, error) {
	var in struct {
		Items []line `json:"items"`
	}
	if err := json.Unmarshal(input, &in); err != nil || len(in.Items) == 0 {
		return row{}, unprocessable("bad-input", "a reservation needs items, each with sku and quantity")
	}
	r := row{Unit: "piece", Output: fmt.Sprintf(`{"reservationId":%q}`, reference("R", key))}
	for _, l := range in.Items {
		if l.SKU == "" || l.Quantity < 1 || l.Quantity > usualPieces {
			return row{}, unprocessable("bad-input", "an item needs a sku and a quantity from 1 to %d",
				usualPieces)
		}
		r.Amount += l.Quantity
		r.Parts = append(r.Parts, part{Account: l.SKU, Quantity: l.Quantity})
	}
	return r, nil
}

func reference(prefix, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s-%X", prefix, sum[:5])
}
