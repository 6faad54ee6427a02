package mutants

// Unsimulated are mutants that the simulator cannot notice, each with the argument. Their own tests
// notice them; what stands neither here nor is noticed by `make mutants-simulated` wants another
// world, a rule to be held to, or a tape (verify/mutants/simulated/testdata).
var Unsimulated = map[string]string{
	"P16-overdue-of-a-stale-attempt-counts":         madeOfTheTask,
	"P16-overdue-before-its-time":                   madeOfTheTask,
	"P16-undo-overdue-before-its-time":              madeOfTheTask,
	"I17-supervisor-takes-up-a-finished-step":       madeOfTheTask,
	"P23a-deadline-of-an-earlier-run":               madeOfTheTask,
	"P27-restart-takes-one-page":                    "A page holds 200 tasks; a simulated run has at most a dozen.",
	"P8-stale-load-is-not-loaded-again":             "The simulated store is read strongly consistent and without a cache, so that a message ahead of the document is ahead of the store as well, and loading again shows the same.",
	"I5-sweep-begins-at-the-same-shard":             "It costs fairness between shards while the pages of a sweep do not suffice, for which a simulated run has too few tasks.",
	"I5-a-bad-document-ends-the-sweep":              "Every document in the simulated store can be read: what the real actors write is decoded at once, and is a violation where it cannot be.",
	"P25-late-retry-is-made":                        ownRetries,
	"P24-no-check-before-an-own-retry":              ownRetries,
	"P31-plain-own-retry-without-proof":             ownRetries,
	"I13-a-shutdown-is-a-failure":                   "A shutdown ends a context, in real time; a simulated process dies or lives.",
	"P31-a-slow-ledger-leaves-doubt":                realTime,
	"P31-called-when-the-time-is-over":              realTime,
	"P31-the-ledger-takes-the-time-of-the-call":     realTime,
	"P8-cache-keeps-what-was-not-stored":            noCache,
	"P8-cache-keeps-an-overtaken-load":              noCache,
	"P8-cache-lets-an-older-version-back":           noCache,
	"P8-cache-keeps-one-of-two-commits":             noCache,
	"P12-definition-of-other-bytes-is-stored":       "The Scheduler puts a definition under the hash that it was compiled with, so that the condition is always false there. It guards the stores against another caller.",
	"P8-record-of-another-version-is-believed":      "The simulated store shows what was written, or nothing: never a document under the version or the ID of another one. It guards against a damaged row.",
	"P28-document-of-any-size-is-sent":              "No decision leads to a document over the limit, near which simulated tasks come; what the store says to one that is too large is played, as item-too-large.",
	"I19-refusal-that-was-not-sent-is-dropped":      noBadSubmission,
	"I19-order-that-is-too-large-is-not-reported":   noBadSubmission,
	"I19-order-that-is-too-large-is-not-kept":       noBadSubmission,
	"I19-outage-is-an-unknown-reply-to":             noLookUp,
	"I19-outage-refuses-an-order":                   noLookUp,
	"P32-missing-queue-stops-handing-back":          noLookUp,
	"P34-spread-adds-nothing":                       freeShare,
	"P34-spread-is-the-same-for-all":                freeShare,
	"P33-wait-with-an-agent-is-sound":               "No decision leads to such a document. It guards against one that was damaged, or written by other code.",
	"P13-answers-stand-at-other-places":             "The simulated edge submits one order at a time.",
	"P14-accepted-order-is-refused-later":           "The model decides on what the handling has read: of an order that it did not look for, it expects what the handling does.",
	"P14-expired-order-is-refused-for-its-deadline": "Both are refusals; the code of a refusal is no matter of the model.",
	"P14-priority-is-taken-in-silence":              "No simulated order has a priority.",
	"P8-message-ahead-of-the-document-is-silent":    onlySaid,
	"P27-restart-swallows-what-failed":              onlySaid,
	"P27-restart-counts-what-failed":                onlySaid,
	"I5-oldest-overdue-is-the-last":                 onlySaid,
	"P16-lost-commit-of-a-sweep-is-a-fault":         onlySaid,
	"P16-lease-outlives-its-tick":                   noLeaseTTL,
	"P16-lease-lasts-a-whole-tick":                  noLeaseTTL,
	"P31-plain-without-a-ledger":                    "Each simulated agent has a ledger; one without is a mistake in wiring, which is answered before anything is called.",

	"P28-reserve-leaves-a-member-out":       noReserveUsed,
	"P42-code-has-no-reserve":               noReserveUsed,
	"P28-reserve-without-the-proof":         noReserveUsed,
	"P28-workflow-output-takes-the-reserve": "No drawn workflow has an output.",

	// Going on after a failure.
	"P42-code-may-be-empty":                 plainCodes,
	"P42-code-of-any-characters":            plainCodes,
	"P42-resubmit-claims-what-it-undoes":    soundInputs,
	"P42-what-was-attempted-is-not-undone":  soundInputs,
	"P42-output-of-what-failed-is-read":     noFiles,
	"P42-failed-is-read-like-not-failed":    noFiles,
	"P42-failure-of-any-step-is-asked-for":  noFiles,
	"P42-point-of-no-return-goes-on":        noFiles,
	"P42-quiet-time-is-not-reported":        noFiles,
	"P42-goes-on-without-an-undo":           noFiles,
	"P42-answer-goes-on":                    noFiles,
	"P38-an-ask-ignores-the-condition":      noFiles,
	"P38-an-ask-takes-the-name-of-a-step":   noFiles,
	"P38-the-name-of-an-ask-is-not-bounded": noFiles,
	"P38-workflows-may-read-an-ask":         noFiles,
	"P38-expressions-see-the-ask":           "No drawn expression reads an ask, and the reader refuses one that does.",
	"P38-a-move-changes-the-ask":            "The definitions that orders are moved to ask by the same calls.",

	// Agents that make no calls.
	"P45-a-key-counts-each-time":                           noBreaker,
	"P45-a-key-counts-once-for-ever":                       noBreaker,
	"P45-an-open-breaker-hides-refused-credentials":        noBreaker,
	"P45-own-retry-says-that-no-call-was-made":             ownRetries,
	"P45-refused-credentials-hide-a-call-in-doubt":         ownRetries,
	"P45-refused-credentials-are-tried-again-at-once":      ownRetries,
	"P45-a-call-in-doubt-is-not-counted":                   "A simulated service that refuses credentials has done nothing, and its agent says so.",
	"P45-a-check-with-refused-credentials-counts":          checkAnswers,
	"P45-a-plain-check-with-refused-credentials-is-silent": checkAnswers,
	"P45-not-yet-opens-the-breaker":                        noBreaker,
	"P45-not-yet-is-tried-again-at-once":                   ownRetries,
	"P45-not-yet-forgets-its-time":                         "Which time an agent passes on is its own matter: the model takes the one of the reply.",
	"P45-not-yet-is-no-proof":                              "What an agent says without a proof counts as a failure, which the model takes for one.",
	"P45-refused-credentials-count":                        "Simulated agents call their services without HTTP, where a status 401 says it.",
}

