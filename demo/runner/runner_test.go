package runner_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/demo/runner"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shop"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "dev" {
		runFake(os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// quick is a demo of a few seconds against the fake engine.
func quick(t *testing.T, fault, orders string) runner.Options {
	t.Helper()
	t.Setenv(faultVariable, fault)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "orders.jsonl")
	if err := os.WriteFile(path, []byte(orders), 0o600); err != nil {
		t.Fatal(err)
	}
	rates := services.DefaultRates()
	for name, r := range rates {
		r.SlowFor = 20 * time.Millisecond
		r.HangFor = 400 * time.Millisecond
		r.TooMany = 0.05
		rates[name] = r
	}
	return runner.Options{
		Orders: path, Seed: 5, Report: filepath.Join(dir, "report.json"), Binary: self, Workflows: dir,
		Dir: filepath.Join(dir, "run"), Out: &bytes.Buffer{}, Rates: rates, PerSec: 200,
		Outage:   300 * time.Millisecond,
		Patience: 20 * time.Second,
	}
}

// some lines of the demo's file: with every kind of refusal that the fake knows.
func some() string {
	lines := strings.SplitAfter(string(shop.Orders()), "\n")
	return strings.Join(lines[:150], "")
}

func TestRightEngineIsProven(t *testing.T) {
	o := quick(t, "", some())
	r, err := runner.Run(t.Context(), o)
	t.Logf("%s", o.Out)
	if err != nil {
		t.Fatal(err)
	}
	if sum := r.Processed + r.Undone + r.Refused + r.Repeated + r.Error + r.Unfinished; r.Submitted != 150 ||
		sum != 150 {
		t.Errorf("submitted %d, the parts add up to %d; want 150: %+v", r.Submitted, sum, r)
	}
	if r.Processed < 100 || r.Undone < 5 || r.Refused < 2 || r.Repeated != 1 || r.Restarts != 1 ||
		r.Retries == 0 || r.Unfinished != 0 || r.AuditViolations != 0 {
		t.Errorf("report %+v", r)
	}
	if r.UndoneReasons["card-declined"]+r.UndoneReasons["card-expired"]+
		r.UndoneReasons["insufficient-funds"] == 0 {
		t.Errorf("no order was undone for its card: %v", r.UndoneReasons)
	}
	if len(r.RecoveryMS.Restarts) != 1 || r.RecoveryMS.Restarts[0].AtWork == nil ||
		r.RecoveryMS.PaymentOutage == nil {
		t.Errorf("recovery %+v", r.RecoveryMS)
	}
	var written map[string]any
	text, err := os.ReadFile(o.Report)
	if err == nil {
		err = json.Unmarshal(text, &written)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"submitted", "processed", "undone", "refused", "error", "unfinished",
		"auditViolations", "restarts", "seconds",
	} {
		if _, ok := written[name].(float64); !ok {
			t.Errorf("the report has no number %q: %s", name, text)
		}
	}
}

// TestWrongEnginesAreFound: the whole chain, services to audit, can fail, and says why: what is found
// is the fault, and nothing else.
func TestWrongEnginesAreFound(t *testing.T) {
	cases := []struct {
		fault, service, what string
		sure                 string   // how one of them ends at least
		also                 []string // what it leads to in orders that are undone
	}{
		{"forgetful", "", "acknowledged, and lost", "", nil},
		{
			"new-keys", "payment", "net charges of a processed order", "expected 1, found 2",
			[]string{"net charges of an undone order"},
		},
		{"off-by-one", "payment", "charge of another amount", "", nil},
		{"ships-all", "shipping", "net bookings of a processed order", "expected 0, found 1", nil},
		{"keeps-money", "payment", "net charges of an undone order", "expected 0, found 1", nil},
	}
	if testing.Short() {
		cases = cases[:2] // the tests of the audit plant what the others do
	}
	for _, c := range cases {
		t.Run(c.fault, func(t *testing.T) {
			o := quick(t, c.fault, some())
			if c.fault == "forgetful" { // its run has no end of its own
				o.Patience = 6 * time.Second
			}
			r, err := runner.Run(t.Context(), o)
			if !errors.Is(err, runner.ErrNotProven) || r.AuditViolations == 0 {
				t.Fatalf("error %v and %d violations, want ErrNotProven\n%s", err, r.AuditViolations, o.Out)
			}
			met := 0
			for _, v := range r.Violations {
				if v.Service == c.service && v.What == c.what && strings.HasSuffix(v.String(), c.sure) {
					met++
				}
				if v.Service != c.service || v.What != c.what && !slices.Contains(c.also, v.What) {
					t.Errorf("violation %s: the engine is wrong in another way", v)
				}
			}
			if met == 0 {
				t.Errorf("none of %v reports %s: %s; %s", r.Violations, c.service, c.what, c.sure)
			}
		})
	}
}

// Time up accuses nobody: orders that are under way when nothing ends any more are no violations. They prove
// nothing either.
func TestOrdersUnderWayAreNoViolations(t *testing.T) {
	o := quick(t, "idle", some())
	o.Patience = 2 * time.Second
	o.Kills = -1
	r, err := runner.Run(t.Context(), o)
	require.ErrorIs(t, err, runner.ErrNotProven)
	require.Zero(t, r.AuditViolations, r.Violations)
	require.Positive(t, r.Unfinished)
	require.Contains(t, fmt.Sprint(o.Out), "is no violation")
}

// A run goes on as long as orders end, however slow the machine is.
func TestASlowRunGoesOn(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes longer than the patience of the demo")
	}
	o := quick(t, "", some())
	o.Patience = 8 * time.Second
	o.PerSec = 12
	r, err := runner.Run(t.Context(), o)
	require.NoError(t, err, o.Out)
	require.Greater(t, r.Seconds, o.Patience.Seconds())
}

