package services

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// Prefixes of cards that the payment service refuses.
const (
	declinedCard = "tok_declined" // the bank declines the card
	expiredCard  = "tok_expired"
	emptyCard    = "tok_empty" // the card has no money left
)

// cardLimit is the limit of a card for each currency, in minor units.
const cardLimit = 100_000_000

var currency = regexp.MustCompile(`^[A-Z]{3}$`)

func payment() *service {
	return &service{
		name: Payment, do: "charge", undo: "refund", grade: idempotent,
		read: readCharge,
		opening: func(account string) int64 {
			if strings.HasPrefix(account, emptyCard) {
				return 0
			}
			return cardLimit
		},
		lacking: func(string) *refusal {
			return unprocessable("insufficient-funds", "the card does not cover the amount")
		},
	}
}

func readCharge(key string, input []byte) (row, error) {
	var in struct {
		Card     string `json:"card"`
		Amount   int64  `json:"amount"`
		Currency string `json:"currency"`
	}
	switch err := json.Unmarshal(input, &in); {
	case err != nil, in.Card == "", in.Amount <= 0, !currency.MatchString(in.Currency):
		return row{}, unprocessable("bad-input",
			"a charge needs a card, a positive amount in whole minor units and a currency of three letters")
	case strings.HasPrefix(in.Card, declinedCard):
		return row{}, unprocessable("card-declined", "the bank declined the card")
	case strings.HasPrefix(in.Card, expiredCard):
		return row{}, unprocessable("card-expired", "the card has expired")
	}
	return row{
		Amount: in.Amount, Unit: in.Currency,
		Output: fmt.Sprintf(`{"chargeId":%q,"amount":%d,"currency":%q}`, reference("C", key), in.Amount,
			in.Currency),
		Parts: []part{{Account: in.Card + "/" + in.Currency, Quantity: in.Amount}},
	}, nil
}
