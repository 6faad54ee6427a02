package message

import "embed"

// Schemas holds the JSON Schemas (draft 2020-12) of the messages, such as schema/reply.json. The messages
// between tasks have no schema, because only the Scheduler writes and reads them.
//
//go:embed schema/*.json
var Schemas embed.FS
