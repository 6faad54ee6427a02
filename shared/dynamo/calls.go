package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// calls holds the DynamoDB operations that this package uses. A field of type *dynamodb.Client would make
// each Lambda function 2 MB larger, because the linker would keep all operations of the client. The
// expression library expr looks up methods by name, so the linker does not remove unused methods.
type calls struct {
	GetItem func(context.Context, *dynamodb.GetItemInput,
		...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	PutItem func(context.Context, *dynamodb.PutItemInput,
		...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query func(context.Context, *dynamodb.QueryInput,
		...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	UpdateItem func(context.Context, *dynamodb.UpdateItemInput,
		...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

func callsOf(c *dynamodb.Client) calls {
	return calls{GetItem: c.GetItem, PutItem: c.PutItem, Query: c.Query, UpdateItem: c.UpdateItem}
}