// TestFilesOfAnyForm: line ends, marks, and lines that are no orders.
func TestFilesOfAnyForm(t *testing.T) {
	good := strings.SplitN(string(shop.Orders()), "\n", 4)
	cases := []struct {
		name, orders                 string
		submitted, accepted, refused int
	}{
		{"no newline at the end", good[0] + "\n" + good[1], 2, 2, 0},
		{
			"CRLF, blank lines, byte order mark", "\xef\xbb\xbf" + good[0] + "\r\n\r\n  \r\n" + good[1] + "\r\n",
			2, 2, 0,
		},
		{"empty file", "", 0, 0, 0},
		{"no order at all", "hello\n{}\n[1]\n\xff\n", 4, 0, 4},
		{"one order", good[2] + "\n", 1, 1, 0},
		{
			"prices with decimals",
			`{"schema":1,"orderId":"a","workflow":"order","order":{"currency":"EUR","payment":{"card":"tok_1"},` +
				`"items":[{"sku":"MUG","quantity":2,"unitPrice":9.5},{"sku":"TEE","quantity":1,"unitPrice":1.0e2}]}}`, 1, 1, 0,
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := quick(t, "", c.orders)
			o.Terminal = c.submitted == 1 // one of them draws the bar
			r, err := runner.Run(t.Context(), o)
			if err != nil {
				t.Fatalf("%v\n%s", err, o.Out)
			}
			if r.Submitted != c.submitted || r.Processed+r.Undone != c.accepted || r.Refused != c.refused ||
				r.Restarts != 1 {
				t.Errorf("report %+v, want %d submitted, %d ended, %d refused, 1 restart", r, c.submitted,
					c.accepted, c.refused)
			}
		})
	}
}

func TestCannotRun(t *testing.T) {
	o := quick(t, "", "")
	cases := []struct {
		name   string
		change func(o *runner.Options)
		want   error
		text   string
	}{
		{"no file", func(o *runner.Options) { o.Orders += ".absent" }, os.ErrNotExist, "read the orders"},
		{"no program", func(o *runner.Options) { o.Binary += ".absent" }, runner.ErrStack, "start"},
		{"a program that ends at once", func(o *runner.Options) {
			o.Binary = "/bin/false"
		}, runner.ErrStack, "ended before it was ready"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			o := o
			o.Dir = t.TempDir()
			c.change(&o)
			if _, err := runner.Run(t.Context(), o); !errors.Is(err, c.want) ||
				!strings.Contains(err.Error(), c.text) {
				t.Errorf("error %v, want %v that reports %q", err, c.want, c.text)
			}
		})
	}
}
