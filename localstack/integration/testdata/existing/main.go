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

// OutOfStock is an error that no repetition changes.
type OutOfStock struct{}

func (OutOfStock) Error() string { return "there is none left" }

func handle(_ context.Context, r request) (map[string]string, error) {
	if r.SKU == "NONE" {
		return nil, OutOfStock{}
	}
	return map[string]string{"reserved": r.SKU, "key": r.IdempotencyKey}, nil
}

func main() { lambda.Start(handle) }