const (
	madeOfTheTask   = "The Supervisor makes this event of the very task that it decides on, so that the condition is always true there. It guards the core against another caller."
	realTime        = "Contexts end in real time, which does not pass in a simulated handling; what it does when its own clock says that the time is over is held to P25."
	noCache         = "The simulated store is read without a cache, so that each run sees every load."
	noBadSubmission = "Submissions that cannot be read and still say who sent them are not in the simulation: its queues hold what real senders send, and bytes that cannot be read."
	noLookUp        = "The simulated deployment knows its queues by their names without a call, and has all of them, so that looking one up never fails."
	freeShare       = "Which share of its spread a wait gets is left open: the model takes any that lies within it, none included."
	onlySaid        = "It changes what is said to people, in the log or a report, and nothing that is stored or sent."
	noLeaseTTL      = "A lease costs at most a sweep; correctness is the version of the document (P16), and that the next sweep comes is what a simulated Supervisor is given."
	ownRetries      = "Own retries of an agent wait in real time, in the retry library; simulated agents try once."
	plainCodes      = "Every failure of a simulated agent has a code of plain characters."
	soundInputs     = "An input that could be computed once can be computed again, unless the task was moved to a definition with a broken one, which no simulated definition is."
	noFiles         = "The simulator draws definitions in their compiled form: it reads no workflow files, and has no older versions of the Scheduler."
	noReserveUsed   = "What the reserve leaves out shows only where all else in the document is as long as can be at once: IDs, counters, codes, the reasons of eight verdicts. Those of a simulated task are shorter."
	noBreaker       = "The circuit breakers of simulated agents are off, since what opens one is counted in real time. That one is open is played, as breaker-open."
	checkAnswers    = "A simulated service that can be asked whether something has happened always answers."
)
