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
	Per     float64 `json:"per"` // number of units that Dollars pays for
	Source  string  `json:"source"`
	Date    string  `json:"date"` // date of the source
	Note    string  `json:"note,omitempty"`
}

// Of returns the price of that many units in dollars.
func (p Price) Of(units float64) float64 { return p.Dollars * units / p.Per }

// Names of prices.
const (
	DynamoWrite = "dynamodb-write"
	DynamoRead  = "dynamodb-read"
	// Provisioned capacity, by the hour.
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

// Peer is the cost of the same saga with another vendor's service.
type Peer struct {
	Name       string  `json:"name"`
	Dollars    float64 `json:"dollars_per_million"`
	Upper      float64 `json:"upper,omitempty"` // upper end of a range; absent if the price is not a range
	Arithmetic string  `json:"arithmetic"`
	Beside     string  `json:"beside"` // costs that Dollars does not include
	// The same for other numbers of steps: a million sagas cost UnitDollars for each of FixedUnits and of
	// UnitsPerStep × steps, and FurtherUnits more at the upper end of a range.
	UnitDollars  float64 `json:"unit_dollars"`
	FixedUnits   float64 `json:"fixed_units"`
	UnitsPerStep float64 `json:"units_per_step"`
	FurtherUnits float64 `json:"further_units,omitempty"`
	Source       string  `json:"source"`
	Date         string  `json:"date"`
}

// Prices holds all known prices, as of the day when they were checked.
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

// With returns these prices with changes from a file: its region, and prices by name, each with dollars and
// per. The error names the fault of the file.
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
