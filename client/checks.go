package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/message"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// Check is the result of one health check of a deployment.
type Check struct {
	Name   string      `json:"name"` // subject, such as "clock" or "queue replies"
	Result CheckResult `json:"result"`
	Text   string      `json:"text"`          // result in words
	Fix    string      `json:"fix,omitempty"` // remedy if the result is not ok
}

// CheckResult is the outcome of a Check.
type CheckResult string

// Results of a Check.
const (
	CheckOK      CheckResult = "ok"
	CheckFailed  CheckResult = "failed"
	CheckUnknown CheckResult = "unknown" // the check did not run; Text states the reason
)

// MostSkew is the largest accepted difference between the local clock and the clock of the server or of AWS.
// The difference must be small because agents compare the times in requests with their own clocks.
const MostSkew = 30 * time.Second

// Checks runs the health checks of a deployment. It changes nothing.
//
// Checks covers these subjects:
//
//   - Server: health, release, message path, consumers of queues, clock, dead letters.
//   - Stack: access to the tables, permission to send, release, consumers of queues, dead letters, sweeps,
//     stored definitions, outages of agents, quotas, clock.
//
// Checks returns an error if a server does not respond. If a single check of a stack cannot run, its result
// is CheckUnknown.
func (c *Client) Checks(ctx context.Context) ([]Check, error) {
	checks, err := again(ctx, c, c.via.Checks)
	if err != nil {
		return nil, err
	}
	queues, err := c.DeadLetterQueues(ctx)
	if err != nil {
		return append(checks, NotChecked("dead letters", err)), ctx.Err()
	}
	return append(checks, CheckDeadLetters(queues, time.Now())...), nil
}

// Checked returns the result of a check: CheckOK if ok is true, and CheckFailed with fix otherwise.
func Checked(name string, ok bool, text, fix string) Check {
	if ok {
		return Check{name, CheckOK, text, ""}
	}
	return Check{name, CheckFailed, text, fix}
}

// NotChecked returns the result CheckUnknown of a check that did not run, with the reason.
func NotChecked(name string, why error) Check {
	return Check{Name: name, Result: CheckUnknown, Text: "not checked: " + why.Error()}
}

// CheckRelease compares the release of a server or a stack with the release of this program. The check fails
// if the two releases have different formats of tasks or messages.
func CheckRelease(whose string, theirs, ours view.Release) Check {
	const name = "version"
	switch {
	case theirs == view.Release{}:
		return Check{name, CheckUnknown, "not checked: " + whose +
			" does not report its version, so it is older than this program", "update " + whose}
	case theirs.Tasks != ours.Tasks || theirs.Messages != ours.Messages:
		return Checked(name, false, fmt.Sprintf("this program is %s, and %s was built from %s: what only the newer one "+
			"writes cannot be read by the other, and messages of that kind may become dead letters", ours, whose, theirs),
			"use the stepkeeper that "+whose+" was built from, or update "+whose+" to this one")
	case theirs.Version != ours.Version:
		return Checked(name, true, fmt.Sprintf("this program is %s, and %s %s; each reads what the other writes",
			ours.Version, whose, theirs.Version), "")
	}
	return Checked(name, true, "this program and "+whose+" run the same version, "+ours.Version, "")
}

// CheckClock compares the time in a response with the local time at which the response arrived.
func CheckClock(whose string, theirs, ours time.Time) Check {
	const name = "clock"
	if theirs.IsZero() {
		return Check{name, CheckUnknown, "the response of " + whose + " has no Date header", "compare the clocks yourself"}
	}
	skew := ours.Sub(theirs).Round(time.Second)
	text := fmt.Sprintf("the clock here is %s ahead of that of %s", skew, whose)
	switch {
	case skew.Abs() <= MostSkew:
		text = fmt.Sprintf("the clock here is within %s of that of %s", MostSkew, whose)
	case skew < 0:
		text = fmt.Sprintf("the clock here is %s behind that of %s", -skew, whose)
	}
	return Checked(name, skew.Abs() <= MostSkew, text, "synchronise it, for instance with chrony")
}

// CheckUnattended returns a failed check for each queue without a consumer. If there is no such queue, it
// returns one successful check.
func CheckUnattended(all []Unattended) []Check {
	if len(all) == 0 {
		return []Check{{"consumers", CheckOK, "every queue has a consumer", ""}}
	}
	checks := make([]Check, 0, len(all))
	for _, u := range all {
		c := Check{"queue " + u.Queue, CheckFailed, fmt.Sprintf("no consumer, %s waiting",
			view.Count(u.Waiting, "message")), cmp.Or(u.Fix, "start the agent "+u.Agent+", or write the right name of the "+
			"agent into the workflow")}
		if u.Since != 0 {
			c.Text += ", since " + u.Since.String()
		}
		if u.Reason != "" {
			c.Text += ": " + u.Reason
		}
		checks = append(checks, c)
	}
	return checks
}

