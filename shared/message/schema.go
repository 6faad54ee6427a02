package message

import "embed"

// Schemas holds the JSON Schemas (draft 2020-12) of all envelopes, for applications and agents in
// any language: schema/submit-order.json, request.json, reply.json, control.json, status.json,
// quarantined.json.
//
//go:embed schema/*.json
var Schemas embed.FS
