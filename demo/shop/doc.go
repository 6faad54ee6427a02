// Package shop generates the orders of a realistic shop. It also computes the effects that each order should
// have at the remote services.
package shop
