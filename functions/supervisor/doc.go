// Package supervisor is the pattern's Supervisor: on a schedule it finds what is overdue by the
// index, a hint, and hands back, asks, alerts. It claims nothing and sends no request (P16), it
// knows no business, and it never takes a task that is not at rest out of the index (P9). Every
// commit leaves a due time, so that a crash anywhere is healed by the next sweep. Several at once
// do no harm: leases on shards save them work, the version keeps them correct.
package supervisor
