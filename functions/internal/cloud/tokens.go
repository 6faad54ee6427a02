package cloud

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/token"
)

// How old the keys of tokens may be: an order that was made by an instance with a newer key is not decided before.
const (
	keysAge  = 5 * time.Minute
	freshAge = 10 * time.Second // where an order has a key that is not among them
)

// TokenKeys reads the keys of tokens from a secret of Secrets Manager (P39).
type TokenKeys struct {
	secret string
	clock  port.Clock
	get    func(ctx context.Context, secret string) (string, error)

	mu   sync.Mutex
	keys *token.Keys
	at   time.Time // when they were asked for last
}

// NewTokenKeys makes the client; it makes no network calls.
func NewTokenKeys(c aws.Config, secret string, clock port.Clock) *TokenKeys {
	client := secretsmanager.NewFromConfig(c)
	return &TokenKeys{secret: secret, clock: clock, get: func(ctx context.Context, secret string) (string, error) {
		out, err := client.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &secret})
		if err != nil {
			return "", err
		}
		return aws.ToString(out.SecretString), nil
	}}
}

// Read answers the keys, read at most five minutes before, or ten seconds with fresh. Where they cannot be read again
// those that are known serve on; an error says that none are known.
func (t *TokenKeys) Read(ctx context.Context, fresh bool) (core.Tokens, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	age := keysAge
	if fresh {
		age = freshAge
	}
	now := t.clock.Now()
	if t.keys != nil && now.Sub(t.at) < age {
		return t.keys, nil
	}
	text, err := t.get(ctx, t.secret)
	var keys *token.Keys
	if err == nil {
		keys, err = token.Parse([]byte(text))
	}
	switch {
	case err == nil:
		t.keys, t.at = keys, now
	case t.keys == nil:
		return nil, fmt.Errorf("the keys of tokens cannot be read from the secret %s: %w", t.secret, err)
	default:
		t.at = now
	}
	return t.keys, nil
}
