package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/source"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/streams"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

var submitText = app.Text{
	Use:   "submit FILE|-...",
	Group: "orders",
	Short: "Submit orders from files or standard input",
	Examples: `  stepkeeper submit orders.jsonl
  stepkeeper submit --wait order.json
  echo '{"total":12}' | stepkeeper submit --workflow order --id order-1001 -`,
	Long: `A file holds one JSON object, an array of objects, or JSON Lines. An order is
{"schema":1,"orderId":"…","workflow":"…","order":{…}}, with the optional fields priority, replyTo and deadline.
With --workflow each record is the content alone. Its ID is made of its content and its number in the file,
or given by --id.

Submitting the same file again does no harm: an order that exists is not started twice. A bad record is
reported with its line and the fix, and the other records are submitted.`,
	Args:  app.Args{Least: 1, Any: true, What: "a file with orders, or - for standard input"},
	Offer: app.Files("json", "jsonl", "ndjson"),
	Reach: app.Untimed,
}

func newSubmit(a *app.App) *cobra.Command {
	s := &submission{app: a, states: map[core.State]int{}, reported: map[string]bool{}}
	return a.Command(submitText, []app.Flag{
		app.OrderFlags.Flag("id", &s.id, "`ID` of the one order of --workflow"),
		app.OrderFlags.Flag("workflow", &s.workflow,
			"read the content alone, for this workflow (`name`)").Offers(app.Workflows),
		app.RunFlags.Flag("wait", &s.wait, "wait until every order ends; exit code 6 unless all end Processed"),
	},
		func(cmd *cobra.Command, given []string) error {
			s.files = given
			return s.run(cmd.Context())
		})
}

// submission is one run of the command `submit`. One goroutine reads the orders, and another goroutine
// handles the responses.
type submission struct {
	app      *app.App
	files    []string // names of files; "-" means standard input
	wait     bool
	workflow string // workflow of bare orders; "" if each record names its workflow
	id       string

	number int   // of the record in its file
	err    error // why the orders cannot be read
	// The functions below are nil for a server, which checks orders and consumers itself.
	schemaOf func(workflow string) *client.OrderSchema // nil if the schema is unknown
	stored   func(id string) bool                      // reports whether the stack already has the order
	queuesOf func(workflow string) []view.Unattended   // queues that a workflow needs and that have no consumer

	mu       sync.Mutex
	bar      *streams.Progress
	pending  []pending // records without a result, in the sequence of the files
	taken    []submitLine
	bad      int // number of unreadable records
	refused  int
	known    int
	states   map[core.State]int // number of orders by final state, with --wait
	reported map[string]bool    // queues without a consumer that were already reported
}

// remembered returns a function that reads the value for each name once.
func remembered[V any](read func(name string) V) func(name string) V {
	known := map[string]V{}
	return func(name string) V {
		v, ok := known[name]
		if !ok {
			v = read(name)
			known[name] = v
		}
		return v
	}
}

func (s *submission) run(ctx context.Context) error {
	if err := s.check(); err != nil {
		return err
	}
	ctx, c, end, err := s.app.Patient(ctx, 0)
	if err != nil {
		return err
	}
	defer end()
	if s.app.Stack != "" {
		s.queuesOf = remembered(func(workflow string) []view.Unattended { return s.app.Unattended(ctx, c, workflow) })
		s.schemaOf = remembered(func(workflow string) *client.OrderSchema {
			// If the schema cannot be read, only the Scheduler checks the orders.
			known, _ := c.OrderSchema(ctx, workflow)
			return known
		})
		s.stored = func(id string) bool { _, err := c.Get(ctx, id); return err == nil }
	}
	s.bar = s.app.Streams.Progress("submitting", 0)
	defer func() { s.bar.Done() }() // of the wait too
	// If SubmitAll returns nil, s.orders has returned. It is then safe to read s.err.
	if err := c.SubmitAll(ctx, s.orders, s.answered); err != nil {
		return s.interrupted(s.app.Explain(err, "submission"))
	}
	if s.err != nil {
		return s.interrupted(s.err)
	}
	if s.wait {
		if err := s.waitForAll(ctx, c); err != nil {
			return s.interrupted(err)
		}
	}
	return s.finish()
}

