// Package shop writes the orders of a realistic shop, and computes the expected calls of the remote services
// from an order.
package shop
