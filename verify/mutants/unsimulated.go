package mutants

// Unsimulated are mutants that the simulator does not notice, each with the argument. Their own tests notice
// them. What is neither listed here nor noticed by `make mutants-simulated` needs another world, another
// invariant, or a tape (simulate/internal/explore/testdata).
var Unsimulated = map[string]string{
	"I17-supervisor-takes-up-a-finished-step":  madeOfTheTask,
	"P23a-deadline-of-an-earlier-run":          madeOfTheTask,
	"I19-refusal-that-was-not-sent-is-dropped": noBadSubmission,
	"P34-spread-is-the-same-for-all":           freeShare,

	"P22a-done-keeps-the-proof": "A done after a proof contradicts it. Simulated agents and operators " +
		"prove only what " +
		"is true, and invariant P22a holds them to it.",
	"P39-a-cut-token-is-kept":       "Simulated services repeat a token whole or not at all.",
	"P28-output-of-any-depth":       "Outputs of simulated services are not nested.",
	"P24-output-of-an-undo-is-sent": "The Scheduler does not read the output of an undo.",
	"P25-a-reply-is-sent-past-stop-by": "It bounds a context, which ends in real time. A simulated send " +
		"ends at once or " +
		"fails.",
	"I13-a-failed-receive-takes-room": "The simulator hands messages to handlers itself and runs no " +
		"receive loops.",
	"schedule-sent-before-it-is-stored":     "The simulator has no schedules.",
	"P13-a-read-that-fails-fails-all":       "It costs only a redelivery of the other messages of the batch.",
	"P3-operators-cannot-redrive":           noSenders,
	"P3-role-with-its-session":              noSenders,
	"P36-verdict-of-an-answer-is-not-found": onlyShown,
	"P49-an-ended-wait-shows-the-new-time":  onlyShown,
	"P21-undo-waits-for-another-step":       onlyShown,

	"P48-a-silent-child-begins-after-the-close": noFamilyModel,
	"P40-undo-begins-at-next":                   noFamilyModel,
	"P41-end-counts-twice":                      noFamilyModel,
	"P41-asks-again-every-ten-minutes":          noFamilyModel,
	"P41-closed-child-says-it-is-undone":        noFamilyModel,

	"P43-an-unsent-deferral-is-let-go":          "The Supervisor takes the step up when its time is over.",
	"I4-reply-of-an-earlier-run-counts":         tooRare,
	"P12-end-forgets-what-the-same-event-did":   tooRare,
	"P12a-what-came-without-a-queue-is-dropped": tooRare,
	"P18-copy-lands-when-the-key-is-forgotten":  tooRare,
	"P28-texts-are-not-cut":                     tooRare,
	"P32-follow-ups-know-no-waits":              tooRare,
	"P37-a-missed-reminder-has-no-time":         tooRare,
}

const (
	tooRare = "Thousands of seeds did not come to it, and no tape shows it yet. The tests of its " +
		"room notice it."
	madeOfTheTask = "The Supervisor makes this event from the task that it decides on, so that the " +
		"condition is always true there. It guards the core against another caller."
	noBadSubmission = "The queues of the simulator hold no submission that cannot be read and still names " +
		"its sender."
	freeShare     = "The model accepts any share of the spread of a wait, including none."
	noSenders     = "The queues of the simulator do not say which role sent a message."
	onlyShown     = "It changes only what is shown to people, and nothing that is stored or sent."
	noFamilyModel = "Of orders with children only the invariants are checked, not each decision. They " +
		"hold here, because a parent asks again."
)
