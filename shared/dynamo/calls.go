package dynamo

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// calls holds the used operations as functions. A field of type *dynamodb.Client would make the linker keep
// all of the client's operations, some sixty, in programs that look up methods by name, as the expression
// library does. They take 2 MB of each function.
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
