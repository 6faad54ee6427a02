package app

import (
	"cmp"
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
	"github.com/stepkeeper/stepkeeper/shared/message"
)

// Limits of the client's retries. A short command soon reports that the server does not respond. A command
// that watches orders, or sends many orders, waits until the server responds again.
const (
	QuickAttempts = 3
	QuickPatience = 2 * time.Second
	longAttempts  = 100
	longPatience  = time.Minute
)

// endpointVariable names the environment variable with the address of an AWS emulator.
const endpointVariable = "STEPKEEPER_ENDPOINT"

// Client returns a client for a short command. For a stack, Client reads the stack's outputs from AWS. For a
// server, Client sends no request.
func (a *App) Client(ctx context.Context) (*client.Client, error) {
	return a.connect(ctx, client.WithRetry(QuickAttempts, QuickPatience))
}

// Ask connects a client and calls get. The flag --timeout or DefaultTimeout limits the time. If get fails,
// Ask adds advice to the error. The parameter what names the requested object.
func Ask[T any](ctx context.Context, a *App, what string,
	get func(*client.Client, context.Context) (T, error),
) (v T, err error) {
	ctx, cancel := a.Bounded(ctx, DefaultTimeout)
	defer cancel()
	c, err := a.Client(ctx)
	if err != nil {
		return v, err
	}
	v, err = get(c, ctx)
	if err != nil {
		return v, a.Explain(err, what)
	}
	return v, nil
}

// Patient returns a client for a command that continues after a restart of the server, and the context of its
// requests. The flag --timeout or fallback limits the time; a fallback of 0 means no limit. Until the caller calls end,
// the App reports each outage: a request that waits too long for a connection.
func (a *App) Patient(ctx context.Context, fallback time.Duration,
) (traced context.Context, c *client.Client, end func(), err error) {
	ctx, cancel := a.Bounded(ctx, fallback)
	o := &outage{app: a, ctx: ctx}
	traced = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) { o.awaited() },
		GotConn: func(httptrace.GotConnInfo) { o.connected() },
	})
	end = func() { cancel(); o.connected() }
	c, err = a.connect(traced, client.WithRetry(longAttempts, longPatience))
	if err != nil {
		end()
	}
	return traced, c, end, err
}

const noticeAfter = 2 * time.Second

type outage struct {
	app   *App
	ctx   context.Context
	mu    sync.Mutex
	timer *time.Timer // timer that runs while a request waits for a connection; otherwise nil
}

func (o *outage) awaited() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil {
		o.timer = time.AfterFunc(noticeAfter, o.report)
	}
}

func (o *outage) connected() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer != nil {
		o.timer.Stop()
		o.timer = nil
	}
}

func (o *outage) report() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.timer == nil || o.ctx.Err() != nil {
		return // The connection was made just now, or the command has ended.
	}
	to := o.app.target()
	o.app.Warn(to.name + " cannot be reached, trying again; " + to.silent)
}

func (a *App) connect(ctx context.Context, option client.Option) (*client.Client, error) {
	if a.Stack != "" {
		c, err := a.OpenStack(ctx, a.Stack, a.StackOptions(), option)
		if err != nil {
			return nil, a.NoStack(err)
		}
		return c, nil
	}
	c, err := a.Dial(a.Server(), option)
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage,
			"give the address of a running `stepkeeper dev`, like --server "+DefaultServer,
			"the server's address %q cannot be used", a.Server())
	}
	return c, nil
}

// StackOptions returns the options for connecting to AWS.
func (a *App) StackOptions() aws.Options {
	return aws.Options{Region: a.region, Endpoint: a.Getenv(endpointVariable)}
}

// NoStack adds an exit code and advice to an error about the stack itself.
func (a *App) NoStack(err error) *failure.Error {
	var answer *client.Error
	switch {
	case errors.Is(err, aws.ErrNoStack):
		return failure.Wrap(err, failure.NotFound, "check the name, --region, and whose credentials these "+
			"are: `aws sts get-caller-identity`", "stack %s", a.Stack)
	case errors.As(err, &answer) && answer.Code == aws.CodeNoConfiguration:
		return failure.Wrap(err, failure.Usage, "name its region with --region, or set AWS_REGION", "stack %s", a.Stack)
	case errors.Is(err, client.ErrConnection), errors.Is(err, context.DeadlineExceeded),
		errors.Is(err, client.ErrForbidden), errors.Is(err, client.ErrRefused), errors.Is(err, context.Canceled),
		errors.Is(err, client.ErrBusy), errors.Is(err, client.ErrUnavailable):
		return a.Explain(err, "stack "+a.Stack)
	}
	return failure.Wrap(err, failure.General, "", "the stack cannot be used")
}

