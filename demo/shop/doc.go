// Package shop writes the orders of a shop of this world, and reads from an order what the remote
// services should be asked for.
package shop
