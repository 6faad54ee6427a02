package emulate

import (
	"encoding/json"
	"fmt"

	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

// Context is the key of the CDK's context that names the emulator to deploy to. The construct then builds for
// this machine, and accepts agents with addresses on this machine.
const Context = "stepkeeper:emulator"

// Names of the emulators.
const (
	NameLocalStack = "localstack"
	NameMiniStack  = "ministack"
)

// oneBatch is the smallest batch of the mappings by default (rule 4).
const oneBatch = 5

// LocalStack changes a template for LocalStack 4.14.0. There a mapping polls one batch at a time, whatever
// its MaximumConcurrency. So the capacity, above which a queue holds a backlog (P32, queue time is not a
// failure), becomes one batch. Otherwise the wait in a short queue would be counted as failures.
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

// inside returns the object at a path, or nil if a part is missing.
func inside(v any, path ...string) map[string]any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	m, _ := v.(map[string]any)
	return m
}
