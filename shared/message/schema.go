package message

import "embed"

// Schemas holds the JSON Schemas (draft 2020-12) of the messages, such as schema/reply.json. Child has no
// schema, because only the Scheduler writes and reads Child messages.
//
//go:embed schema/*.json
var Schemas embed.FS
