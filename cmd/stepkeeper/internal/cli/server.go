package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http/httptrace"
	"strings"
	"sync"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// A command that a person waits for soon reports that no server answers; one that carries many orders,
// or watches, outlives a restart of the server.
const (
	quickAttempts = 3
	quickPatience = 2 * time.Second
	longAttempts  = 100
	longPatience  = time.Minute
)

// endpointVariable leads to an emulator of AWS, as everywhere in the project.
const endpointVariable = "STEPKEEPER_ENDPOINT"

// client connects to the server or the stack for a command that is answered at once. A server is
// sent nothing yet; a stack is asked for its outputs.
func (a *App) client(ctx context.Context) (*client.Client, error) {
	return a.connect(ctx, client.WithRetry(quickAttempts, quickPatience))
}

// patientClient is for a command that outlives a restart of the server; its context comes from patient.
func (a *App) patientClient(ctx context.Context) (*client.Client, error) {
	return a.connect(ctx, client.WithRetry(longAttempts, longPatience))
}

// noticeAfter is how long a patient command waits for a connection before it reports an outage.
const noticeAfter = 2 * time.Second

// outage reports a server or stack that a patient command cannot reach, once until a connection succeeds.
type outage struct {
	app   *App
	mu    sync.Mutex
	timer *time.Timer // nil unless a connection is awaited
	over  bool
}

// patient bounds a command that has no time limit of its own, and reports each outage while it runs.
func (a *App) patient(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := a.bounded(ctx, 0)
	ctx, quiet := a.reportOutages(ctx)
	return ctx, func() { quiet(); cancel() }
}

// reportOutages reports each outage that the requests of the returned context meet, until quiet is called.
func (a *App) reportOutages(ctx context.Context) (traced context.Context, quiet func()) {
	o := &outage{app: a}
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { o.awaited() },
		GotConn: func(httptrace.GotConnInfo) { o.connected(false) },
	}), func() { o.connected(true) }
}

func (o *outage) awaited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil && !o.over {
		o.timer = time.AfterFunc(noticeAfter, o.report)
	}
}

// connected ends the outage; over means that the command has ended too.
func (o *outage) connected(over bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.over = over; o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

func (o *outage) report() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		return // connected just now
	}
	name, silent, _ := o.app.reached()
	o.app.warn(name + " cannot be reached, trying again; " + silent)
}

func (a *App) connect(ctx context.Context, option client.Option) (*client.Client, error) {
	if a.stack != "" {
		c, err := a.openStack(ctx, a.stack, a.stackOptions(), option)
		if err != nil {
			return nil, a.noStack(err)
		}
		return c, nil
	}
	c, err := a.dial(a.Server(), option)
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage,
			"give the address of a running `stepkeeper dev`, like --server "+DefaultServer,
			"the server's address %q cannot be used", a.Server())
	}
	return c, nil
}

func (a *App) stackOptions() aws.Options {
	return aws.Options{Region: a.region, Endpoint: a.Getenv(endpointVariable)}
}

// noStack explains why a stack cannot be used.
func (a *App) noStack(err error) *failure.Error {
	switch {
	case errors.Is(err, aws.ErrNoStack):
		return failure.Wrap(err, failure.NotFound,
			"check the name, --region, and whose credentials these are: `aws sts get-caller-identity`",
			"stack %s", a.stack)
	case errors.Is(err, client.ErrInvalid):
		return failure.Wrap(err, failure.Usage, "name it with --region, or set AWS_REGION", "stack %s",
			a.stack)
	case errors.Is(err, client.ErrConnection), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, client.ErrForbidden), errors.Is(err, context.Canceled):
		return a.explain(err, "stack "+a.stack)
	}
	return failure.Wrap(err, failure.General, "", "the stack cannot be used")
}

// reached names what the commands talk to, and what to do when it does not answer.
func (a *App) reached() (name, silent, slow string) {
	if a.stack != "" {
		return "the stack " + a.stack, "check the network, --region, and AWS_ENDPOINT_URL if it is set",
			"give it more time with --timeout; if that does not help, look at the alarms of its queues " +
				"and functions"
	}
	start := "is it running? start one with `stepkeeper dev`, or "
	return "the server " + a.Server(), start + "name another with --server or " + ServerVariable,
		start + "give it more time with --timeout"
}

// explain turns what the client answers into an error with an exit code and an advice. what is
// what the command was about: "order order-1001".
func (a *App) explain(err error, what string) *failure.Error {
	var f *failure.Error
	if errors.As(err, &f) {
		return f
	}
	var answer *client.Error
	retry := "try again later"
	if errors.As(err, &answer) && answer.RetryAfter > 0 {
		retry = "try again in " + answer.RetryAfter.String()
	}
	name, silent, slow := a.reached()
	var undecided *client.Undecided
	switch {
	case errors.As(err, &undecided):
		return a.undecided(undecided)
	case errors.Is(err, context.Canceled):
		return failure.New(failure.General, "", "interrupted")
	case errors.Is(err, client.ErrConnection):
		return failure.Wrap(err, failure.Unreachable, silent, "%s cannot be reached", name)
	case errors.Is(err, context.DeadlineExceeded):
		return failure.New(failure.Unreachable, slow, "%s did not answer in time about %s", name, what)
	case errors.Is(err, client.ErrAnswer):
		return failure.Wrap(err, failure.Unreachable, "is it a Stepkeeper server? name another with --server",
			"the answer of %s cannot be read", strings.TrimPrefix(name, "the server "))
	case errors.Is(err, client.ErrNotFound):
		return failure.New(failure.NotFound, a.look(), "there is no %s", what)
	case errors.Is(err, client.ErrBusy), errors.Is(err, client.ErrUnavailable):
		return failure.Wrap(err, failure.Refused, retry, "%s: %s takes nothing now", what, a.kind())
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrForbidden):
		return failure.Wrap(err, failure.Refused, "", "%s: refused", what)
	case errors.Is(err, client.ErrInvalid):
		return failure.Wrap(err, failure.Usage, "", "%s: %s cannot use that", what, a.kind())
	case errors.Is(err, client.ErrInternal):
		return failure.Wrap(err, failure.General, a.log(), "%s", what)
	}
	return failure.Wrap(err, failure.General, "", "%s", what)
}

// undecided is the error of a command whose verdict is not known, and says how to ask for its verdict.
func (a *App) undecided(u *client.Undecided) *failure.Error {
	code, what := failure.Unreachable, "was sent, and it is not known whether it arrived"
	if u.Queued {
		code, what = failure.General, "is queued, and its verdict has not come yet"
	}
	return failure.Wrap(u.Err, code, "ask again: the same command with --command-id "+u.ID+
		" is carried out once and answers its verdict",
		"order %s: command %s %s", u.OrderID, u.ID, what)
}

func (a *App) kind() string {
	if a.stack != "" {
		return "the stack"
	}
	return "the server"
}

// log names the log that has more about an internal failure.
func (a *App) log() string {
	if a.stack != "" {
		return "the logs of the stack's functions say more"
	}
	return "the server's log says more"
}

// look is what to do about an order that is not there.
func (a *App) look() string {
	do := fmt.Sprintf("check the ID, or look for it with `%s list`", a.program())
	if a.stack != "" {
		do += "; one that was queued just now is there in a moment"
	}
	return do
}
