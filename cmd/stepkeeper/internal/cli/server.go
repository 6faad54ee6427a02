package cli

import (
	"context"
	"errors"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
)

// A command that somebody waits for tells soon that nobody answers; one that carries many orders,
// or watches, outlives a restart of the server.
const (
	quickAttempts = 3
	quickPatience = 2 * time.Second
	longAttempts  = 100
	longPatience  = time.Minute
)

// client connects to the server for a command that is answered at once; nothing is sent yet.
func (a *App) client() (*client.Client, error) {
	return a.connect(client.WithRetry(quickAttempts, quickPatience))
}

// patientClient is for a command that goes on for long.
func (a *App) patientClient() (*client.Client, error) {
	return a.connect(client.WithRetry(longAttempts, longPatience))
}

func (a *App) connect(option client.Option) (*client.Client, error) {
	c, err := client.New(a.Server(), option)
	if err != nil {
		return nil, failure.Wrap(err, failure.Usage, "give the address of a running `stepkeeper dev`, like --server "+DefaultServer,
			"the server's address %q cannot be used", a.Server())
	}
	return c, nil
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
	switch {
	case errors.Is(err, context.Canceled):
		return failure.New(failure.General, "", "interrupted")
	case errors.Is(err, client.ErrConnection):
		return failure.Wrap(err, failure.Unreachable,
			"is it running? start one with `stepkeeper dev`, or name another with --server or "+ServerVariable, "the server %s cannot be reached", a.Server())
	case errors.Is(err, context.DeadlineExceeded):
		return failure.New(failure.Unreachable, "is it running? start one with `stepkeeper dev`, or give it more time with --timeout", "the server %s did not answer in time about %s", a.Server(), what)
	case errors.Is(err, client.ErrAnswer):
		return failure.Wrap(err, failure.Unreachable, "is it a Stepkeeper server? name another with --server", "the answer of %s cannot be read", a.Server())
	case errors.Is(err, client.ErrNotFound):
		return failure.New(failure.NotFound, "check the ID, or look for it with `"+a.program()+" list`", "there is no %s", what)
	case errors.Is(err, client.ErrBusy), errors.Is(err, client.ErrUnavailable):
		return failure.Wrap(err, failure.Refused, retry, "%s: the server takes nothing now", what)
	case errors.Is(err, client.ErrRefused), errors.Is(err, client.ErrForbidden):
		return failure.Wrap(err, failure.Refused, "", "%s: refused", what)
	case errors.Is(err, client.ErrInvalid):
		return failure.Wrap(err, failure.Usage, "", "%s: the server cannot use that", what)
	case errors.Is(err, client.ErrInternal):
		return failure.Wrap(err, failure.General, "the server's log tells more", "%s", what)
	}
	return failure.Wrap(err, failure.General, "", "%s", what)
}
