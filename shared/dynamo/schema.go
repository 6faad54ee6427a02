package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Names of the keys and of the index. IndexSort is a number. All other keys are strings.
const (
	OrderKey      = "OrderID"     // partition key of Orders
	DefinitionKey = "Hash"        // partition key of Definitions
	LedgerKey     = "Key"         // partition key of a ledger
	IndexName     = "complete-by" // index of Orders, with the projection KEYS_ONLY
	IndexBucket   = "bucket"      // partition key of the index
	IndexSort     = "dueAt"       // sort key of the index: milliseconds since 1970
	// TTLAttribute is the time at which an item of Orders expires, in seconds since 1970. If Options.TTL is
	// set, orders at rest and their content have this attribute.
	TTLAttribute = "expiresAt"
)

// LeasePrefix is the prefix of the keys of leases in Orders. No order has such a key, because an order's ID
// contains no '#'.
const LeasePrefix = "#lease/"

// Further attributes of an item in Orders.
const (
	writerAttribute   = "Writer"   // token of the write that made this version
	documentAttribute = "Document" // the document, compressed
)

// DefaultShards is the default number of shards of the index. A shard permits 1,000 writes a second, and a
// change of an index key needs two writes (rules 11 and 12 of docs/reference/aws-rules.md). The default
// therefore permits 4,000 changes a second.
const DefaultShards = 8

// CreateTables creates on-demand tables for emulators and tests, and waits until the tables are active. It
// does not change existing tables. In a deployment, package infra creates the tables, with point-in-time
// recovery and deletion protection.
func CreateTables(ctx context.Context, client *dynamodb.Client, t Tables, ledgers ...string) error {
	orders := table(t.Orders, OrderKey)
	orders.AttributeDefinitions = append(orders.AttributeDefinitions, text(IndexBucket),
		types.AttributeDefinition{
			AttributeName: aws.String(IndexSort),
			AttributeType: types.ScalarAttributeTypeN,
		})
	orders.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: aws.String(IndexName),
		KeySchema: []types.KeySchemaElement{
			{AttributeName: aws.String(IndexBucket), KeyType: types.KeyTypeHash},
			{AttributeName: aws.String(IndexSort), KeyType: types.KeyTypeRange},
		},
		Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
	}}
	inputs := []*dynamodb.CreateTableInput{orders, table(t.Definitions, DefinitionKey)}
	for _, name := range ledgers {
		inputs = append(inputs, table(name, LedgerKey))
	}
	for _, in := range inputs {
		_, err := client.CreateTable(ctx, in)
		if there := (*types.ResourceInUseException)(nil); err != nil && !errors.As(err, &there) {
			return fmt.Errorf("create table %q: %w", *in.TableName, err)
		}
	}
	waiter := dynamodb.NewTableExistsWaiter(client,
		func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 50 * time.Millisecond })
	for _, in := range inputs {
		if err := waiter.Wait(ctx, &dynamodb.DescribeTableInput{TableName: in.TableName},
			2*time.Minute); err != nil {
			return fmt.Errorf("create table %q: %w", *in.TableName, err)
		}
	}
	return nil
}

func table(name, key string) *dynamodb.CreateTableInput {
	return &dynamodb.CreateTableInput{
		TableName: aws.String(name), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{text(key)},
		KeySchema: []types.KeySchemaElement{{
			AttributeName: aws.String(key),
			KeyType:       types.KeyTypeHash,
		}},
	}
}

func text(name string) types.AttributeDefinition {
	return types.AttributeDefinition{
		AttributeName: aws.String(name),
		AttributeType: types.ScalarAttributeTypeS,
	}
}

// Key returns the primary key of an item from the name and the value of its partition key.
func Key(name, value string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{name: str(value)}
}
