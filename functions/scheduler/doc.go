// Package scheduler is the pattern's Scheduler: it takes submissions, replies, wakes and commands, decodes
// them, runs the loop of package engine on their tasks, and acknowledges what is stored and sent in whole
// (docs/protocol.md, section 5). It keeps nothing but how long the agents' queues are.
package scheduler
