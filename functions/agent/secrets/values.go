package secrets

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/internal/renewed"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// RenewAfter is the age after which a process reads a secret again. A process uses a rotated secret
// after at most this time, if it can read the secret.
const RenewAfter = 15 * time.Minute

// MaxAge returns the largest age of an object that is made from these secrets. Without secrets, the age has
// no limit.
func MaxAge(where map[string]deployment.Secret) time.Duration {
	if len(where) == 0 {
		return math.MaxInt64
	}
	return RenewAfter
}

// Values holds the secrets of an agent that is written in Go, by the names of their variables. If the
// deployment lists a secret, Values reads the secret from Secrets Manager or the Parameter Store. Otherwise
// the environment variable holds the value, for example beside `stepkeeper dev`. Make one Values in main:
//
//	values, err := secrets.Environment(os.LookupEnv, time.Now)
//
//	token, err := values.Get(ctx, "PAYMENT_TOKEN")
//
// Values is safe for concurrent use.
type Values struct {
	lookup deployment.Lookup
	where  map[string]deployment.Secret
	values renewed.Value[map[string]string] // values of the secrets in where
}

// Environment returns the Values that the environment describes. It makes no network calls (rule 13 of
// docs/reference/aws-rules.md). The first Get reads the secrets. The error lists all faults.
func Environment(lookup deployment.Lookup, now func() time.Time) (*Values, error) {
	where, err := deployment.ReadSecrets(lookup)
	if err != nil {
		return nil, err
	}
	v := &Values{lookup: lookup, where: where, values: renewed.Value[map[string]string]{Clock: port.ClockFunc(now)}}
	if len(where) > 0 {
		c, err := wire.Environment(lookup)
		if err != nil {
			return nil, err
		}
		reader := New(c)
		v.values.Get = func(ctx context.Context) (map[string]string, error) { return reader.Read(ctx, where) }
	}
	return v, nil
}

// Get returns the value of a secret. If secrets are older than RenewAfter and cannot be read again,
// Get returns the old value. The error never contains a value. An operation may return the error
// unchanged, and the worker then retries the operation.
func (v *Values) Get(ctx context.Context, name string) (string, error) {
	if _, kept := v.where[name]; !kept {
		value, _ := v.lookup(name)
		if value == "" {
			return "", fmt.Errorf("secret %s is neither among those that were deployed (%s) nor a variable",
				name, deployment.VarSecrets)
		}
		return value, nil
	}
	values, err := v.values.Read(ctx, RenewAfter)
	return values[name], err
}
