package embedded

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/semaphore"

	"github.com/stepkeeper/stepkeeper/dev/api"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/redirect"
)

// OnAlert configures the webhook and the command that receive alerts. The log receives every alert as well.
// If the webhook or the command fails, both get the alert again after a minute. Orders do not wait for the
// webhook or the command.
type OnAlert struct {
	// Webhook is a URL that gets each alert as JSON in a POST request. It has 10 s to respond with 2xx. The
	// runtime does not follow redirects, and counts a redirect as a failure. "" means no webhook.
	Webhook string
	// Command is a program with its arguments. The runtime starts it without a shell, with the alert as JSON
	// on its standard input. It has 30 s to exit with status 0. nil means no command.
	Command []string
	Timeout time.Duration // time limit of the webhook and of the command; 0 means the 10 s and 30 s above
	// Window is the shortest time for which an incident is open: its end is not reported earlier, and undone
	// orders of one cause have at most one alert in it. 0 means incident.DefaultWindow.
	Window time.Duration
	// Reminder is the time between two alerts about an incident that has not ended. 0 means
	// incident.DefaultReminder. A negative value means no reminders.
	Reminder time.Duration
}

const (
	webhookTime = 10 * time.Second
	commandTime = 30 * time.Second
	// atOnce limits the concurrent webhook requests, and the concurrent runs of the command.
	atOnce = 4
	// mostDrained limits the bytes read of a webhook's response. A longer response ends the connection.
	mostDrained = 64 << 10
	// mostOutput limits the command's output in an error, in bytes.
	mostOutput = 500
)

// Check returns an error if the settings are invalid.
func (o OnAlert) Check() error {
	if o.Webhook != "" {
		if u, err := url.Parse(o.Webhook); err != nil || u.Host == "" || u.Scheme != "http" &&
			u.Scheme != "https" {
			return fmt.Errorf(
				"the webhook of alerts is %.200q; it must be a URL like "+
					"https://alerts.example.com/stepkeeper",
				o.Webhook)
		}
	}
	if len(o.Command) > 0 {
		if _, err := exec.LookPath(o.Command[0]); err != nil {
			return fmt.Errorf("the command of alerts cannot be run: %w", err)
		}
	}
	if o.Window < 0 {
		return fmt.Errorf("the window of alerts is %s; it must be a time like 15m", o.Window)
	}
	return nil
}

// lookEvery is the number of sweep intervals between two checks of the open incidents. The checks are rarer
// than sweeps, because each check counts the orders in Error.
const lookEvery = 20

// watch checks the incidents periodically. Each check publishes the due alerts and updates the metrics of
// orders in Error.
func (s *Runtime) watch(ctx context.Context) {
	every(ctx, lookEvery*s.options.SweepEvery, func() {
		if err := s.alertAbsent(ctx); err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "the outages of absent agents are not up to date; they are looked at again",
				"error", err)
		}
		stopped, err := s.incidents.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "incidents; they are looked at again", "error", err)
		}
		if err == nil || stopped != nil { // if the incidents could not be read, the metrics stay
			s.metrics.stopped(stopped)
		}
	})
}

// alertAbsent opens an outage for each agent outside this process whose requests wait and are not received. It
// ends the outage when the agent receives again.
func (s *Runtime) alertAbsent(ctx context.Context) error {
	absent := map[string]bool{}
	var errs []error
	for _, u := range s.Unattended(ctx) {
		if u.Waiting > 0 {
			absent[u.Agent] = true
			errs = append(errs, s.incidents.Absent(ctx, u.Agent, fmt.Sprintf(
				"no process receives from the queue %s; start the agent", u.Queue)))
		}
	}
	outages, err := s.incidents.Outages(ctx)
	for _, o := range outages {
		if o.Code == core.CodeNoConsumer && o.Ended == 0 && !absent[o.Agent] {
			errs = append(errs, s.incidents.Present(ctx, o.Agent))
		}
	}
	return errors.Join(append(errs, err)...)
}

// alertRefusals opens an incident when the runtime refuses new orders because MaxOpen orders are active. It
// keeps the incident open until fewer than nine tenths of MaxOpen are active.
func (s *Runtime) alertRefusals(ctx context.Context) {
	last := s.refused.Load()
	active := s.hub.activeOrders()
	if last == nil {
		return
	}
	err := s.incidents.Refused(ctx, api.CodeBusy, tooMany(max(active, last.Active), s.options.MaxOpen))
	if err != nil && ctx.Err() == nil {
		s.log.ErrorContext(ctx, "no alert that new orders are refused; it is tried again while that lasts",
			"error", err)
	}
	if active < s.options.MaxOpen-s.options.MaxOpen/10 {
		s.refused.CompareAndSwap(last, nil)
	}
}

