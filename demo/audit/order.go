package audit

// Outcome is the outcome of an order as the sender sees it.
type Outcome string

// The outcomes of an order.
const (
	Processed  Outcome = "processed"
	Undone     Outcome = "undone"
	Refused    Outcome = "refused"    // never acknowledged; the sender got the reason
	Error      Outcome = "error"      // stopped, and waits for the operator
	Unfinished Outcome = "unfinished" // acknowledged, but still running when the audit began
	Lost       Outcome = "lost"       // acknowledged, but unknown to Stepkeeper when the audit began
	// Running means that the run ended before the order, for a reason of its own. It is no violation.
	Running Outcome = "running"
)

// Order describes the expected effects of one order. All fields except ID and Outcome come from the content
// of the order.
type Order struct {
	ID       string
	Outcome  Outcome
	Physical bool   // true if the order contains something to ship
	Units    int64  // total quantity of all items
	Amount   int64  // amount to charge, in minor units
	Currency string // currency code of three letters
}

// Violation is a violation of a rule of the audit.
type Violation struct {
	Order    string `json:"order"` // ID of the order, or the key or account that breaks a rule of the ledgers
	Service  string `json:"service"`
	What     string `json:"what"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// String returns the violation as one line.
func (v Violation) String() string {
	where := v.Service
	if where == "" {
		where = "engine"
	}
	return v.Order + ", " + where + ": " + v.What + "; expected " + v.Expected + ", found " + v.Found
}

// Result is the result of an audit. The audit has succeeded if there are no violations.
type Result struct {
	Orders     int // number of audited orders
	Effects    int // number of rows of kind do
	Reversals  int // number of rows of kind undo
	Violations []Violation
}
