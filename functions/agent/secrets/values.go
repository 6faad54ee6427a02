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

// RenewAfter is how old values may grow in a process: a rotated secret is in use within that time.
const RenewAfter = 15 * time.Minute

// MaxAge is how old what was made of secrets may grow; what was made of none does not grow old.
func MaxAge(where map[string]deployment.Secret) time.Duration {
	if len(where) == 0 {
		return math.MaxInt64
	}
	return RenewAfter
}

// Values are the secrets of an agent in Go, by the names of the variables that stand for them. Those
// that the deployment lists are read from Secrets Manager and the Parameter Store; any other is the
// variable itself, as beside `stepkeeper dev`. Make it once, in main:
//
//	values, err := secrets.Environment(os.LookupEnv, time.Now)
//	…
//	token, err := values.Get(ctx, "PAYMENT_TOKEN")
//
// Safe for concurrent use.
type Values struct {
	lookup deployment.Lookup
	where  map[string]deployment.Secret
	values renewed.Value[map[string]string] // values of the secrets in where
}

// Environment makes Values of what the environment says. It makes no calls: secrets are read when they
// are first needed (rule 13 of docs/reference/aws-rules.md). The error lists all that is wrong.
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

// Get returns a value. Where secrets grew old and cannot be read again, those that were read before
// stay. Its error names the secret and never its value; an operation may answer it as it is, and is
// then tried again.
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
