// Package examples holds the workflows of this folder. `stepkeeper dev --example=NAME` runs one example.
package examples

import "embed"

// Files holds the workflows and the order.json of each example. outputs.json lists what the operations of an example
// return, one output for each key: {"agent.operation": [first, second, …]}. The last one stands for all that follow.
//
//go:embed */order.json */outputs.json
//go:embed backup/backup.yaml basket/basket.yaml carriers/carriers.yaml either-or/either-or.yaml
//go:embed expense/expense.yaml food/food.yaml invoice/invoice.yaml job/job.yaml kyc/kyc.yaml
//go:embed made-to-order/made-to-order.yaml nightly/*.yaml one-at-a-time/one-at-a-time.yaml order/*.yaml
//go:embed pages/pages.yaml papers/papers.yaml pipeline/pipeline.yaml quorum/*.yaml quote/quote.yaml
//go:embed reminders/reminders.yaml shipments/*.yaml sign-off/sign-off.yaml signup/signup.yaml
//go:embed subscription/subscription.yaml swarm/swarm.yaml transfer/transfer.yaml trial/trial.yaml
//go:embed trip/trip.yaml visible/visible.yaml weather/weather.yaml
var Files embed.FS
