package mutants

// Unsimulated are mutants that the simulator cannot notice, each with the argument. Their own tests
// notice them; what stands neither here nor is noticed by `make mutants-simulated` wants another
// world, or more seeds.
var Unsimulated = map[string]string{
	"P16-overdue-of-a-stale-attempt-counts":   madeOfTheTask,
	"P16-overdue-before-its-time":             madeOfTheTask,
	"P16-undo-overdue-before-its-time":        madeOfTheTask,
	"I17-supervisor-takes-up-a-finished-step": madeOfTheTask,
	"P23a-deadline-of-an-earlier-run":         madeOfTheTask,
	"P19-past-no-return-undoes-all-the-same":  "Validation lets only steps that stop run beside or behind a point of no return (P22), and a step that stops never comes to this condition. It is the second guard.",
	"P27-restart-takes-one-page":              "A page holds 200 tasks; a simulated run has at most a dozen.",
	"P8-stale-load-is-not-loaded-again":       "The simulated store is read strongly consistent and without a cache, so that a message ahead of the document is ahead of the store as well, and loading again shows the same.",
	"I5-sweep-begins-at-the-same-shard":       "It costs fairness between shards while the pages of a sweep do not suffice, for which a simulated run has too few tasks.",
	"I5-a-bad-neighbour-ends-the-sweep":       "Every document in the simulated store can be read: what the real actors write is decoded at once, and is a violation where it cannot be.",
	"P25-late-retry-is-made":                  ownRetries,
	"P24-no-check-before-an-own-retry":        ownRetries,
	"P31-plain-own-retry-without-proof":       ownRetries,
	"I13-a-shutdown-is-a-failure":             "A shutdown ends a context, in real time; a simulated process dies or lives.",
	"P31-plain-without-a-ledger":              "Each simulated agent has a ledger; one without is a mistake in wiring, which is answered before anything is called.",
}

const (
	madeOfTheTask = "The Supervisor makes this event of the very task that it decides on, so that the condition is always true there. It guards the core against another caller."
	ownRetries    = "Own retries of an agent wait in real time, in the retry library; simulated agents try once."
)