// target describes the server or stack for error texts.
type target struct {
	kind, name   string
	silent, slow string // advice for a missing response, and for a late one
	log, look    string // where to read about a failure, and to look for an order
}

func (a *App) target() target {
	look := fmt.Sprintf("check the ID, or look for it with `%s list`", a.Program())
	if a.Stack != "" {
		return target{
			kind: "the stack", name: "the stack " + a.Stack,
			silent: "check the network, --region, and AWS_ENDPOINT_URL if it is set",
			slow: "give it more time with --timeout; if that does not help, look at the alarms of its queues " +
				"and functions",
			log:  "the logs of the stack's functions say more",
			look: look + "; one that was queued just now is there in a moment",
		}
	}
	start := "is it running? start one with `stepkeeper dev`, or "
	return target{
		kind: "the server", name: "the server " + a.Server(),
		silent: start + "name another with --server or " + ServerVariable,
		slow:   start + "give it more time with --timeout", log: "the server's log says more", look: look,
	}
}

// Explain adds an exit code and advice to an error of the client. The parameter what names the requested
// object, such as "order order-1001".
func (a *App) Explain(err error, what string) *failure.Error {
	var f *failure.Error
	if errors.As(err, &f) {
		return f
	}
	var answer *client.Error
	retry := "try again later"
	if errors.As(err, &answer) && answer.RetryAfter > 0 {
		retry = "try again in " + answer.RetryAfter.String()
	}
	to := a.target()
	var undecided *client.Undecided
	switch {
	case errors.As(err, &undecided):
		return a.undecided(undecided)
	case errors.Is(err, context.Canceled):
		return failure.New(failure.General, "", "interrupted")
	case errors.Is(err, client.ErrConnection):
		return failure.Wrap(err, failure.Unreachable, to.silent, "%s cannot be reached", to.name)
	case errors.Is(err, client.ErrBusy), errors.Is(err, client.ErrUnavailable):
		return failure.Wrap(err, failure.Refused, retry, "%s: %s accepts nothing now", what, to.kind)
	case errors.Is(err, context.DeadlineExceeded):
		return failure.New(failure.Unreachable, to.slow, "%s: %s did not respond in time", what, to.name)
	case errors.Is(err, client.ErrAnswer):
		return failure.Wrap(err, failure.Unreachable, "is it a Stepkeeper server? name another with --server",
			"the response of %s cannot be read", strings.TrimPrefix(to.name, "the server "))
	case errors.Is(err, client.ErrNotFound):
		return failure.New(failure.NotFound, to.look, "there is no %s", what)
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrForbidden):
		return failure.Wrap(err, failure.Refused, "", "%s: refused", what)
	case errors.Is(err, client.ErrInvalid):
		return failure.Wrap(err, failure.Usage, "", "%s: %s rejected the input", what, to.kind)
	case errors.Is(err, client.ErrInternal):
		return failure.Wrap(err, failure.General, to.log, "%s", what)
	}
	return failure.Wrap(err, failure.General, "", "%s", what)
}

func (a *App) undecided(u *client.Undecided) *failure.Error {
	code := failure.Unreachable
	what := "was sent, and it is not known whether it arrived"
	if u.Queued {
		code = failure.General
		what = "is queued, and has no verdict yet"
	}
	return failure.Wrap(u.Err, code, "repeat the command with --command-id "+u.ID+
		": it is carried out once, and prints its verdict",
		"order %s: command %s %s", u.OrderID, u.ID, what)
}

// CheckID returns an error if id is not a valid order ID.
func CheckID(id string) error {
	if !message.IsOrderID(id) {
		return failure.New(failure.Usage,
			"an ID has 1 to 128 of the characters A-Z a-z 0-9 . _ : -, and is not . or ..",
			"%.140q is no order's ID", id)
	}
	return nil
}

// Bounded returns a context with a time limit: the flag --timeout, or fallback if the flag is not set. A
// fallback of 0 means no limit.
func (a *App) Bounded(ctx context.Context, fallback time.Duration) (context.Context, context.CancelFunc) {
	limit := cmp.Or(a.Timeout, fallback)
	if limit == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, limit)
}