func (s *submission) check() error {
	if s.id != "" {
		if s.workflow == "" {
			return failure.New(failure.Usage, "add --workflow NAME, or write orderId into the order",
				"--id is for a bare order")
		}
		if err := app.CheckID(s.id); err != nil {
			return err
		}
	}
	for _, name := range s.files {
		if name == "-" {
			continue
		}
		info, err := os.Stat(name)
		switch {
		case err != nil:
			return app.Unread(err, "check the name, or give - for standard input", "orders")
		case info.IsDir():
			return failure.New(failure.Usage, "name its files: "+filepath.Join(name, "*.jsonl"),
				"%s is a directory", name)
		}
	}
	return nil
}

// interrupted prints how many orders were acknowledged, and returns err. An acknowledged order continues.
func (s *submission) interrupted(err error) error {
	s.bar.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	if n := len(s.taken); n > 0 && !s.app.JSON() {
		fmt.Fprintf(s.app.Streams.Err, "acknowledged before this: %s; submit the same again, what is there "+
			"already is not started twice\n", view.Count(n, "order"))
	}
	return err
}

func (s *submission) orders(yield func(client.Order) bool) {
	if s.id != "" {
		s.alone(yield)
		return
	}
	for _, name := range s.files {
		if !s.file(name, yield) {
			return
		}
	}
}

// alone yields the single order that gets the ID of the flag --id. It sets s.err if the files contain several
// orders.
func (s *submission) alone(yield func(client.Order) bool) {
	var only []client.Order
	for _, name := range s.files {
		if !s.file(name, func(o client.Order) bool { only = append(only, o); return len(only) < 2 }) {
			break
		}
	}
	if len(only) > 1 {
		s.err = failure.New(failure.Usage, "leave --id out, each order then gets an ID of its own",
			"--id names one order, and there are several")
		return
	}
	for _, o := range only {
		yield(o)
	}
}

// file yields the orders of one file. It returns false if the submission must end.
func (s *submission) file(name string, yield func(client.Order) bool) bool {
	in, label, err := s.open(name)
	if err != nil {
		s.err = err
		return false
	}
	defer in.Close()
	s.number = 0
	more := true
	err = source.Records(in, func(r source.Record) bool {
		order, ok := s.record(label, r)
		if ok {
			more = yield(order)
		}
		return more
	})
	if err != nil { // The orders before the error were already yielded.
		s.unreadable(submitLine{File: label}, err.Error())
	}
	return more
}

func (s *submission) open(name string) (io.ReadCloser, string, error) {
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return nil, "", failure.Wrap(err, failure.Usage, "", "the file %s cannot be read", name)
		}
		return f, name, nil
	}
	if s.app.Streams.Interactive() {
		fmt.Fprintln(s.app.Streams.Err, "reading orders from the terminal; end with Ctrl-D")
	}
	return io.NopCloser(s.app.Streams.In), "standard input", nil
}

// record parses one record. For a stack, it also checks the order against the workflow's schema, as a server
// does itself. It reports an invalid record and returns false.
func (s *submission) record(file string, r source.Record) (client.Order, bool) {
	s.number++
	l := submitLine{File: file, Line: r.Line}
	if r.Err != nil {
		s.unreadable(l, r.Err.Error())
		return client.Order{}, false
	}
	var order message.SubmitOrder
	var err error
	hint := ""
	if s.workflow == "" {
		order, err = message.DecodeSubmit(r.Data)
		if err != nil {
			hint = envelopeHint(r.Data)
		}
	} else {
		order, err = bare(r.Data, s.workflow, s.id, s.number)
	}
	sent := client.Order{
		ID: order.OrderID, Workflow: order.Workflow, Content: order.Order,
		Priority: order.Priority, ReplyTo: order.ReplyTo, Deadline: order.Deadline.Std(),
	}
	if err == nil {
		err = s.matches(sent)
	}
	if err != nil {
		l.OrderID, _ = order.Known()
		s.unreadable(l, err.Error()+hint)
		return client.Order{}, false
	}
	s.mu.Lock()
	s.pending = append(s.pending, pending{l, order.Workflow})
	s.mu.Unlock()
	return sent, true
}

