package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/stepkeeper/stepkeeper/shared/port"
)

// Ledger implements port.Ledger on a table. An agent of a plain service has a table of its own (P31, a plain
// service needs a ledger). Ledger is safe for concurrent use.
type Ledger struct {
	client calls
	table  string
	key    string // name of the partition key
}

// NewLedger returns a Ledger on the table with the given name or ARN.
func NewLedger(client *dynamodb.Client, table string) *Ledger {
	return &Ledger{callsOf(client), table, LedgerKey}
}

// Schedules returns the ledger of the workflows' schedules. The table Orders contains its entries.
func (s *Store) Schedules() *Ledger { return &Ledger{s.client, s.tables.Orders, OrderKey} }

// Entry reads the entry with a strongly consistent read. If the key has no entry, the result has Version 0.
func (l *Ledger) Entry(ctx context.Context, key string) (port.LedgerEntry, error) {
	item, err := get(ctx, l.client, l.table, l.key, key, true)
	if err != nil {
		return port.LedgerEntry{}, fmt.Errorf("ledger: %w", err)
	}
	return port.LedgerEntry{
		Key: key, State: textOf(item["State"]), Attempt: int(numberOf(item["Attempt"])),
		Command: int(numberOf(item["Command"])),
		Output:  bytesOf(item["Output"]), Code: textOf(item["Code"]), Message: textOf(item["Message"]),
		Version: numberOf(item["Version"]),
	}, nil
}

// Move stores the entry with version e.Version+1 if the stored version is e.Version. If the response to the
// write is lost, the SDK repeats the write, and DynamoDB refuses the repetition. Move then finds the write's
// token in the stored entry and returns nil (rule 9 of docs/reference/aws-rules.md).
func (l *Ledger) Move(ctx context.Context, e port.LedgerEntry) error {
	writer := token()
	in := &dynamodb.PutItemInput{
		TableName: &l.table, Item: l.item(e, writer),
		ExpressionAttributeNames: map[string]string{"#version": "Version"},
		ConditionExpression:      aws.String("attribute_not_exists(#version)"),
	}
	if e.Version > 0 {
		in.ConditionExpression = aws.String("#version = :expected")
		in.ExpressionAttributeValues = attrs{":expected": num(e.Version)}
	}
	if n := Size(in.Item); n > maxItem {
		return fmt.Errorf("ledger entry %q has %d bytes, DynamoDB's limit is %d: %w", e.Key, n, maxItem,
			port.ErrTooLarge)
	}
	there, doubt, err := put(ctx, l.client, in)
	if err != nil {
		return fmt.Errorf("ledger entry %q: %w", e.Key, err)
	}
	if there == nil || mine(there, writer) {
		return nil
	}
	return refusal(there, e.Version+1, doubt,
		fmt.Errorf("ledger entry %q has version %d, expected was %d: %w", e.Key, numberOf(there["Version"]),
			e.Version, port.ErrConflict))
}

func (l *Ledger) item(e port.LedgerEntry, writer []byte) attrs {
	item := attrs{
		l.key: str(e.Key), "State": str(e.State), "Version": num(e.Version + 1),
		writerAttribute: blob(writer),
	}
	for name, text := range map[string]string{
		"Code": e.Code, "Message": e.Message,
		"Output": string(e.Output),
	} {
		if text != "" {
			item[name] = bytesOrText([]byte(text))
		}
	}
	for name, n := range map[string]int{"Attempt": e.Attempt, "Command": e.Command} {
		if n != 0 {
			item[name] = num(int64(n))
		}
	}
	return item
}
