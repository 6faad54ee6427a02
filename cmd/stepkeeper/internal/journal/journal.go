// Package journal records operators' handlings of messages in a file of JSON Lines.
package journal

import (
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/stepkeeper/stepkeeper/client"
)

// Name is the default name of the file.
const Name = "dead-letters.jsonl"

// Journal is an open file. Several processes may append to one file.
type Journal struct {
	mu   sync.Mutex
	file *os.File
}

// Open opens a file, or makes it, readable for its owner only.
func Open(name string) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{file: f}, nil
}

// Record implements client.Handling.Record: when it returns nil, the line is on the disk.
func (j *Journal) Record(h client.Handled) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(line, '\n'))
	return errors.Join(err, j.file.Sync())
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
