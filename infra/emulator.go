package infra

import (
	"cmp"
	"runtime"
	"time"

	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/infra/emulate"
)

// forEmulator changes the properties for the emulator in the context, and returns its name. The name is ""
// for a deployment to AWS.
func (p *Props) forEmulator(scope constructs.Construct) string {
	if scope == nil { // which is refused with all other problems
		return ""
	}
	emulator, _ := scope.Node().TryGetContext(jsii.String(emulate.Context)).(string)
	if emulator != "" {
		p.X86 = runtime.GOARCH == "amd64"
		p.SweepInterval = cmp.Or(p.SweepInterval, time.Minute)
		// LocalStack never fires EventBridge Scheduler (rule 24).
		p.EventBridgeRule = emulator == emulate.NameLocalStack
	}
	return emulator
}
