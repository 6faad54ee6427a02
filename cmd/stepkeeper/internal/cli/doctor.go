package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/source"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var doctorText = app.Text{
	Use:   "doctor",
	Group: "operator",
	Short: "Check a server or a stack, and print how to fix what is wrong",
	Examples: `  stepkeeper doctor
  stepkeeper doctor --stack Shop
  stepkeeper doctor --stack Shop --smoke --orders 200 --workflow booking --order booking.json`,
	Long: "For a server it checks the intake, the message path, the version, the store, the workflow files, the\n" +
		"agents and the clock. For a stack it checks access to the tables, the right to send, the version, the\n" +
		"consumers of queues, dead letters, the Supervisor's last run and its delay, stored definitions, quotas\n" +
		"and the clock.\n\n" +
		"It changes nothing. The exit code is 1 if a check fails. A check that lacks a permission is `unknown`\n" +
		"and does not fail.\n\n" +
		"With --smoke it submits real orders instead, waits for their ends, and checks each order: it ended, its\n" +
		"steps agree with its end, and its content is what was sent. The agents call their services, so use\n" +
		"services for tests. For a stack it first checks the account's limit of concurrent executions, and the\n" +
		"consumers of the queues. The exit code is 0 if all orders end Processed and the audit finds nothing, 6\n" +
		"if an order ended otherwise, and 1 if the audit finds a problem or an order did not end.",
	Reach: app.Reach{
		Server: true, Stack: true,
		Timeout: "how long to wait for an answer (default 30s), with --smoke for the last end (5m, and 1s for each order)",
	},
}

func newDoctor(a *app.App) *cobra.Command {
	s := &smoke{app: a, report: smokeReport{
		Orders: 20, Workflow: "order", Ends: map[core.State]int{}, Problems: []smokeProblem{},
	}}
	smoke := false
	own := s.flags()
	flags := append(own, app.RunFlags.Flag("smoke", &smoke,
		"send orders through the deployment, and audit the result"))
	return a.Command(doctorText, flags, func(cmd *cobra.Command, _ []string) error {
		if smoke {
			return s.run(cmd.Context())
		}
		if err := app.Foreign(cmd, own, "--smoke"); err != nil {
			return err
		}
		return runDoctor(cmd.Context(), a)
	})
}

func runDoctor(ctx context.Context, a *app.App) error {
	checks, err := app.Ask(ctx, a, "its checks", (*client.Client).Checks)
	if err != nil {
		return err
	}
	failed := 0
	for _, check := range checks {
		if check.Result == client.CheckFailed {
			failed++
		}
		printCheck(a, check)
	}
	if failed > 0 {
		return failure.Silent(failure.General, fmt.Sprintf("%d of %d checks failed", failed, len(checks)))
	}
	return nil
}

func printCheck(a *app.App, c client.Check) {
	if a.JSON() {
		a.PrintLine(c)
		return
	}
	style := a.Streams.Style()
	result := string(c.Result)
	switch c.Result {
	case client.CheckOK:
		result = style.Good("ok     ")
	case client.CheckFailed:
		result = style.Bad("failed ")
	case client.CheckUnknown:
		result = style.Warn("unknown")
	}
	fmt.Fprintf(a.Streams.Out, "%s  %s: %s\n", result, render.Clean(c.Name), render.Clean(c.Text))
	if c.Fix != "" {
		fmt.Fprintf(a.Streams.Out, "         fix: %s\n", render.Clean(c.Fix))
	}
}

// smokeContent is an order for the workflow "order". One of its items is shipped.
const smokeContent = `{"customer":{"id":"smoke","name":"Smoke Test","email":"smoke@example.com","country":"DE"},` +
	`"currency":"EUR","items":[{"sku":"EBOOK-GO-7","quantity":1,"unitPrice":1999,"physical":false},` +
	`{"sku":"TEE-S-11","quantity":1,"unitPrice":2450,"physical":true}],"payment":{"card":"tok_visa_1"},` +
	`"shipTo":{"name":"Smoke Test","street":"1 Main Street","city":"Berlin","country":"DE"}}`

// smoke is one run of `doctor --smoke`.
type smoke struct {
	app      *app.App
	file     string
	client   *client.Client
	contents []json.RawMessage

	mu     sync.Mutex
	report smokeReport
	took   []time.Duration
}

// smokeReport is the JSON output of `doctor --smoke`.
type smokeReport struct {
	Workflow string             `json:"workflow"`
	Prefix   string             `json:"prefix"`
	Orders   int                `json:"orders"`
	Ends     map[core.State]int `json:"ends"`
	Open     int                `json:"open"` // number of orders that did not end in time
	Problems []smokeProblem     `json:"problems"`
	Submit   float64            `json:"submitSeconds"`
	Total    float64            `json:"totalSeconds"` // time until the last end, or the time limit
	TookP50  float64            `json:"tookP50Seconds"`
	TookP95  float64            `json:"tookP95Seconds"`
	TookMax  float64            `json:"tookMaxSeconds"` // longest time from receipt to end
	Attempts int                `json:"attempts"`       // number of claims, including claims for an undo
	Failures int                `json:"failures"`       // number of attempts that failed or timed out

	// Unattended lists the queues that had no consumer before the test started.
	Unattended []view.Unattended `json:"unattended,omitempty"`
}

