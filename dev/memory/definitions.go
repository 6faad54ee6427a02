package memory

import (
	"bytes"
	"context"
	"fmt"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Definitions implements port.Definitions in memory. A Definitions is safe for concurrent use.
type Definitions struct {
	mu   sync.RWMutex
	data map[string][]byte
}

// NewDefinitions returns an empty Definitions.
func NewDefinitions() *Definitions { return &Definitions{data: map[string][]byte{}} }

// Definition returns a copy of the definition with this hash, or port.ErrNotFound.
func (d *Definitions) Definition(ctx context.Context, hash string) ([]byte, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	d.mu.RLock()
	defer d.mu.RUnlock()
	data, there := d.data[hash]
	if !there {
		return nil, fmt.Errorf("definition %q: %w", hash, port.ErrNotFound)
	}
	return bytes.Clone(data), nil
}

// PutDefinition stores the definition. It changes nothing if a definition with this hash exists.
func (d *Definitions) PutDefinition(ctx context.Context, hash string, data []byte) error {
	if err := port.CheckDefinition(hash, data); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if _, there := d.data[hash]; !there {
		d.data[hash] = bytes.Clone(data)
	}
	return nil
}