// checkSubmission sends a submission without an order, which the server refuses as incomplete. The refusal
// shows that the server receives this client's messages.
func (h *overHTTP) checkSubmission(ctx context.Context) Check {
	const name = "message path"
	resp, err := h.send(ctx, http.MethodPost, "/v1/orders", contentType(jsonType),
		strings.NewReader(`{"schema":1}`))
	var e *Error
	switch {
	case errors.As(err, &e) && e.Code == message.CodeMissing:
		return Checked(name, true, "the server received a test order and rejected it as expected", "")
	case err == nil:
		_ = resp.Body.Close()
		return Checked(name, false, fmt.Sprintf("the server did not reject a test order, but returned status %d",
			resp.StatusCode), "give --server the address of the Stepkeeper server itself, without a proxy before it")
	case e != nil:
		return Checked(name, false, "orders cannot be sent: "+e.Error(),
			"give --server the server's own address, or let the proxy before it pass POST; otherwise read its log")
	}
	return NotChecked(name, err)
}

// health is the response of a server to GET /healthz.
type health struct {
	Ready      *bool // a server always states it
	Checks     map[string]string
	Unattended []Unattended
	Release    view.Release
}

// Checks reads the server's health, tests a submission, and converts the results to checks.
func (h *overHTTP) Checks(ctx context.Context) ([]Check, error) {
	resp, err := h.send(ctx, http.MethodGet, "/healthz", nil, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	now := time.Now()
	health, err := answerOf[health](ctx, resp)
	err = whole(err, "ready", given(health.Ready != nil))
	if err != nil {
		return nil, err
	}
	accepts := map[bool]string{true: "it accepts orders", false: "it accepts no orders now"}[*health.Ready]
	server := Checked("server", *health.Ready, accepts,
		"correct the failed checks below; if it has just been started, wait a minute")
	date, _ := http.ParseTime(resp.Header.Get("Date")) // the zero time means unknown
	checks := []Check{
		server, h.checkSubmission(ctx),
		CheckRelease("the server", health.Release, view.Built()), CheckClock("the server", date, now),
	}
	for _, name := range slices.Sorted(maps.Keys(health.Checks)) {
		text := health.Checks[name]
		absent := func(u Unattended) bool { return name == "agent "+u.Agent }
		if strings.HasPrefix(text, core.CodeNoConsumer+" ") && slices.ContainsFunc(health.Unattended, absent) {
			continue // the check of its queue says it
		}
		ok := text == "ok"
		if ok {
			text = "no problem found"
		}
		fix := "remove the cause that is named above; the server's log has the details"
		switch {
		case name == "intake":
			fix = "wait until orders end, or start the server with a higher --max-open"
		case name == "store":
			fix = fixStore(text)
		case strings.HasPrefix(name, "workflow "):
			fix = "correct its file, which `stepkeeper workflow validate` checks; until then an older version stays in " +
				"force, if there is one"
		case strings.HasPrefix(name, "agent "):
			fix = fixOutage(name, text)
		case strings.HasPrefix(name, view.CheckReceiver):
			fix = "see that its queue or bus takes messages, and that it is named by --reply-to; stepkeeper show " +
				"says the reason of each order"
		}
		if name == view.CheckDamaged {
			fix = view.FixDamaged
		}
		checks = append(checks, Checked(name, ok, text, fix))
	}
	return append(checks, CheckUnattended(health.Unattended)...), nil
}

// CheckOutage returns the failed check of an outage that lasts, with the name and the text of port.Outage.Check.
func CheckOutage(name, text string) Check {
	return Checked(name, false, text, fixOutage(name, text))
}

// fixStore returns the remedy for a store that cannot be read or written.
func fixStore(text string) string {
	switch {
	case strings.Contains(text, "restore a backup"): // the file is damaged or was removed
		return "stop the server, and put its data folder back or restore a backup, as the text above says"
	case strings.Contains(text, "open files"):
		return "raise the server's limit of open files, as with ulimit -n 4096, and start it again"
	case strings.Contains(text, "closed"):
		return "start the server again"
	}
	return "give the disk of the data folder free space, and the server the right to write there"
}

func fixOutage(name, text string) string {
	const then = "; waiting orders then continue by themselves"
	switch {
	case strings.HasPrefix(text, core.CodeNoAgent+" "):
		return "deploy " + name + ", or correct its name in the agents file" + then
	case strings.HasPrefix(text, core.CodeNoConsumer+" "):
		return "start " + name + then
	}
	return "repair the service behind " + name + " (its last failure is above)" + then
}