type smokeProblem struct {
	OrderID string `json:"orderId"`
	What    string `json:"what"`
}

// flags returns the flags of `doctor --smoke`.
func (s *smoke) flags() []app.Flag {
	return []app.Flag{
		app.RunFlags.Flag("orders", &s.report.Orders,
			"with --smoke: `number` of orders to send").Within("1", "100000"),
		app.RunFlags.Flag("workflow", &s.report.Workflow,
			"with --smoke: `name` of the workflow").Offers(app.Workflows),
		app.RunFlags.Flag("order", &s.file,
			"with --smoke: `file` with the contents of orders, used in turn; needed for any workflow but order").
			Offers(app.Files("json", "jsonl")),
	}
}

func (s *smoke) readContents() ([]json.RawMessage, error) {
	switch {
	case s.file == "" && s.report.Workflow != "order":
		return nil, failure.New(failure.Usage, "add --order FILE with an order for it",
			"there is no example of an order for workflow %s", s.report.Workflow)
	case s.file == "":
		return []json.RawMessage{json.RawMessage(smokeContent)}, nil
	}
	f, err := os.Open(s.file)
	if err != nil {
		return nil, app.Unread(err, "check the name", "orders")
	}
	defer f.Close()
	var all []json.RawMessage
	var bad error
	err = source.Records(f, func(r source.Record) bool {
		bad = r.Err
		if bad == nil {
			_, bad = bare(r.Data, s.report.Workflow, "", len(all)+1) // the checks of the command submit
		}
		all = append(all, r.Data)
		return bad == nil
	})
	err = errors.Join(err, bad)
	if err == nil && len(all) == 0 {
		err = errors.New("it holds no orders")
	}
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage,
			"give bare orders: one JSON object, an array, or JSON Lines", "the file %s cannot be used",
			s.file)
	}
	return all, nil
}

// within returns the time until the last end. An emulator on one machine can finish only a few orders a second.
func (s *smoke) within() time.Duration {
	return cmp.Or(s.app.Timeout, 5*time.Minute+time.Duration(s.report.Orders)*time.Second)
}

func (s *smoke) run(ctx context.Context) (err error) {
	s.contents, err = s.readContents()
	if err != nil {
		return err
	}
	ctx, c, end, err := s.app.Patient(ctx, s.within())
	if err != nil {
		return err
	}
	defer end()
	s.client = c
	warnOfRoom(ctx, s.app)
	s.report.Unattended = s.app.Unattended(ctx, s.client, s.report.Workflow)
	if !s.app.JSON() {
		s.app.WarnUnattended(s.report.Unattended)
	}
	s.report.Prefix = "smoke-" + strconv.FormatInt(time.Now().UnixMilli(), 36)
	begun := time.Now()
	if err := s.submit(ctx); err != nil {
		return err
	}
	s.report.Submit = time.Since(begun).Seconds()
	s.wait(ctx)
	s.report.Total = time.Since(begun).Seconds()
	if ctx.Err() != nil && !errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return s.app.Explain(ctx.Err(), "smoke test")
	}
	return s.print()
}

// warnOfRoom warns if the functions of the stack need more concurrent executions than the account allows.
// Throttled calls would look like faults of the agents.
func warnOfRoom(ctx context.Context, a *app.App) {
	if a.Stack == "" {
		return
	}
	room, err := a.StackRoom(ctx, a.Stack, a.StackOptions())
	switch {
	case err != nil:
		a.Warn("not checked whether the functions fit into the account's limit of concurrent executions: " + err.Error())
	case !room.Fits():
		a.Warn(fmt.Sprintf("stack %s: %s; what does not fit is throttled: its messages come back late, and may become "+
			"dead letters; fix: ask for a higher quota (Service Quotas: AWS Lambda, Concurrent executions), or lower "+
			"MaxConcurrency and deploy again", a.Stack, room))
	}
}

func (s *smoke) id(i int) string { return fmt.Sprintf("%s-%d", s.report.Prefix, i) }

func (s *smoke) submit(ctx context.Context) error {
	var refused error
	err := s.client.SubmitAll(ctx, func(yield func(client.Order) bool) {
		for i := range s.report.Orders {
			if !yield(client.Order{
				ID: s.id(i), Workflow: s.report.Workflow,
				Content: s.contents[i%len(s.contents)],
			}) {
				return
			}
		}
	}, func(r client.Result) {
		if r.Err != nil && refused == nil {
			refused = s.app.Explain(r.Err, "order "+r.OrderID)
		}
	})
	if err != nil {
		return s.app.Explain(err, "orders of the smoke test")
	}
	return refused
}

