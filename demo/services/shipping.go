package services

import (
	"encoding/json"
	"fmt"
)

// unserved is a country that no carrier serves.
const unserved = "AQ"

// parcelsADay is the capacity of the carrier. No demo sends so many parcels.
const parcelsADay = 1_000_000_000

func shipping() *service {
	return &service{
		name: Shipping, do: "book", undo: "cancel", grade: plain,
		read:    readBook,
		opening: func(string) int64 { return parcelsADay },
		lacking: func(string) *refusal { return unprocessable("no-room", "the carrier is full") },
	}
}

func readBook(key string, input []byte) (row, error) {
	var in struct {
		ShipTo struct {
			Country string `json:"country"`
		} `json:"shipTo"`
	}
	switch err := json.Unmarshal(input, &in); {
	case err != nil, in.ShipTo.Country == "":
		return row{}, unprocessable("bad-input", "a booking needs shipTo with a country")
	case in.ShipTo.Country == unserved:
		return row{}, unprocessable("country-not-served", "no carrier goes to %s", unserved)
	}
	return row{
		Amount: 1, Unit: "parcel",
		Output: fmt.Sprintf(`{"shipmentId":%q}`, reference("P", key)),
		Parts:  []part{{Account: "parcels", Quantity: 1}},
	}, nil
}
