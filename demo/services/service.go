package services

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
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
	name  string
	do    string
	undo  string // "" if the service has no undo
	grade grade
	read  func(key string, in input) (row, error) // function that returns the effect of a call
}

// all lists the services in the sequence in which the demo's workflow calls them.
func all() []*service {
	return []*service{
		{Inventory, "reserve", "release", fenced, reserve},
		{Payment, "charge", "refund", idempotent, charge},
		{Shipping, "book", "cancel", plain, ship},
		{Notification, "confirm", "", idempotent, confirm},
	}
}

func (s *service) operations() []string {
	if s.undo == "" {
		return []string{s.do}
	}
	return []string{s.do, s.undo}
}

// input holds the members of the inputs of all operations.
type input struct {
	Items []struct {
		SKU      string
		Quantity int64
	}
	Card     string
	Amount   int64
	Currency string
	ShipTo   struct{ Country string }
}

// readInput reads the members that are there. If the input is damaged, they are missing.
func readInput(text []byte) (in input) {
	if json.Unmarshal(text, &in) != nil {
		return input{}
	}
	return in
}

// Prefixes of SKUs with special behaviour.
const (
	soldOut       = "SOLDOUT-" // prefix of SKUs that are never in stock
	limited       = "LTD-"     // prefix of SKUs with the small stock LimitedPieces
	LimitedPieces = 25
)

// usualPieces is the stock of a SKU that has neither of the prefixes soldOut and limited.
const usualPieces = 1_000_000

func reserve(key string, in input) (row, error) {
	if len(in.Items) == 0 {
		return row{}, unprocessable("bad-input", "a reservation needs items, each with sku and quantity")
	}
	r := row{Unit: "piece", Output: fmt.Sprintf(`{"reservationId":%q}`, reference("R", key))}
	for _, l := range in.Items {
		if l.SKU == "" || l.Quantity < 1 || l.Quantity > usualPieces {
			return row{}, unprocessable("bad-input", "an item needs a sku and a quantity from 1 to %d",
				usualPieces)
		}
		p := part{
			Account: l.SKU, Quantity: l.Quantity, opening: usualPieces,
			lacking: unprocessable("out-of-stock", "not enough pieces of %.40q on stock", l.SKU),
		}
		switch {
		case strings.HasPrefix(l.SKU, soldOut):
			p.opening = 0
		case strings.HasPrefix(l.SKU, limited):
			p.opening = LimitedPieces
		}
		r.Amount += l.Quantity
		r.Parts = append(r.Parts, p)
	}
	return r, nil
}

// Prefixes of cards that the payment service refuses.
const (
	declinedCard = "tok_declined" // the bank declines the card
	expiredCard  = "tok_expired"
	emptyCard    = "tok_empty" // the card has no money left
)

// cardLimit is the limit of a card for each currency, in minor units.
const cardLimit = 100_000_000

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func charge(key string, in input) (row, error) {
	switch {
	case in.Card == "", in.Amount <= 0, !currency.MatchString(in.Currency):
		return row{}, unprocessable("bad-input",
			"a charge needs a card, a positive amount in whole minor units and a currency of three letters")
	case strings.HasPrefix(in.Card, declinedCard):
		return row{}, unprocessable("card-declined", "the bank declined the card")
	case strings.HasPrefix(in.Card, expiredCard):
		return row{}, unprocessable("card-expired", "the card has expired")
	}
	p := part{
		Account: in.Card + "/" + in.Currency, Quantity: in.Amount, opening: cardLimit,
		lacking: unprocessable("insufficient-funds", "the card does not cover the amount"),
	}
	if strings.HasPrefix(in.Card, emptyCard) {
		p.opening = 0
	}
	return row{
		Amount: in.Amount, Unit: in.Currency, Parts: []part{p},
		Output: fmt.Sprintf(`{"chargeId":%q,"amount":%d,"currency":%q}`, reference("C", key), in.Amount,
			in.Currency),
	}, nil
}

// unserved is a country that no carrier serves.
const unserved = "AQ"

func ship(key string, in input) (row, error) {
	switch in.ShipTo.Country {
	case "":
		return row{}, unprocessable("bad-input", "a booking needs shipTo with a country")
	case unserved:
		return row{}, unprocessable("country-not-served", "no carrier goes to %s", unserved)
	}
	return row{Amount: 1, Unit: "parcel", Output: fmt.Sprintf(`{"shipmentId":%q}`, reference("P", key))}, nil
}

// confirm accepts any input, because no step may fail for good after the point of no return.
func confirm(key string, _ input) (row, error) {
	return row{Amount: 1, Unit: "message", Output: fmt.Sprintf(`{"messageId":%q}`, reference("M", key))}, nil
}

func reference(prefix, key string) string {
	sum := sha256.Sum256([]byte(key))
	return fmt.Sprintf("%s-%X", prefix, sum[:5])
}
