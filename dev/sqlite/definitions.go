package sqlite

import (
	"cmp"
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Definition returns the definition with this hash, or port.ErrNotFound.
func (s *Store) Definition(ctx context.Context, hash string) ([]byte, error) {
	var data []byte
	found, err := s.first(ctx, []any{&data}, "SELECT data FROM definitions WHERE hash=?", hash)
	if !found {
		return nil, fmt.Errorf("definition %q: %w", hash, cmp.Or(err, s.hidden(), port.ErrNotFound))
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
		_, err := tx.exec("INSERT INTO definitions(hash, data) VALUES(?,?) ON CONFLICT(hash) DO UPDATE SET "+
			"data=excluded.data WHERE data<>excluded.data", hash, data)
		return err
	})
}
