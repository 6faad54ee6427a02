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

// Largest age of the keys of tokens. An order with a newer key is not decided until the keys are read again.
const (
	keysAge  = 5 * time.Minute
	freshAge = 10 * time.Second // age limit of keys if an order has an unknown key
)

// TokenKeys reads the keys of tokens from a secret of Secrets Manager (P39, a token is an answer's
// permission).
type TokenKeys struct{ keys renewed.Value[*token.Keys] }

// NewTokenKeys makes the client; it makes no network calls.
func NewTokenKeys(c aws.Config, secret string, clock port.Clock) *TokenKeys {
	client := secretsmanager.NewFromConfig(c)
	return &TokenKeys{renewed.Value[*token.Keys]{Now: clock.Now,
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
		}}}
}

// Read returns the keys. They are five minutes old at most, or ten seconds with fresh. If they cannot be read
// again, the known keys stay in use. An error means that no keys are known.
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
