package app

// Reach says what a command talks to. It decides which flags and environment variables select the server or the
// stack. The zero value means that the command talks to neither.
type Reach struct {
	Server, Stack bool
	Timeout       string // text of the flag --timeout; "" means that the command has no such flag
}

// Most commands for orders reach a server or a stack.
var (
	ServerOrStack = Reach{Server: true, Stack: true, Timeout: "how long to wait for an answer (default 30s)"}
	Untimed       = Reach{Server: true, Stack: true, Timeout: "how long the command may take (default: no limit)"}
)

func (a *App) reachFlags(r Reach) (flags []Flag) {
	if r.Server {
		flags = append(flags, Flag{
			In: Target, Name: "server", To: &a.server, Text: "`URL` of the server (default " + DefaultServer + ")",
		})
	}
	if r.Stack {
		text := "CloudFormation stack (`NAME`), with your AWS credentials"
		if r.Server {
			text = "CloudFormation stack (`NAME`) to use instead of a server, with your AWS credentials"
		}
		flags = append(flags, Flag{In: Target, Name: "stack", To: &a.Stack, Text: text}, Flag{
			In: Target, Name: "region", To: &a.region,
			Text: "AWS `region` of the stack (default: that of your environment or profile)",
		})
	}
	if r.Timeout != "" {
		flags = append(flags, Flag{In: Target, Name: "timeout", To: &a.Timeout, Least: "1ms", Text: r.Timeout})
	}
	return flags
}

// environment returns the environment variables that the command reads, with a text for each.
func (r Reach) environment() map[string]string {
	all := map[string]string{"NO_COLOR": "turns colours off"}
	if r.Server {
		all[ServerVariable] = "address of the server; --server wins"
	}
	if r.Stack {
		all["AWS_REGION, AWS_PROFILE"] = "Region and credentials for --stack"
	}
	return all
}
