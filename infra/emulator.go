package infra

import (
	"cmp"
	"fmt"
	"net/url"
	"runtime"
	"time"

	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/stepkeeper/stepkeeper/functions/agent/httpagent"
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

// reachable refuses the address of a service on this machine, which a function on AWS cannot reach.
func reachable(file, name, address string) error {
	u, err := url.Parse(address)
	if err != nil || !httpagent.IsLoopback(u.Hostname()) {
		return nil
	}
	return fmt.Errorf("agents file %s, agent %q: its url has the host %s, and a function on AWS reaches no "+
		"service on this machine; write the address that AWS reaches, for one stage in a file of its own, "+
		"such as agents.prod.yaml", file, name, u.Hostname())
}
