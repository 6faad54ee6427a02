// Package cost computes the cost of an order on AWS, from units that `make cost` measures and published
// prices. Prices are those of us-east-1, without free tiers and discounts.
package cost
