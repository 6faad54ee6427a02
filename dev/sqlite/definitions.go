package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Definition returns the definition with this hash, or port.ErrNotFound.
func (s *Store) Definition(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	err := s.reads.definition.QueryRowContext(ctx, hash).Scan(&data)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, fmt.Errorf("definition %q: %w", hash, s.missing())
	}
	if err != nil {
		return nil, fmt.Errorf("loading definition %q: %w", hash, s.scanned(err))
	}
	return data, nil
}

// PutDefinition stores the definition. It changes nothing if the definition is stored, and replaces one whose bytes
// were changed.
func (s *Store) PutDefinition(ctx context.Context, hash string, data []byte) error {
	if err := port.CheckDefinition(hash, data); err != nil {
		return err
	}
	data = append([]byte{}, data...)
	return s.committer.do(ctx, func(tx *transaction) error {
		_, err := tx.addDefinition.exec(hash, data)
		return err
	})
}