// newIncidents returns the incidents of the runtime. They publish alerts in goroutines of their own, so
// callers do not wait for the webhook or the command. Close ends these goroutines.
func (s *Runtime) newIncidents() *incident.Incidents {
	sinks := alertSinks{
		OnAlert: s.options.OnAlert, log: s.log, server: s.options.server,
		posts: semaphore.NewWeighted(atOnce), runs: semaphore.NewWeighted(atOnce),
	}
	return incident.New(incident.Config{
		Records: s.store, Tasks: s.store, Publish: sinks.publish, Clock: s.clock, Window: sinks.Window,
		Reminder: sinks.Reminder, Log: s.log,
		Go: func(publication func(context.Context)) {
			s.rest.Go(func() {
				_ = port.Guard(s.log, "an alert", func() error { publication(s.work); return nil })
			})
		},
	})
}

// alertSinks publishes alerts to the log, the webhook and the command. If an alert is lost, the operator
// still finds its orders in the list of orders in Error (P27, the embedded runtime survives its queues).
type alertSinks struct {
	OnAlert
	log         *slog.Logger
	server      string              // address of this process; "" if it does not serve HTTP
	posts, runs *semaphore.Weighted // semaphores that limit the running webhook requests and commands
}

// commandList is a list of commands. In a text log, semicolons separate the commands.
type commandList []string

func (c commandList) String() string { return strings.Join(c, "; ") }

func (a alertSinks) publish(ctx context.Context, alert message.Alert) error {
	options := ""
	if a.server != "" {
		options = "--server " + a.server
	}
	alert = alert.For(a.server, options)
	attributes := []any{"kind", alert.Kind}
	if alert.Workflow != "" {
		attributes = append(attributes, "order", alert.OrderID, "workflow", alert.Workflow)
	}
	for _, f := range alert.Facts() {
		attributes = append(attributes, f.Name, f.Value)
	}
	level := slog.LevelError
	if alert.Kind == message.AlertOver {
		level = slog.LevelInfo
	}
	a.log.Log(ctx, level, "ALERT: "+alert.Title(),
		append(attributes, "commands", commandList(alert.Commands))...)
	body, err := alert.Encode()
	if err != nil {
		return fmt.Errorf("alert %q: %w", alert.Title(), err)
	}
	var posted error
	var posting sync.WaitGroup
	posting.Go(func() {
		posted = port.Guard(a.log, "the webhook", func() error { return a.post(ctx, body) })
	})
	err = a.run(ctx, body)
	posting.Wait()
	err = errors.Join(posted, err)
	if err != nil {
		return fmt.Errorf("alert %q: %w", alert.Title(), err)
	}
	return nil
}

// hook follows no redirect. A redirect could send the alert to an unknown host. It could also turn the POST
// into a GET of a login page, which responds with 200.
var hook = redirect.Refused(http.Client{})

func (a alertSinks) post(ctx context.Context, body []byte) error {
	if a.Webhook == "" {
		return nil
	}
	if err := a.posts.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.posts.Release(1)
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(a.Timeout, webhookTime))
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Webhook, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := hook.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) { // the text of a url.Error contains the address, which may contain a secret
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("the webhook: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.CopyN(io.Discard, resp.Body, mostDrained) // the next alert can then use the connection
	switch resp.StatusCode / 100 {
	case 2:
		return nil
	case 3:
		return fmt.Errorf(
			"the webhook answered %s, a redirect to %s, and alerts follow no redirect: set its final address",
			resp.Status, redirect.Target(resp))
	}
	return fmt.Errorf("the webhook answered %s", resp.Status)
}

// run runs the command. At the deadline it ends the command and, on Unix, the command's child processes.
func (a alertSinks) run(ctx context.Context, body []byte) error {
	if len(a.Command) == 0 {
		return nil
	}
	if err := a.runs.Acquire(ctx, 1); err != nil {
		return err
	}
	defer a.runs.Release(1)
	limit := cmp.Or(a.Timeout, commandTime)
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	output := &head{}
	cmd := exec.CommandContext(ctx, a.Command[0], a.Command[1:]...) //nolint:gosec // the user's own command
	cmd.Stdin = bytes.NewReader(append(body, '\n'))
	cmd.WaitDelay = time.Second
	cmd.Stdout = output
	cmd.Stderr = output
	endWithChildren(cmd)
	err := cmd.Run()
	if ctx.Err() != nil {
		err = fmt.Errorf("it was ended after %s: %w", limit, ctx.Err())
	}
	if err != nil {
		return fmt.Errorf("the command %s: %w: %s", a.Command[0], err, output.text)
	}
	return nil
}

type head struct{ text []byte }

func (h *head) Write(p []byte) (int, error) {
	h.text = append(h.text, p[:min(len(p), mostOutput-len(h.text))]...)
	return len(p), nil
}