// matches checks an order for a stack against the schema of the order's workflow. Without this check, the
// Scheduler could refuse the order only after `submit` has ended.
func (s *submission) matches(o client.Order) error {
	if s.schemaOf == nil {
		return nil
	}
	known := s.schemaOf(o.Workflow)
	if known == nil {
		return nil
	}
	err := known.Check(o)
	if err != nil && s.stored(o.ID) {
		// An existing order stays accepted even if the schema has changed (P14, submit creates once).
		return nil
	}
	return err
}

func (s *submission) answered(r client.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	at := s.pending[0] // the results come in the sequence of the orders
	s.pending = s.pending[1:]
	l := submitLine{
		File: at.File, Line: at.Line, OrderID: r.OrderID, Accepted: r.Accepted, Known: r.Known,
		Queued: r.Queued, State: r.State, Ended: r.State.Terminal(), Notes: r.Notes, Unattended: r.Unattended,
	}
	s.bar.Add(1)
	if r.Err != nil {
		s.refused++
		l.Error = &submitError{Code: "refused", Message: r.Err.Error()}
		var e *client.Error
		if errors.As(r.Err, &e) && e.Code != "" {
			l.Error.Code = e.Code
		}
		s.problem(l)
	} else {
		if s.queuesOf != nil {
			l.Unattended = s.queuesOf(at.workflow)
		}
		if l.Known {
			s.known++
		}
		s.taken = append(s.taken, l)
		if s.app.JSON() && !s.wait {
			s.app.PrintLine(l)
		}
		s.unattended(l)
	}
	s.release()
}

// bare adds an envelope, with an ID and a workflow, to an order. If id is "", bare makes an ID from the
// workflow, the order's content and number. The argument number is the position of the order in the file. The
// same file therefore always gives the same IDs, and a user can submit the file again. Two equal orders in a
// file get different IDs.
func bare(data []byte, workflow, id string, number int) (message.SubmitOrder, error) {
	var envelope struct {
		OrderID  *string          `json:"orderId"`
		Workflow *string          `json:"workflow"`
		Order    *json.RawMessage `json:"order"`
	}
	// Check the order before the envelope adds a level of nesting.
	if err := rawjson.Check(data, rawjson.MaxLevels); err != nil {
		return message.SubmitOrder{}, err
	}
	err := json.Unmarshal(data, &envelope)
	if err == nil && envelope.OrderID != nil && envelope.Workflow != nil && envelope.Order != nil {
		return message.SubmitOrder{},
			fmt.Errorf("it has an orderId and a workflow of its own already; leave --workflow out")
	}
	if id == "" {
		hash := message.ContentHash(message.SubmitOrder{Workflow: workflow, Order: data})
		id = fmt.Sprintf("%s-%s-%d", workflow, hash[:16], number)
	}
	whole, err := rawjson.Marshal(map[string]any{
		"schema": message.Schema, "orderId": id, "workflow": workflow, "order": json.RawMessage(data),
	})
	if err != nil {
		return message.SubmitOrder{}, err
	}
	return message.DecodeSubmit(whole)
}

// envelopeHint returns a fix for a record that seems to be an order without an envelope. It returns "" for
// any other record.
func envelopeHint(data []byte) string {
	var envelope map[string]json.RawMessage
	if json.Unmarshal(data, &envelope) != nil {
		return ""
	}
	if envelope["workflow"] != nil || envelope["order"] != nil {
		return ""
	}
	return "; if it is the order itself, name its workflow with --workflow NAME"
}
