// Package cost computes the cost of an order on AWS from published prices and the units that `make cost`
// measures. The prices are those of us-east-1, without free tiers and discounts.
package cost
