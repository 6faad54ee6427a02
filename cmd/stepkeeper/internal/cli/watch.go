package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/render"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

type watchOptions struct {
	app      *app.App
	id       string // "" means the newest orders
	interval time.Duration
	limit    int
}

// stackInterval is the default polling interval for the list of a stack. It is longer than the interval for a
// server, because AWS bills each query.
const stackInterval = 5 * time.Second

var watchText = app.Text{
	Use:   "watch [ID]",
	Group: "orders",
	Short: "Watch an order, or the newest orders, live",
	Examples: `  stepkeeper watch order-1001
  stepkeeper watch`,
	Long: `With an ID it follows the order to its end; the exit code is 6 unless the order ends Processed. Without an ID it
shows the newest orders until you interrupt it. A terminal gets a picture that changes, a file one line for each
change. With --output json each line is the whole order, or its summary.`,
	Args:  app.Args{Most: 1, What: "one order's ID at most"},
	Offer: app.Orders,
	Reach: app.Untimed,
}

func newWatch(a *app.App) *cobra.Command {
	o := &watchOptions{app: a, interval: time.Second, limit: 20}
	flags := []app.Flag{
		app.OutputFlags.Flag("interval", &o.interval,
			"how often to read the list (of a stack: 5s)").Within("10ms", ""),
		app.OutputFlags.Flag("limit", &o.limit, "`number` of newest orders to show").Within("1", "1000"),
	}
	return a.Command(watchText, flags, func(cmd *cobra.Command, given []string) error {
		if len(given) > 0 {
			o.id = given[0]
			if err := app.Foreign(cmd, flags, "the newest orders, without an ID"); err != nil {
				return err
			}
		}
		if a.Stack != "" && !cmd.Flags().Changed("interval") {
			o.interval = stackInterval
		}
		return runWatch(cmd.Context(), o)
	})
}

func runWatch(ctx context.Context, o *watchOptions) error {
	if o.id == "" {
		ctx, cancel := o.app.Bounded(ctx, 0)
		defer cancel()
		c, err := o.app.Client(ctx) // The method list retries, and reports outages, by itself.
		if err != nil {
			return err
		}
		return o.list(ctx, c)
	}
	if err := app.CheckID(o.id); err != nil {
		return err
	}
	ctx, c, end, err := o.app.Patient(ctx, 0)
	if err != nil {
		return err
	}
	defer end()
	return o.order(ctx, c)
}

func (o *watchOptions) order(ctx context.Context, c *client.Client) error {
	var last view.Task
	s := &screen{app: o.app}
	for task, err := range c.Follow(ctx, o.id) {
		switch {
		case err != nil && ctx.Err() != nil:
			return o.unfinished(ctx)
		case err != nil:
			return o.app.Explain(err, "order "+o.id)
		}
		o.draw(s, last, *task)
		last = *task
		if task.Ended {
			break
		}
	}
	switch {
	case last.Ended && last.State == core.Processed:
		return nil
	case last.Ended:
		return failure.Silent(failure.NotProcessed, "order "+o.id+" was not processed")
	}
	return o.unfinished(ctx)
}

// unfinished returns the error for an order that did not end before the time limit or an interrupt. Code 0 means that
// the order is Processed.
func (o *watchOptions) unfinished(ctx context.Context) error {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return failure.New(failure.General, "give a longer --timeout, or none",
			"order %s did not end within %v", o.id, o.app.Timeout)
	}
	return o.app.Explain(ctx.Err(), "order "+o.id)
}

func (o *watchOptions) draw(s *screen, last, task view.Task) {
	switch {
	case o.app.JSON():
		o.app.PrintLine(task)
	case o.app.Streams.IsTerminal():
		var picture strings.Builder
		o.app.Page().Task(&picture, task)
		if task.Ended {
			s.write(picture.String())
		} else {
			s.frame(picture.String())
		}
	default:
		for _, line := range changes(render.Cleaned(last), render.Cleaned(task), o.app.Now()) {
			at := o.app.Now().UTC().Format("15:04:05.000 UTC")
			fmt.Fprintf(o.app.Streams.Out, "%s  %s\n", at, line)
		}
	}
}

