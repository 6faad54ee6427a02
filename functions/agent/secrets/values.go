package secrets

import (
	"context"
	"fmt"
	"math"
	"time"

	"github.com/stepkeeper/stepkeeper/functions/internal/renewed"
	"github.com/stepkeeper/stepkeeper/shared/awsclient/wire"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// RenewAfter is the largest age of values in a process. A rotated secret is in use within that time.
const RenewAfter = 15 * time.Minute

// MaxAge returns the largest age of a value made from secrets. A value without secrets does not age.
func MaxAge(where map[string]deployment.Secret) time.Duration {
	if len(where) == 0 {
		return math.MaxInt64
	}
	return RenewAfter
}

// Values holds the secrets of an agent in Go, by the names of their variables. If the deployment lists a
// secret, Values reads it from Secrets Manager or the Parameter Store. Otherwise the value is the environment
// variable itself, as beside `stepkeeper dev`. Make it once, in main:
//
//	values, err := secrets.Environment(os.LookupEnv, time.Now)
//
//	token, err := values.Get(ctx, "PAYMENT_TOKEN")
//
// It is safe for concurrent use.
type Values struct {
	lookup deployment.Lookup
	where  map[string]deployment.Secret
	values renewed.Value[map[string]string] // values of the secrets in where
}

// Environment returns the Values that the environment describes. It makes no calls, because secrets are read
// at their first use (rule 13 of docs/reference/aws-rules.md). The error lists all faults.
func Environment(lookup deployment.Lookup, now func() time.Time) (*Values, error) {
	where, err := deployment.ReadSecrets(lookup)
	if err != nil {
		return nil, err
	}
	v := &Values{lookup: lookup, where: where, values: renewed.Value[map[string]string]{Now: now}}
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

// Get returns a value. If old secrets cannot be read again, their previous values stay in use. The error
// names the secret and never its value. An operation may return it unchanged, and is then retried.
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
