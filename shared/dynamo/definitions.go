package dynamo

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

const definitionAttribute = "Definition"

// Definition returns the definition with the given hash.
func (s *Store) Definition(ctx context.Context, hash string) ([]byte, error) {
	if hash == "" {
		return nil, fmt.Errorf("definition %q: %w", hash, port.ErrNotFound)
	}
	item, err := get(ctx, s.client, s.tables.Definitions, DefinitionKey, hash, true)
	if err != nil {
		return nil, fmt.Errorf("definition: %w", err)
	}
	if len(item) == 0 {
		return nil, fmt.Errorf("definition %q: %w", hash, port.ErrNotFound)
	}
	return bytesOf(item[definitionAttribute]), nil
}

// PutDefinition stores the definition if the table has none with the same hash. It reads the table first,
// because each process calls PutDefinition for all its definitions, and the table already has most of them.
// Without the read, a process would pay for refused writes, and would raise the table's metric of failed
// conditions.
func (s *Store) PutDefinition(ctx context.Context, hash string, data []byte) error {
	if err := port.CheckDefinition(hash, data); err != nil {
		return err
	}
	item := attrs{DefinitionKey: str(hash), definitionAttribute: bytesOrText(data)}
	if n := Size(item); n > maxItem {
		return fmt.Errorf("definition %q has %d bytes, DynamoDB's limit is %d: %w", hash, n, maxItem,
			port.ErrTooLarge)
	}
	if there, err := get(ctx, s.client, s.tables.Definitions, DefinitionKey, hash, false); err == nil &&
		len(there) > 0 {
		return nil
	}
	_, _, err := s.put(ctx, s.tables.Definitions, item, "attribute_not_exists(#hash)",
		map[string]string{"#hash": DefinitionKey}, nil)
	if err != nil {
		return fmt.Errorf("definition %q: %w", hash, err)
	}
	return nil
}