// changes describes the differences between two versions of a task. The steps come first.
func changes(last, task view.Task, now time.Time) []string {
	var lines []string
	before := map[string]view.Step{}
	for _, s := range last.Steps {
		before[s.Name] = s
	}
	for _, s := range task.Steps {
		b, known := before[s.Name]
		if known && b.State == s.State && b.Attempts == s.Attempts || !known && s.State == core.Pending &&
			s.FirstAt == 0 {
			continue
		}
		line := fmt.Sprintf("%s  %s", s.Name, s.State)
		if s.Attempts > 1 {
			line += fmt.Sprintf(", attempt %d", s.Attempts)
		}
		if s.Error != nil && s.State != core.Processed && s.State != core.Compensated &&
			(b.Error == nil || *b.Error != *s.Error) {
			line += ": " + cmp.Or(s.Error.Message, s.Error.Code)
		}
		lines = append(lines, line)
	}
	if last.State != task.State {
		line := fmt.Sprintf("%s  %s", task.OrderID, task.State)
		if task.Error != nil {
			line += ": " + cmp.Or(task.Error.Message, task.Error.Code)
		}
		lines = append(lines, line)
	}
	if u := task.UndoWait; u != nil && (last.UndoWait == nil || *last.UndoWait != *u) {
		lines = append(lines, task.OrderID+"  "+render.UndoWait(task, now))
	}
	return lines
}

// list shows the newest orders repeatedly. If a request after the first fails, list tries again, because the
// server may be restarting.
func (o *watchOptions) list(ctx context.Context, c *client.Client) error {
	seen := map[string]view.Summary{}
	s := &screen{app: o.app}
	away := false
	tick := time.NewTicker(o.interval)
	for first := true; ; first = false {
		orders, err := o.newest(ctx, c)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && first:
			return o.app.Explain(err, "list of orders")
		case err != nil && !away:
			away = true
			o.app.Warn(o.app.Explain(err, "list of orders").Error() + "; trying again")
		case err == nil:
			away = false
			o.drawList(s, seen, orders)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return nil
		}
	}
}

func (o *watchOptions) newest(ctx context.Context, c *client.Client) ([]view.Summary, error) {
	var orders []view.Summary
	for s, err := range c.List(ctx, client.Query{PageSize: o.limit}) {
		if err != nil {
			return nil, err
		}
		orders = append(orders, s)
		if len(orders) == o.limit {
			break
		}
	}
	return orders, nil
}

func (o *watchOptions) drawList(s *screen, seen map[string]view.Summary, orders []view.Summary) {
	a := o.app
	if a.Streams.IsTerminal() && !a.JSON() {
		var picture strings.Builder
		fmt.Fprintf(&picture, "%s  %s\n\n", a.Streams.Style().Bold("Newest orders"),
			a.Streams.Style().Faint(a.Now().UTC().Format("15:04:05 UTC")))
		header, rows := summary(a, orders)
		render.Table(&picture, a.Streams.Style(), "", header, rows)
		s.frame(picture.String())
		return
	}
	present := map[string]bool{}
	for i := len(orders) - 1; i >= 0; i-- { // Print the oldest order first.
		order := orders[i]
		present[order.OrderID] = true
		if before, ok := seen[order.OrderID]; ok && before.State == order.State && before.Run == order.Run {
			continue
		}
		seen[order.OrderID] = order
		if a.JSON() {
			a.PrintLine(order)
			continue
		}
		at := a.Now().UTC().Format("15:04:05.000 UTC")
		fmt.Fprintf(a.Streams.Out, "%s  %s  %s\n", at, order.OrderID, order.State)
	}
	for id := range seen { // Limit the map to the orders of one page.
		if !present[id] {
			delete(seen, id)
		}
	}
}

type screen struct {
	app   *app.App
	begun bool
}

// frame writes a picture that the next one replaces. It leaves out the lines for which the terminal has no row: the
// next picture could not replace what has scrolled away.
func (s *screen) frame(picture string) {
	lines := strings.SplitAfter(strings.TrimSuffix(picture, "\n"), "\n")
	streams := s.app.Streams
	room := streams.Height() - 2 // for the line about what is left out, and for the cursor
	used := 0
	for i, line := range lines {
		used += max(1, (text.StringWidthWithoutEscSequences(line)+streams.Width()-1)/streams.Width())
		if used > room && i < len(lines)-1 {
			more := fmt.Sprintf("… %d more lines; a higher terminal has room for them\n", len(lines)-i)
			s.write(strings.Join(lines[:i], "") + streams.Style().Faint(more))
			return
		}
	}
	s.write(picture)
}

// write writes a whole picture at once, so that the terminal does not flicker.
func (s *screen) write(picture string) {
	var b strings.Builder
	if !s.begun {
		b.WriteString("\x1b[2J")
		s.begun = true
	}
	b.WriteString("\x1b[H")
	b.WriteString(strings.ReplaceAll(picture, "\n", "\x1b[K\n"))
	b.WriteString("\x1b[J")
	fmt.Fprint(s.app.Streams.Out, b.String())
}
