// Package secrets reads an agent's secrets from Secrets Manager and the Parameter Store. So the
// secrets are not in a function's settings or in a template.
package secrets

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/secretsmanager"
	"github.com/aws/aws-sdk-go-v2/service/ssm"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Reader reads secrets. Make one Reader in main and keep it.
type Reader struct {
	secrets    *secretsmanager.Client
	parameters *ssm.Client
}

// New returns a Reader with clients for Secrets Manager and the Parameter Store.
func New(c aws.Config) *Reader {
	return &Reader{secretsmanager.NewFromConfig(c), ssm.NewFromConfig(c)}
}

// Read reads the values of secrets concurrently and returns the values by name. The error lists every secret
// that could not be read, and contains no value.
func (r *Reader) Read(ctx context.Context, where map[string]deployment.Secret) (map[string]string, error) {
	names := slices.Sorted(maps.Keys(where))
	values := make([]string, len(names))
	errs := make([]error, len(names))
	var all sync.WaitGroup
	for i, name := range names {
		all.Go(func() {
			err := port.Guard(nil, "reading a secret", func() (err error) {
				values[i], err = r.read(ctx, where[name])
				return err
			})
			if err != nil {
				errs[i] = fmt.Errorf("secret %s: %w", name, err)
			}
		})
	}
	all.Wait()
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	byName := make(map[string]string, len(names))
	for i, name := range names {
		byName[name] = values[i]
	}
	return byName, nil
}

func (r *Reader) read(ctx context.Context, s deployment.Secret) (string, error) {
	if s.Parameter != "" {
		out, err := r.parameters.GetParameter(ctx,
			&ssm.GetParameterInput{Name: &s.Parameter, WithDecryption: aws.Bool(true)})
		if err != nil {
			return "", fmt.Errorf("parameter %s: %w", s.Parameter, err)
		}
		return aws.ToString(out.Parameter.Value), nil
	}
	out, err := r.secrets.GetSecretValue(ctx, &secretsmanager.GetSecretValueInput{SecretId: &s.Secret})
	if err != nil {
		return "", fmt.Errorf("%s: %w", s.Secret, err)
	}
	text := aws.ToString(out.SecretString)
	if text == "" {
		return "", fmt.Errorf("%s has no text, perhaps because it is binary; store it as a text", s.Secret)
	}
	if s.Field == "" {
		return text, nil
	}
	var fields map[string]any
	// The error of Unmarshal would show a part of the secret, so it is dropped.
	_ = json.Unmarshal([]byte(text), &fields)
	value, is := fields[s.Field].(string)
	if !is {
		return "", fmt.Errorf("%s is no JSON object with a text in the field %q, which was asked for",
			s.Secret, s.Field)
	}
	return value, nil
}
