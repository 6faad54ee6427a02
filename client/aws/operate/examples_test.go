package operate_test

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/client/aws/operate"
)

// An operator's client also reports the queues of a stack without a consumer. This example needs a stack, so
// it is compiled and not run.
func ExampleOpen() {
	ctx := context.Background()
	c, err := operate.Open(ctx, "Shop", aws.Options{Region: "eu-central-1"})
	if err != nil {
		panic(err)
	}
	queues, err := c.Unattended(ctx, "")
	if err != nil {
		panic(err)
	}
	for _, q := range queues {
		fmt.Println(q.Queue, q.Waiting)
	}
}
