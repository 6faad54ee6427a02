package emulate

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// Context is the key under which the CDK context holds the name of an emulator. With such a name, the
// construct builds the functions for this machine's architecture. The construct then also accepts agents
// whose services run on this machine.
const Context = "stepkeeper:emulator"

// Names of the emulators.
const (
	NameLocalStack = "localstack"
	NameMiniStack  = "ministack"
)

// oneBatch is the smallest default batch size, that of an agent's event source mapping (rule 4 of
// docs/reference/aws-rules.md).
const oneBatch = 5

// LocalStack changes a template for the emulator LocalStack 4.14.0. In this emulator, an event source mapping
// ignores MaximumConcurrency and receives one batch at a time. This function therefore sets the capacity of
// each consumer to one batch. A queue with more messages than the capacity has a backlog. The Supervisor does
// not count the wait in a backlog as a failure (P32, queue time is not a failure).
func LocalStack(template map[string]any) error {
	resources, _ := template["Resources"].(map[string]any)
	for id, r := range resources {
		variables := inside(r, "Properties", "Environment", "Variables")
		text, is := variables[deployment.VarCapacity].(string)
		if !is {
			continue
		}
		capacity := map[string]int{}
		if err := json.Unmarshal([]byte(text), &capacity); err != nil {
			return fmt.Errorf("template for LocalStack: %s of %s: %w", deployment.VarCapacity, id, err)
		}
		for taker := range capacity {
			capacity[taker] = oneBatch
		}
		object, err := json.Marshal(capacity)
		if err != nil {
			return err
		}
		variables[deployment.VarCapacity] = string(object)
	}
	return nil
}

func inside(v any, path ...string) map[string]any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	m, _ := v.(map[string]any)
	return m
}
