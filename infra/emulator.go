package infra

import (
	"cmp"
	"fmt"
	"runtime"
	"time"

	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
)

func (p *Props) forEmulator(scope constructs.Construct) (emulated bool, err error) {
	if scope == nil { // Props.placed reports the missing scope
		return false, nil
	}
	switch emulator := scope.Node().TryGetContext(jsii.String(emulate.Context)); emulator {
	case nil, "":
		return false, nil
	case emulate.NameLocalStack, emulate.NameMiniStack:
		p.X86 = runtime.GOARCH == "amd64"
		p.SweepInterval = cmp.Or(p.SweepInterval, time.Minute)
		// LocalStack does not run the schedules of EventBridge Scheduler (rule 24).
		p.EventBridgeRule = emulator == emulate.NameLocalStack
		return true, nil
	default:
		return false, fmt.Errorf("the context has %s=%.40v; it must be %s or %s, or nothing for AWS",
			emulate.Context, emulator, emulate.NameLocalStack, emulate.NameMiniStack)
	}
}
