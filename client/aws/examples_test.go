package aws_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
)

// The client of a stack has the methods of the client of a server. This example needs a stack, so it is
// compiled and not run.
func ExampleOpen() {
	ctx := context.Background()
	c, err := aws.Open(ctx, "Shop", aws.Options{Region: "eu-central-1"})
	if err != nil {
		panic(err)
	}
	order := client.Order{ID: "o-1", Workflow: "order", Content: json.RawMessage(`{"total": 42}`)}
	if _, err := c.Submit(ctx, order); err != nil {
		panic(err)
	}
	task, err := c.Wait(ctx, "o-1")
	if err != nil {
		panic(err)
	}
	fmt.Println(task.State)
}
