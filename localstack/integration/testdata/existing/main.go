// Command existing is a Lambda function that does not depend on Stepkeeper.
package main

import (
	"context"

	"github.com/aws/aws-lambda-go/lambda"
)

type request struct {
	SKU            string `json:"sku"`
	IdempotencyKey string `json:"idempotencyKey"`
}

func handle(_ context.Context, r request) (map[string]string, error) {
	return map[string]string{"reserved": r.SKU, "key": r.IdempotencyKey}, nil
}

func main() { lambda.Start(handle) }
