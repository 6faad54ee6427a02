package author

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/scaffold"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/deployment"
)

type agentTryOptions struct {
	app     *app.App
	name    string
	command []string
	probe   agenttest.Probe
	input   string
	effects string
	refuse  string
	delay   string
	earns   string
	wait    time.Duration
}

var agentTestText = app.Text{
	Use:   "test NAME [-- COMMAND...]",
	Short: "Find out which grade an agent earns, in any language",
	Examples: `  stepkeeper agent test coats --do hang --undo give-back --input '{"coat":"red"}' \
    --effects 'curl -s localhost:9000/count?key=$KEY' --earns idempotent -- python agent.py`,
	Long: `It serves the agent's queues in SQS's protocol, starts the agent with COMMAND, and tries duplicates, further
attempts, lost replies, late requests, an undo before its do, a do after its undo, and forgotten keys and fences.
Each trial has its own keys. The agent calls its service, so use a test account. Without COMMAND, start the
agent yourself with the printed endpoint.

COMMAND gets the variables below. The lines of --effects, --refuse and --delay run in sh with the key in $KEY.`,
	Args:  app.Args{Least: 1, Any: true, What: "the agent's name, and after -- the command that starts it"},
	Offer: app.Nothing,
	Environment: map[string]string{
		"AWS_ENDPOINT_URL_SQS":     "set for COMMAND, with credentials that are not checked",
		"STEPKEEPER_LEDGER_FOLDER": "set for COMMAND unless the environment names a ledger for plain services",
	},
}

func newAgentTry(a *app.App) *cobra.Command {
	o := &agentTryOptions{
		app: a, input: "{}", wait: time.Minute,
		probe: agenttest.Probe{Timeout: 5 * time.Second, Between: 50},
	}
	return a.Command(agentTestText, []app.Flag{
		app.RunFlags.Flag("between", &o.probe.Between,
			"`number` of other keys before a key comes again").Within("1", "100000"),
		app.RunFlags.Flag("delay", &o.delay,
			"`line` that makes the service take $MS milliseconds before it acts; 0 means as usual"),
		app.RunFlags.Flag("effects", &o.effects, "`line` that prints the number of effects for $KEY"),
		app.RunFlags.Flag("refuse", &o.refuse,
			"`line` that makes the service refuse everything ($ON is 1) or not ($ON is 0)"),
		app.RunFlags.Flag("call-timeout", &o.probe.Timeout, "limit of one call").Within("1ms", ""),
		app.RunFlags.Flag("timeout", &o.wait,
			"how long the start of the agent, a request, or a line may take").Within("1ms", ""),
		app.WorkflowFlags.Flag("do", &o.probe.Do, "`name` of the operation that has the effect"),
		{
			In: app.WorkflowFlags, Name: "earns", To: &o.earns, Of: []string{"fenced", "idempotent", "plain"},
			Text: "fail unless the agent earns this `grade`: fenced, idempotent or plain",
		},
		app.WorkflowFlags.Flag("input", &o.input, "`JSON` input of both"),
		app.WorkflowFlags.Flag("undo", &o.probe.Undo, "`name` of the operation that reverses it"),
	},
		func(cmd *cobra.Command, given []string) error {
			o.name = given[0]
			o.command = given[1:]
			return runAgentTry(cmd.Context(), o)
		})
}

func (o *agentTryOptions) check() error {
	wrong := scaffold.CheckNames(o.name, cmp.Or(o.probe.Do, "any"), cmp.Or(o.probe.Undo, "any"))
	switch {
	case wrong != nil:
		return failure.Wrap(wrong, failure.Usage, "write them as the workflow does", "nothing was tried")
	case o.probe.Do == "":
		return failure.New(failure.Usage, "name it: --do charge",
			"which operation has the effect is not said")
	case o.effects == "":
		return failure.New(failure.Usage,
			"give a line for sh that prints their number, like --effects 'curl -s "+
				"localhost:9000/count?key=$KEY'", "how to count the effects is not said")
	case !json.Valid([]byte(o.input)):
		return failure.New(failure.Usage, "give what the operation takes, like --input '{\"amount\":1}'",
			"--input %.80s is no JSON", o.input)
	}
	return nil
}

func runAgentTry(ctx context.Context, o *agentTryOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	o.probe.Input = json.RawMessage(o.input)
	o.ask(ctx, stop)
	out, err := agenttest.Attach(ctx, o.name)
	if err != nil {
		return failure.Wrap(err, failure.General, "", "the queues of agent %s cannot be served", o.name)
	}
	defer out.Close()
	out.Patience = o.wait
	progress := o.app.Streams.Progress("trials", 0)
	defer progress.Done()
	o.probe.Tried = progress.Set
	end, err := o.start(out.URL(), progress, stop)
	if err != nil {
		return failure.Wrap(err, failure.Usage, "give the command as you would type it, after --",
			"the agent cannot be started")
	}
	defer end()
	report, err := out.Find(ctx, o.probe)
	progress.Done()
	if err == nil {
		err = context.Cause(ctx) // non-nil if the agent ended or a user's command failed in the last trial
	}
	if err != nil {
		return failure.Wrap(err, failure.General, "", "agent %s cannot be tested", o.name)
	}
	return o.print(report)
}

