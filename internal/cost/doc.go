// Package cost computes the cost of an order on AWS. It multiplies published prices by the units that `make
// cost` measures. The prices are for us-east-1, without free tiers and discounts.
package cost
