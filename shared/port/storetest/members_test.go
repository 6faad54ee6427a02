package storetest_test

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"unicode/utf8"

	"github.com/stepkeeper/stepkeeper/shared/dynamo"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// The suite's documents are no tasks', so that they are kept as they are. Here each is put into a
// task's document, as it is written in real life: member by member.
func TestStoreInDynamoMemberByMember(t *testing.T) {
	t.Parallel()
	Run(t, dynamoOptions(false), func(t *testing.T) Backends {
		b := inDynamo(t, dynamo.Options{Shards: 3, TTL: retention})
		return Backends{Store: tasks{b.Store}, Forget: b.Forget}
	})
}

// tasks wraps documents on their way in and unwraps them on their way out.
type tasks struct{ port.Store }

// wrapped is a task around a document.
type wrapped struct {
	Schema       int
	OrderID      string
	ProcessState string
	LockedBy     *string
	CompleteBy   *string
	FailureCount int
	Version      int64
	Workflow     string
	Created      string
	Output       json.RawMessage  `json:"output,omitempty"`
	Steps        map[string]inner `json:"Steps"`
}

type inner struct {
	N      int
	Output string `json:"output"`
}

const largest = 150_000 // of a document that is wrapped; text is written twice as long at worst

func (s tasks) Commit(ctx context.Context, writes []port.Write) []error {
	inside := make([]port.Write, len(writes))
	for i, w := range writes {
		inside[i] = w
		r := &inside[i].Record
		if r.ID == "" || len(r.Document) > largest || !utf8.Valid(r.Document) {
			continue
		}
		task := wrapped{
			Schema: 1, OrderID: r.ID, ProcessState: r.State, Version: r.Version,
			Workflow: r.Workflow,
			Created:  r.Created.UTC().Format("2006-01-02T15:04:05.000Z"),
			Steps:    map[string]inner{"only": {Output: string(r.Document)}},
		}
		var compact bytes.Buffer // as Marshal writes it: only what it leaves alone stands there twice
		if json.Compact(&compact, r.Document) == nil && bytes.Equal(compact.Bytes(), r.Document) {
			task.Output = r.Document
		}
		r.Document, _ = json.Marshal(task)
	}
	return s.Store.Commit(ctx, inside)
}

func unwrap(r *port.Record) {
	var task wrapped
	if r == nil || json.Unmarshal(r.Document, &task) != nil || task.OrderID == "" {
		return
	}
	r.Document = []byte(task.Steps["only"].Output)
	if len(task.Output) > 0 && !bytes.Equal(task.Output, r.Document) {
		r.Document = []byte("the two copies differ: " + string(task.Output))
	}
}

func (s tasks) Load(ctx context.Context, ids []string) ([]*port.Record, []error) {
	records, errs := s.Store.Load(ctx, ids)
	for _, r := range records {
		unwrap(r)
	}
	return records, errs
}

func (s tasks) List(ctx context.Context, q port.Query) (port.Page, error) {
	page, err := s.Store.List(ctx, q)
	for i := range page.Records {
		unwrap(&page.Records[i])
	}
	return page, err
}
