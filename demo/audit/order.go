package audit

// Outcome is the outcome of an order for its sender.
type Outcome string

// Outcomes of an order.
const (
	Processed  Outcome = "processed"
	Undone     Outcome = "undone"
	Refused    Outcome = "refused"    // never acknowledged, and the sender got the reason
	Error      Outcome = "error"      // stopped, waits for the operator
	Unfinished Outcome = "unfinished" // acknowledged, still running when the audit began
	Lost       Outcome = "lost"       // acknowledged, and unknown afterwards
)

// Order describes the expected effects of one order. Everything but ID and Outcome comes from the order
// itself, never from the engine.
type Order struct {
	ID       string
	Outcome  Outcome
	Physical bool   // the order has something to be shipped
	Units    int64  // pieces over all items
	Amount   int64  // amount to be charged, in minor units
	Currency string // currency code of three letters
}

// Violation is a violated rule.
type Violation struct {
	Order    string `json:"order"` // ID of the order; the key or the account if the order is unknown
	Service  string `json:"service"`
	What     string `json:"what"`
	Expected string `json:"expected"`
	Found    string `json:"found"`
}

// String returns the violation in one line.
func (v Violation) String() string {
	where := v.Service
	if where == "" {
		where = "engine"
	}
	return v.Order + ", " + where + ": " + v.What + "; expected " + v.Expected + ", found " + v.Found
}

// Result is the result of an audit. It holds if there are no violations.
type Result struct {
	Orders     int // number of audited orders
	Effects    int // number of rows of kind do
	Reversals  int // number of rows of kind undo
	Violations []Violation
}
