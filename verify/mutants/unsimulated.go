package mutants

// Unsimulated are mutants that the simulator cannot notice, each with the argument. Their own tests
// notice them; what stands neither here nor is noticed by `make mutants-simulated` wants another
// world, a rule to be held to, or a tape (verify/mutants/simulated/testdata).
var Unsimulated = map[string]string{
	"I17-supervisor-takes-up-a-finished-step":  madeOfTheTask,
	"P23a-deadline-of-an-earlier-run":          madeOfTheTask,
	"I19-refusal-that-was-not-sent-is-dropped": noBadSubmission,
	"P34-spread-is-the-same-for-all":           freeShare,
}

const (
	madeOfTheTask = "The Supervisor makes this event of the very task that it decides on, so that the " +
		"condition is always true there. It guards the core against another caller."
	noBadSubmission = "Submissions that cannot be read and still say who sent them are not in the " +
		"simulation: its queues hold what real senders send, and bytes that cannot be read."
	freeShare = "Which share of its spread a wait gets is left open: the model takes any that lies " +
		"within it, none included."
)
