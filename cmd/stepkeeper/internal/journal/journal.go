// Package journal records how operators handled dead letters. The file has one line of JSON for each record.
package journal

import (
	"encoding/json"
	"errors"
	"os"

	"github.com/stepkeeper/stepkeeper/client"
)

// Name is the default name of the journal's file.
const Name = "dead-letters.jsonl"

// Journal is an open journal file. Several goroutines and processes may append to the same file: a record is one write.
type Journal struct{ file *os.File }

// Open opens a file for appending. If the file does not exist, Open creates it with access for the owner
// only.
func Open(name string) (*Journal, error) {
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	return &Journal{file: f}, nil
}

// Record appends a line to the file. If Record returns nil, the line is on the disk. The field Record of
// client.Handling takes this method.
func (j *Journal) Record(h client.Handled) error {
	line, err := json.Marshal(h)
	if err != nil {
		return err
	}
	_, err = j.file.Write(append(line, '\n'))
	return errors.Join(err, j.file.Sync())
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }
