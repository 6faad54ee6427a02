package embedded

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/incident"
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// OnAlert says what is done with an alert, beside its line in the log. What fails is tried again at the next sweep, and alerts
// come twice then.
type OnAlert struct {
	// Webhook gets a POST with the alert's JSON, and has 10 s to answer 2xx; "" for none.
	Webhook string
	// Command is a program with its arguments, without a shell. It gets the alert's JSON on its standard input and has 30 s to
	// exit with 0; none for nothing.
	Command []string
	// Window is how long an incident gathers orders before their number is reported; 0: incident.DefaultWindow.
	Window time.Duration
	// Reminder is how long after an alert the next one of an incident that lasts; 0: incident.DefaultReminder, negative: none.
	Reminder time.Duration
}

const (
	webhookTime = 10 * time.Second
	commandTime = 30 * time.Second
)

// Check says what is wrong with the settings.
func (o OnAlert) Check() error {
	if o.Webhook != "" {
		if u, err := url.Parse(o.Webhook); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return fmt.Errorf("the webhook of alerts is %.200q; a URL like https://alerts.example.com/stepkeeper is meant", o.Webhook)
		}
	}
	if len(o.Command) > 0 {
		if _, err := exec.LookPath(o.Command[0]); err != nil {
			return fmt.Errorf("the command of alerts cannot be run: %w", err)
		}
	}
	if o.Window < 0 {
		return fmt.Errorf("the window of alerts is %s; a time like 15m is meant", o.Window)
	}
	return nil
}

// lookEvery is how often the open incidents are looked at, in sweeps: each look counts the orders in Error.
const lookEvery = 20

// watch publishes what is due of the incidents. It is no part of the Supervisor's sweep: a webhook that does not answer must not
// delay what is overdue.
func (s *Runtime) watch(ctx context.Context) {
	tick := time.NewTicker(lookEvery * s.options.SweepEvery)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		stopped, err := s.incidents.Sweep(ctx)
		if err != nil && ctx.Err() == nil {
			s.log.ErrorContext(ctx, "incidents; they are looked at again", "error", err)
		}
		if err == nil || stopped != nil { // else nothing was counted
			s.metrics.stopped(stopped)
		}
	}
}

// newIncidents makes what alerts the operator.
func (s *Runtime) newIncidents() *incident.Incidents {
	sinks := alertSinks{OnAlert: s.options.OnAlert, log: s.log, server: s.options.server}
	return incident.New(incident.Config{
		Records: s.store, Tasks: s.store, Publish: sinks.publish, Clock: s.clock, Window: sinks.Window, Reminder: sinks.Reminder, Log: s.log,
	})
}

// alertSinks publish alerts to the log, a webhook and a command. The tasks stand in the operator's list too (P27).
type alertSinks struct {
	OnAlert
	log    *slog.Logger
	server string // the address of this process; "" where it serves none
}

func (a alertSinks) publish(ctx context.Context, alert message.Alert) error {
	options := ""
	if a.server != "" {
		options = "--server " + a.server
	}
	alert = alert.For(a.server, options)
	attributes := []any{"order", alert.OrderID, "workflow", alert.Workflow, "kind", alert.Kind}
	for _, f := range alert.Facts() {
		attributes = append(attributes, f.Name, f.Value)
	}
	a.log.ErrorContext(ctx, "ALERT: "+alert.Title(), append(attributes, "commands", alert.Commands)...)
	body, err := json.Marshal(alert)
	if err != nil {
		return fmt.Errorf("alert of task %q: %w", alert.OrderID, err)
	}
	if err := errors.Join(a.post(ctx, body), a.run(ctx, body)); err != nil {
		return fmt.Errorf("alert of task %q: %w", alert.OrderID, err)
	}
	return nil
}

func (a alertSinks) post(ctx context.Context, body []byte) error {
	if a.Webhook == "" {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, webhookTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, a.Webhook, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("the webhook: %w", err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	var failed *url.Error
	if errors.As(err, &failed) { // its text has the address, which may hold a secret
		err = failed.Err
	}
	if err != nil {
		return fmt.Errorf("the webhook: %w", err)
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 64<<10))
	if resp.StatusCode/100 != 2 {
		return fmt.Errorf("the webhook answered %s", resp.Status)
	}
	return nil
}

func (a alertSinks) run(ctx context.Context, body []byte) error {
	if len(a.Command) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, a.Command[0], a.Command[1:]...) //nolint:gosec // the user's own
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader(append(body, '\n')), time.Second
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("the command %s: %w: %.500s", a.Command[0], err, output)
	}
	return nil
}
