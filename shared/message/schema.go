package message

import "embed"

// Schemas holds the JSON Schemas (draft 2020-12) of all messages except Child, which only the Scheduler
// writes and reads. The files are schema/submit-order.json, request.json, reply.json, control.json,
// status.json and quarantined.json.
//
//go:embed schema/*.json
var Schemas embed.FS