func (s *smoke) wait(ctx context.Context) {
	bar := s.app.Streams.Progress("waiting", int64(s.report.Orders))
	defer bar.Done()
	var all errgroup.Group // The end of ctx ends each goroutine.
	all.SetLimit(waiters)
	for i := range s.report.Orders {
		all.Go(func() error {
			s.one(ctx, i)
			bar.Add(1)
			return nil
		})
	}
	_ = all.Wait() // No goroutine returns an error.
}

func (s *smoke) one(ctx context.Context, i int) {
	task, err := s.client.Wait(ctx, s.id(i))
	var content json.RawMessage
	if err == nil {
		content, err = s.client.Submitted(ctx, s.id(i))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.report.Open++
		what := "no end: " + err.Error()
		if errors.Is(err, context.DeadlineExceeded) {
			what = "no end within " + s.within().String()
		}
		s.problem(i, what)
		return
	}
	s.report.Ends[task.State]++
	s.took = append(s.took, task.EndedAt.Sub(task.Created).Std())
	for _, step := range task.Steps {
		s.report.Attempts += step.Attempts
		s.report.Failures += step.Failures
	}
	for _, what := range inconsistent(task) {
		s.problem(i, what)
	}
	if !sameJSON(content, s.contents[i%len(s.contents)]) {
		s.problem(i, "its order differs from the one that was sent")
	}
}

func (s *smoke) problem(i int, what string) {
	s.report.Problems = append(s.report.Problems, smokeProblem{s.id(i), what})
}

// sameJSON reports whether two documents are equal apart from white space. Documents with different sequences
// of fields are not equal.
func sameJSON(a, b []byte) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// inconsistent returns the contradictions between the state of a task and the states of its steps (P7, undo
// covers every attempted step).
func inconsistent(t *client.Task) []string {
	var found []string
	wrong := func(format string, args ...any) { found = append(found, fmt.Sprintf(format, args...)) }
	if t.EndedAt == 0 || t.EndedAt < t.Created {
		wrong("it is %s and ended at %v, created at %v", t.State, t.EndedAt, t.Created)
	}
	for _, step := range t.Steps {
		attempted := step.FirstAt != 0
		switch {
		case t.State == core.Processed && step.State != core.Processed && step.State != core.Skipped,
			(t.State == core.Compensated || t.State == core.Cancelled) && attempted &&
				step.State != core.Compensated,
			step.State == core.Processing || step.State == core.Compensating:
			wrong("it is %s, and its step %s is %s", t.State, step.Name, step.State)
		}
	}
	if t.State == core.Error && t.Error == nil {
		wrong("it is in Error without a reason")
	}
	return found
}

func (s *smoke) print() error {
	slices.Sort(s.took)
	if n := len(s.took); n > 0 {
		s.report.TookP50 = s.took[n/2].Seconds()
		s.report.TookP95 = s.took[n*95/100].Seconds()
		s.report.TookMax = s.took[n-1].Seconds()
	}
	slices.SortFunc(s.report.Problems,
		func(a, b smokeProblem) int { return strings.Compare(a.OrderID, b.OrderID) })
	if s.app.JSON() {
		s.app.PrintJSON(s.report)
	} else {
		s.show()
	}
	switch {
	case len(s.report.Problems) > 0:
		return failure.Silent(failure.General, "the audit found something")
	case s.report.Ends[core.Processed] < s.report.Orders:
		return failure.Silent(failure.NotProcessed, "some orders were not processed")
	}
	return nil
}

const shownProblems = 20

func (s *smoke) show() {
	r := &s.report
	out := s.app.Streams.Out
	style := s.app.Streams.Style()
	for i, p := range r.Problems {
		if i == shownProblems {
			fmt.Fprintf(s.app.Streams.Err, "and %d more; --output json lists all\n", len(r.Problems)-i)
			break
		}
		fmt.Fprintf(s.app.Streams.Err, "%s: %s\n", p.OrderID, s.app.Streams.ErrStyle().Bad(render.Clean(p.What)))
	}
	ends := byState(r.Ends)
	if r.Open > 0 {
		ends = append(ends, fmt.Sprintf("%d without an end", r.Open))
	}
	fmt.Fprintf(out, "%s (%s-…): %s\n", view.Count(r.Orders, "order"), r.Prefix, strings.Join(ends, ", "))
	until := "all ended"
	if r.Open > 0 {
		until = "given up"
	}
	fmt.Fprintf(out, "submitted in %.2f s, %s after %.2f s; one order took %.2f s (median), %.2f s (95 %%), "+
		"%.2f s (longest)\n", r.Submit, until, r.Total, r.TookP50, r.TookP95, r.TookMax)
	fmt.Fprintf(out, "%d claims of steps, %d failed or timed out\n", r.Attempts, r.Failures)
	if len(r.Problems) == 0 {
		fmt.Fprintf(out, "audit: %s\n", style.Good("nothing found"))
		return
	}
	fmt.Fprintf(out, "audit: %s\n", style.Bad(view.Count(len(r.Problems), "problem")))
}
