package services

import (
	"encoding/json"
	"fmt"
)

// Unserved is a country that no carrier serves.
const Unserved = "AQ"

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

func readBook(key string, input []byte) (effect, error) {
	var in struct {
		ShipTo struct {
			Country string `json:"country"`
		} `json:"shipTo"`
	}
	switch err := json.Unmarshal(input, &in); {
	case err != nil, in.ShipTo.Country == "":
		return effect{}, unprocessable("bad-input", "a booking needs shipTo with a country")
	case in.ShipTo.Country == Unserved:
		return effect{}, unprocessable("country-not-served", "no carrier goes to %s", Unserved)
	}
	return effect{
		amount: 1, unit: "parcel",
		output: fmt.Sprintf(`{"shipmentId":%q}`, reference("P", key)),
		parts:  []part{{"parcels", 1}},
	}, nil
}
