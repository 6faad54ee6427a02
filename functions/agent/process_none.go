//go:build lambda.norpc

package agent

import (
	"context"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// process returns an error, because a program built for Lambda contains no code that polls queues.
func (s *settings) process(_ context.Context, name string, _ Operations) error {
	return fmt.Errorf(
		"agent %q: %s is not set, and the program was built for Lambda alone; build it without the tag "+
			"lambda.norpc to run it elsewhere", name, deployment.VarRuntimeAPI)
}

func (s *settings) openReplies(_ context.Context, name string) (*Replies, error) {
	return nil,
		fmt.Errorf(
			"replies of agent %q: the program was built for Lambda alone; build it without the tag "+
				"lambda.norpc", name)
}
