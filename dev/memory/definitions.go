package memory

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Definitions implements port.Definitions in memory. It is safe for concurrent use.
type Definitions struct {
	mu   sync.RWMutex
	data map[string][]byte
}

// NewDefinitions returns empty Definitions.
func NewDefinitions() *Definitions { return &Definitions{data: map[string][]byte{}} }

// Clone returns Definitions with the same content.
func (d *Definitions) Clone() *Definitions {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return &Definitions{data: maps.Clone(d.data)}
}

// Definition returns a copy of the definition with that hash.
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

// PutDefinition stores the definition if there is none with that hash.
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
