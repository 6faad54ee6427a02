// Package runner is the main job of `stepkeeper demo`. It starts four unreliable remote services, and
// Stepkeeper as a separate process. It submits orders, stops one service for a while, kills Stepkeeper with
// SIGKILL and starts it again, and acts as the operator. When every order has ended, it audits the services'
// ledgers.
//
// It uses only the documented HTTP API of Stepkeeper.
package runner
