// Package journal keeps what operators have done with messages: a file of JSON Lines, to which they are
// appended.
package journal

import (
	"encoding/json"
	"errors"
	"os"
	"sync"

	"github.com/stepkeeper/stepkeeper/client"
)

// Name is the file's, unless the operator says otherwise.
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

// Record is a client.Handling's: when it returns nil, the line is on the disk.
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
