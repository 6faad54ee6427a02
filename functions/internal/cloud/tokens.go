package cloud

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/stepkeeper/stepkeeper/functions/internal/renewed"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// Largest ages of the keys that sign tokens. An order's tokens may have a key that is newer than the
// cached keys. Then the Scheduler reads the keys again before it decides.
const (
	keysAge  = 5 * time.Minute
	freshAge = 10 * time.Second // largest age if an order's tokens have an unknown key
)

// TokenKeys reads the keys for tokens from a secret of Secrets Manager (P39, a token is an answer's
// permission).
type TokenKeys struct{ keys renewed.Value[*token.Keys] }

// NewTokenKeys returns a TokenKeys with a client for Secrets Manager. It makes no network calls.
func NewTokenKeys(c aws.Config, secret string, clock port.Clock) *TokenKeys {
	client := secretsmanager.NewFromConfig(c)
	return &TokenKeys{renewed.Value[*token.Keys]{
		Clock: clock,
		Get: func(ctx context.Context) (keys *token.Keys, err error) {
			out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
			if err == nil {
				keys, err = token.Parse([]byte(aws.ToString(out.SecretString)))
			}
			if err != nil {
				return nil, fmt.Errorf("the keys of tokens cannot be read from the secret %s: %w", secret,
					err)
			}
			return keys, nil
		},
	}}
}

// Read returns the keys. The keys are at most five minutes old, or at most ten seconds if fresh is true. If
// older keys cannot be read again, Read returns the older keys. An error means that no keys are known.
func (t *TokenKeys) Read(ctx context.Context, fresh bool) (core.Tokens, error) {
	age := keysAge
	if fresh {
		age = freshAge
	}
	keys, err := t.keys.Read(ctx, age)
	if err != nil {
		return nil, err
	}
	return keys, nil
}
