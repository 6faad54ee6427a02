// Package cost says what an order costs on AWS: units measured by `make cost`, prices published by
// those who charge them, and the arithmetic between the two. Prices are those of us-east-1, without
// free tiers and discounts.
package cost
