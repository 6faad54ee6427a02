package console

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/bulk"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// running is a list of a bulk command that this process has started.
type running struct {
	*bulk.List
	File string
	stop context.CancelFunc
	mu   sync.Mutex
	end  *bulk.Report // final report; nil while the list runs
	err  error
}

// plan is the expected effect of a bulk command at the time when the page was made.
type plan struct {
	Groups []bulk.Group
	Count  int // number of orders that would accept the command
	Seen   string
}

// planOf groups the orders by the expected effect. The field Seen is a hash of the orders, for checking later
// whether the orders have changed.
func planOf(orders []bulk.Order) *plan {
	p := &plan{Groups: bulk.Groups(orders)}
	hash := sha256.New()
	for i := range orders {
		o := &orders[i]
		fmt.Fprintf(hash, "%s %d %s\n", o.OrderID, o.Number, o.Result)
		if o.Result == "" {
			p.Count++
		}
	}
	p.Seen = hex.EncodeToString(hash.Sum(nil))
	return p
}

// headerOf returns the selection and the command in the values of a form or an address.
func headerOf(values url.Values) bulk.Header {
	x := bulk.Header{Where: bulk.Where{}, Action: bulk.Action{
		Command: values.Get("command"),
		Step:    values.Get("resolve-step"), Fact: client.Fact(values.Get("fact")),
		Definition: strings.TrimSpace(values.Get("definition")), By: strings.TrimSpace(values.Get("by")),
		Reason: strings.TrimSpace(values.Get("reason")),
	}}
	for _, key := range bulk.Keys {
		if v := strings.TrimSpace(values.Get(key)); v != "" {
			x.Where[key] = v
		}
	}
	return x
}

// lineOf returns the equivalent command line. It quotes the values for a shell, because the values come from
// the page's address.
func lineOf(x *bulk.Header, program string) string {
	var where []string
	for _, key := range bulk.Keys {
		if v := x.Where[key]; v != "" {
			where = append(where, key+"="+v)
		}
	}
	line := program + " " + message.Quoted(x.Command)
	if x.Command == "resolve" {
		line += " " + message.Quoted(x.Step) + " " + message.Quoted(string(x.Fact))
	}
	if x.Definition != "" {
		line += " --definition " + message.Quoted(x.Definition)
	}
	return line + " --where " + message.Quoted(strings.Join(where, ",")) + ` --reason "…"`
}

// planBulk shows the expected effect of a bulk command. It also shows the bulk commands that this process has
// started.
func (s *server) planBulk(ctx context.Context, r *http.Request, k *kept) (content, error) {
	x := headerOf(r.URL.Query())
	data := struct {
		menus
		States    []core.State // states in the menu; the first state is the default
		Selection bulk.Header
		Plan      *plan
		Line      string
		Commands  []string
		Lists     []*running
	}{
		States: bulk.States, Selection: x, Commands: bulk.Commands, Lists: s.bulks.Values(),
	}
	slices.Reverse(data.Lists) // the newest first
	if k != nil && k.plan != nil {
		data.Plan = k.plan
	} else if len(x.Where) > 0 && x.Command != "" {
		orders, err := bulk.Select(ctx, s.Client, x.Where, x.Action, bulk.Unseen)
		switch {
		case errors.Is(err, context.DeadlineExceeded):
			return refusal("Not available", http.StatusBadGateway, "The orders could not be looked at, one by one, in time.",
				"Select fewer, or run `"+lineOf(&x, s.Program)+"`."), nil
		case err != nil:
			return content{}, err
		}
		data.Plan = planOf(orders)
	}
	if data.Plan != nil {
		data.Line = lineOf(&x, s.Program)
	}
	if k != nil {
		k.plan = data.Plan
	}
	var err error
	data.menus, err = s.menus(ctx, filter(x.Where))
	busy := slices.ContainsFunc(data.Lists, func(b *running) bool { return b.going() })
	return content{Title: "Bulk", Template: "bulk", Data: &data, Busy: busy}, err
}