// ask sets the functions of the probe. These functions run the user's commands, which query or change the
// service. A failed command ends the test, because the result would not be reliable.
func (o *agentTryOptions) ask(ctx context.Context, stop context.CancelCauseFunc) {
	sh := func(flag, line, variable string) string {
		ctx, cancel := context.WithTimeout(ctx, o.wait)
		defer cancel()
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		cmd.WaitDelay = time.Second // a child of the line may keep its output open
		var out, errs bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = &errs
		cmd.Env = append(os.Environ(), variable)
		err := cmd.Run()
		switch {
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			stop(fmt.Errorf("the command of --%s did not end within %v; give it more time with --timeout",
				flag, o.wait))
		case err != nil:
			stop(fmt.Errorf("the command of --%s failed: %w: %.500s", flag, err, errs.String()))
		}
		return strings.TrimSpace(out.String())
	}
	o.probe.Effects = func(key string) int {
		text := sh("effects", o.effects, "KEY="+key)
		n, err := strconv.Atoi(text)
		if err != nil {
			stop(fmt.Errorf("the command of --effects printed %.80q; it must print a number", text))
		}
		return n
	}
	if o.refuse != "" {
		o.probe.Refuse = func(on bool) {
			sh("refuse", o.refuse,
				map[bool]string{false: "ON=0", true: "ON=1"}[on])
		}
	}
	if o.delay != "" {
		o.probe.Delay = func(d time.Duration) { sh("delay", o.delay, fmt.Sprintf("MS=%d", d.Milliseconds())) }
	}
}

// killAfter is how long the agent may continue after SIGTERM.
const killAfter = 5 * time.Second

// start starts the agent's command and returns a function that ends the command. Without a command, start
// asks the user to start the agent.
func (o *agentTryOptions) start(url string, says io.Writer, stop context.CancelCauseFunc) (end func(), err error) {
	if len(o.command) == 0 {
		o.app.Streams.Say(fmt.Sprintf("start agent %s now, with AWS_ENDPOINT_URL_SQS=%s (and, where its service is "+
			"plain, with its ledger)", o.name, url))
		return func() {}, nil
	}
	folder, err := os.MkdirTemp("", "stepkeeper-agent-test")
	if err != nil {
		return nil, err
	}
	// An error does not matter, because the folder is temporary.
	forget := func() { _ = os.RemoveAll(folder) }
	cmd := exec.Command(o.command[0], o.command[1:]...) //nolint:gosec // the user's own command
	cmd.Stdout = says
	cmd.Stderr = says
	cmd.Env = []string{"AWS_REGION=us-east-1", "AWS_DEFAULT_REGION=us-east-1"}
	cmd.Env = append(append(cmd.Env, os.Environ()...), "AWS_ENDPOINT_URL_SQS="+url,
		"STEPKEEPER_ENDPOINT="+url, "STEPKEEPER_QUEUE_PREFIX=",
		"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=thing", "AWS_SESSION_TOKEN=")
	if os.Getenv(deployment.VarLedger) == "" && os.Getenv(deployment.VarLedgerFolder) == "" {
		cmd.Env = append(cmd.Env, deployment.VarLedgerFolder+"="+folder)
	}
	if err := cmd.Start(); err != nil {
		forget()
		return nil, err
	}
	exited := make(chan struct{})
	go func() {
		defer close(exited)
		stop(errors.Join(errors.New("the agent's process has ended"), cmd.Wait()))
	}()
	return func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // The process may have ended already.
		select {
		case <-exited:
		case <-time.After(killAfter): // a child of the command may keep its output open, as of `go run`
			_ = cmd.Process.Kill()
		}
		forget()
	}, nil
}

// print prints the results. It returns an error if the agent meets no grade, or does not meet the requested
// grade.
func (o *agentTryOptions) print(r agenttest.Report) error {
	if o.app.JSON() {
		o.app.PrintJSON(r)
	} else {
		for _, t := range r.Trials {
			mark := "ok   "
			if t.Wrong != "" {
				mark = "WRONG"
			}
			fmt.Fprintf(o.app.Streams.Out, "%s  %s\n", mark, t.Name)
		}
		fmt.Fprintf(o.app.Streams.Out, "\n%s earns %s\n", o.name, r)
	}
	switch {
	case r.Grade == "":
		return failure.New(failure.General, "correct what the failed checks name: every grade needs it",
			"agent %s meets no grade", o.name)
	case o.earns != "" && r.WhyNot(core.Grade(o.earns)) != "":
		return failure.New(failure.General, "declare "+string(r.Grade)+
			" in the workflow, or correct the service", "agent %s %s", o.name, r.WhyNot(core.Grade(o.earns)))
	}
	return nil
}
