// Package examples holds the workflows of this folder. `stepkeeper dev --example=NAME` runs one example.
package examples

import "embed"

// Files holds the workflows and the order.json of each example.
//
//go:embed carriers/carriers.yaml either-or/either-or.yaml expense/expense.yaml kyc/kyc.yaml made-to-order/made-to-order.yaml nightly/*.yaml order/*.yaml pages/pages.yaml reminders/reminders.yaml shipments/*.yaml subscription/subscription.yaml timer/timer.yaml transfer/transfer.yaml trial/trial.yaml */order.json
var Files embed.FS