// startBulk starts a bulk command. It first writes the list of orders to a file. It sends nothing if the
// orders have changed since the page was loaded.
func (s *server) startBulk(w http.ResponseWriter, r *http.Request) {
	began, err := s.begin(r)
	if err != nil {
		s.refuse(w, r, http.StatusConflict, "Nothing was sent: "+err.Error()+".",
			"Go back, and look at the orders again.")
		return
	}
	s.Log.Info("bulk command of the console", "bulk", began.Bulk, "kind", began.Command, "orders",
		began.Orders, "file", began.File)
	http.Redirect(w, r, "/bulk/"+began.Bulk, http.StatusSeeOther)
}

func (s *server) begin(r *http.Request) (*running, error) {
	h := headerOf(r.PostForm)
	h.Patience = (5 * time.Minute).Seconds()
	var err error
	number := func(name string) (n float64) {
		if err == nil {
			n, err = strconv.ParseFloat(r.PostFormValue(name), 64)
			if err != nil {
				err = fmt.Errorf("%s is not a number", name)
			}
		}
		return n
	}
	h.Rate = number("rate")
	h.StopAt = number("stop-at") / 100
	if err == nil {
		h.Canary, err = wholeNumber(r.PostForm, "canary")
	}
	if err == nil {
		err = h.Named(s.Now())
	}
	if err != nil {
		return nil, err
	}
	orders, err := bulk.Select(r.Context(), s.Client, h.Where, h.Action, bulk.Unseen)
	if err != nil {
		return nil, err
	}
	if planOf(orders).Seen != r.PostFormValue("seen") {
		return nil, fmt.Errorf("the orders have changed since the page was loaded")
	}
	file := filepath.Join(s.Folder, h.File())
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, err
	}
	if err := bulk.Create(file, h, orders); err != nil {
		return nil, err
	}
	l, err := bulk.Open(file)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(context.Background())
	b := &running{List: l, File: file, stop: stop}
	s.bulks.Add(b.Bulk, b)
	b.start(ctx, s.Client)
	return b, nil
}

func (b *running) start(ctx context.Context, c *client.Client) {
	go func() {
		defer b.stop()
		why := ""
		err := port.Guard(nil, "the list "+b.Bulk, func() error {
			r, err := b.Run(ctx, c, nil)
			why = r.Stopped
			return err
		})
		b.mu.Lock()
		defer b.mu.Unlock()
		end := b.Report()
		end.Stopped = why
		b.end = &end
		b.err = errors.Join(err, b.Close())
	}()
}

// Now returns the present report. The result on reports whether the list is still running.
func (b *running) Now() (r bulk.Report, on bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.end != nil {
		return *b.end, false, b.err
	}
	return b.Report(), true, nil
}

func (b *running) going() bool {
	_, on, _ := b.Now()
	return on
}

func (s *server) showBulk(_ context.Context, r *http.Request, _ *kept) (content, error) {
	b, known := s.bulks.Peek(r.PathValue("id"))
	if !known {
		return refusal("Not found", http.StatusNotFound, "This console processes no list with that ID.",
			"To continue a list of another process, run `"+s.Program+" continue JOURNAL`."), nil
	}
	report, on, err := b.Now()
	text := ""
	if err != nil {
		text = err.Error()
	}
	type result struct {
		Name, Class string
		IDs         []string
	}
	return content{Title: "Bulk " + b.Bulk, Template: "bulk-list", Busy: on, Data: struct {
		*running
		Report        bulk.Report
		Results       []result
		Going         bool
		Failure, Line string
	}{
		b, report,
		[]result{
			{"fixed", "good", report.Fixed},
			{"failed again", "bad", report.Again},
			{"refused", "", report.Refused},
			{"unknown, or running", "", report.Unknown},
			{"not sent", "", report.NotSent},
		},
		on, text, s.Program + " continue " + message.Quoted(b.File),
	}}, nil
}

func (s *server) stopBulk(w http.ResponseWriter, r *http.Request) {
	if b, known := s.bulks.Peek(r.PathValue("id")); known {
		b.stop()
	}
	http.Redirect(w, r, "/bulk/"+url.PathEscape(r.PathValue("id")), http.StatusSeeOther)
}
