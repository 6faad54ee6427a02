// Package scheduler is the pattern's Scheduler: it takes submissions, replies, wakes and commands,
// lets the core decide, stores what it decided and then sends the requests. Per batch it loads,
// decides, commits, sends all effects, settles what it told itself, and only then reports the
// messages as deletable (protocol.md, section 5). It has no authority of its own: any number of
// instances may run at once, the version in the store decides (P8).
//
// A crash before the commit changes nothing; one after it is healed by the redelivery of the same
// message, which emits the same effects again (P12); a message that comes no more is healed by the
// Supervisor (P9).
package scheduler
