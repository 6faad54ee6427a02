package cost

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Price is one published price.
type Price struct {
	What    string  `json:"what"`
	Dollars float64 `json:"dollars"`
	Per     float64 `json:"per"` // number of units for this amount of Dollars
	Source  string  `json:"source"`
	Date    string  `json:"date"` // publication date of the source
	Note    string  `json:"note,omitempty"`
}

// Of returns the price of the given number of units in dollars.
func (p Price) Of(units float64) float64 { return p.Dollars * units / p.Per }

// Names of prices.
const (
	DynamoWrite = "dynamodb-write"
	DynamoRead  = "dynamodb-read"
	// DynamoWriteHour and DynamoReadHour are prices per hour of one unit of provisioned capacity.
	DynamoWriteHour = "dynamodb-write-hour"
	DynamoReadHour  = "dynamodb-read-hour"
	DynamoStorage   = "dynamodb-storage"
	DynamoRecovery  = "dynamodb-recovery"
	SQSRequest      = "sqs-request"
	SNSPublish      = "sns-publish"
	LambdaRequest   = "lambda-request"
	LambdaTime      = "lambda-gb-second"
	LogsGB          = "logs-gb"
	Alarm           = "alarm"
	Metric          = "metric"
	Key             = "kms-key"
	Schedule        = "schedule"
	Event           = "event"
)

// Peer is the cost of a comparable order on another vendor's service.
type Peer struct {
	Name       string  `json:"name"`
	Dollars    float64 `json:"dollars_per_million"`
	Upper      float64 `json:"upper,omitempty"` // upper end of a range; absent if the price is not a range
	Arithmetic string  `json:"arithmetic"`
	Beside     string  `json:"beside"` // description of the costs that Dollars does not include
	// The next four fields give the cost for other numbers of steps. A million orders cost UnitDollars ×
	// (FixedUnits + UnitsPerStep × steps). The upper end of a range adds FurtherUnits to the sum in
	// parentheses.
	UnitDollars  float64 `json:"unit_dollars"`
	FixedUnits   float64 `json:"fixed_units"`
	UnitsPerStep float64 `json:"units_per_step"`
	FurtherUnits float64 `json:"further_units,omitempty"`
	Source       string  `json:"source"`
	Date         string  `json:"date"`
}

// Prices holds all known prices. Checked is the day of the last comparison with the sources.
type Prices struct {
	Region  string           `json:"region"`
	Checked string           `json:"checked"`
	Note    string           `json:"note"`
	Prices  map[string]Price `json:"prices"`
	Peers   []Peer           `json:"peers"`
}

//go:embed prices.json
var pricesFile []byte

// Published returns the prices. It panics if the embedded file is damaged.
func Published() (p Prices) {
	if err := json.Unmarshal(pricesFile, &p); err != nil {
		panic(fmt.Errorf("prices: %w", err))
	}
	return p
}

// With returns a copy of the prices with the changes from a JSON file. The file can name a region and replace
// prices by name. With returns an error if the file cannot be parsed, names an unknown price, or contains a
// value out of bounds.
func (p Prices) With(file []byte) (Prices, error) {
	var own struct {
		Region string           `json:"region"`
		Prices map[string]Price `json:"prices"`
	}
	d := json.NewDecoder(bytes.NewReader(file))
	d.DisallowUnknownFields()
	if err := d.Decode(&own); err != nil {
		return p,
			fmt.Errorf(
				`prices: %w; give {"region": "...", "prices": {"dynamodb-write": {"dollars": 0.7, "per": 1000000}}}`, err)
	}
	all := maps.Clone(p.Prices)
	for name, price := range own.Prices {
		published, known := all[name]
		if !known {
			return p, fmt.Errorf("prices: there is no price %q; there are %s", name,
				strings.Join(slices.Sorted(maps.Keys(all)), ", "))
		}
		if price.Dollars < 0 || price.Per <= 0 {
			return p,
				fmt.Errorf(
					"prices: %s is %v dollars per %v units; give 0 or more dollars, and more than 0 units",
					name, price.Dollars, price.Per)
		}
		published.Dollars = price.Dollars
		published.Per = price.Per
		published.Source = price.Source
		published.Date = price.Date
		published.Note = price.Note
		all[name] = published
	}
	p.Prices = all
	if own.Region != "" {
		p.Region = own.Region
	}
	return p, nil
}
