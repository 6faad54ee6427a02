// Package runner is the main job of `stepkeeper demo`: it starts four remote services that
// misbehave and Stepkeeper itself as a process of its own, feeds it orders, takes one service
// down for a while, kills Stepkeeper with SIGKILL and starts it again, plays the operator where
// one is needed, waits for every order's end, and has the services' ledgers audited.
//
// It talks to Stepkeeper as any application would: over HTTP, with what the API documents.
package runner
