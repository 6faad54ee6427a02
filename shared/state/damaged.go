package state

import (
	std "encoding/json"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/protocol"
	"github.com/stepkeeper/stepkeeper/shared/rawjson"
)

// TaskOf returns the task in a record. If its document cannot be read, or belongs to another version or order,
// Task.Damaged states the reason, and the task holds what can still be read (P60, a damaged order is set
// aside). The only error is ErrSchema.
func TaskOf(r *port.Record) (*protocol.Task, error) {
	t, err := DecodeTask(r.Document)
	switch {
	case r.Damage != "":
		return remains(r, r.Damage), nil
	case errors.Is(err, ErrSchema):
		return nil, fmt.Errorf("load task %q: %w", r.ID, err)
	case err != nil:
		return remains(r, err.Error()), nil
	case t.Version != r.Version || t.OrderID != r.ID:
		return remains(r, fmt.Sprintf("the document is of %q, version %d, and the record's version is %d",
			t.OrderID, t.Version, r.Version)), nil
	}
	return t, nil
}

// DocumentOf returns the stored document in a record, for people. A damaged document is returned if it is JSON.
// Otherwise the error is core.ErrUnfit with the reason. The error of a document of another schema is ErrSchema.
func DocumentOf(r *port.Record) (std.RawMessage, error) {
	if r == nil {
		return nil, port.ErrNotFound
	}
	t, err := TaskOf(r)
	switch {
	case err != nil:
		return nil, err
	case t.Damaged != "" && !jsontext.Value(r.Document).IsValid():
		return nil, fmt.Errorf("%w: %s", core.ErrUnfit, t.Damaged)
	}
	return r.Document, nil
}

// remains returns what can be read of a damaged task: what the store keeps beside the document, and members
// of the document that do not depend on others.
func remains(r *port.Record, damage string) *protocol.Task {
	read := &protocol.Task{}
	// after an error, no member can be read
	if members, err := rawjson.Members(r.Document); err == nil {
		salvage(read, members)
	}
	if read.OrderID != "" && read.OrderID != r.ID { // the document of another order
		read = &protocol.Task{}
	}
	t := &protocol.Task{
		OrderID: r.ID, Version: r.Version, Workflow: r.Workflow, Created: core.TimeOf(r.Created),
		ProcessState: core.State(r.State), Attention: r.Bucket == port.AttentionBucket, Damaged: damage,
		Definition: read.Definition, ContentHash: read.ContentHash, Order: read.Order, Priority: read.Priority,
		ReplyTo: read.ReplyTo, Parent: read.Parent, Run: read.Run, Commands: read.Commands,
		Attempts: read.Attempts, Erased: read.Erased, Deadline: read.Deadline, Steps: read.Steps,
	}
	if len(t.Order) > 0 && r.Hash != "" && HashOf(t) != r.Hash { // the damage is in the order, or in what its hash covers
		t.Order = nil
	}
	if len(t.Order) == 0 && t.ContentHash == "" {
		t.ContentHash = r.Hash
	}
	if r.Bucket == port.DueBucket || r.Bucket == port.DamagedBucket {
		t.Due = core.TimeOf(r.IndexAt)
	}
	return t
}

// salvage reads the members that can be read, and leaves out the others.
func salvage(x *protocol.Task, members map[string]std.RawMessage) {
	// The loop may run in any order, because no member depends on another one.
	for name, value := range members {
		before := *x
		alone, err := json.Marshal(map[string]std.RawMessage{name: value}, form)
		if err != nil || json.Unmarshal(alone, x, form) != nil {
			*x = before
		}
	}
}
