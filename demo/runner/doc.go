// Package runner implements `stepkeeper demo`. It starts four unreliable remote services, and Stepkeeper as a
// separate process.
//
// The runner submits orders, stops one service for a while, and acts as the operator. It also kills
// Stepkeeper with SIGKILL and starts it again. After all orders have ended, the runner audits the ledgers of
// the services.
//
// The runner uses only the documented HTTP API of Stepkeeper.
package runner
