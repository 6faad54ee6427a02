// Package supervisor is the pattern's Supervisor: on a schedule it finds what is overdue by the
// index, a hint, makes events of it and runs the loop of package engine: it hands back, asks, gives up
// and alerts, and counts each by its name. It claims nothing and sends no request (P16), it knows no
// business, and it never takes a task that is not at rest out of the index (P9). Several at once do no
// harm: leases on shards save them work, the version keeps them correct.
package supervisor
