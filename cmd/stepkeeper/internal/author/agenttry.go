package author

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/app"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
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

func newAgentTry(a *app.App) *cobra.Command {
	o := &agentTryOptions{
		app: a, input: "{}", wait: time.Minute,
		probe: agenttest.Probe{Timeout: 5 * time.Second, Between: 50},
	}
	return a.Command("agent test", app.Flags{
		"do": &o.probe.Do, "undo": &o.probe.Undo, "input": &o.input,
		"effects": &o.effects, "refuse": &o.refuse, "delay": &o.delay, "earns": &o.earns,
		"timeout": &o.probe.Timeout, "between": &o.probe.Between, "wait": &o.wait,
	},
		func(cmd *cobra.Command, given []string) error {
			o.name = given[0]
			o.command = given[1:]
			return runAgentTry(cmd.Context(), o)
		})
}

func (o *agentTryOptions) check() error {
	switch {
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
	end, err := o.start(out.URL(), stop)
	if err != nil {
		return failure.Wrap(err, failure.Usage, "give the command as you would type it, after --",
			"the agent cannot be started")
	}
	defer end()
	report, err := out.Find(ctx, o.probe)
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
		cmd := exec.CommandContext(ctx, "sh", "-c", line)
		var out, errs bytes.Buffer
		cmd.Stdout = &out
		cmd.Stderr = &errs
		cmd.Env = append(os.Environ(), variable)
		if err := cmd.Run(); err != nil {
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
func (o *agentTryOptions) start(url string, stop context.CancelCauseFunc) (end func(), err error) {
	if len(o.command) == 0 {
		fmt.Fprintf(o.app.Streams.Err, "start agent %s now, with AWS_ENDPOINT_URL_SQS=%s (and, where its "+
			"service is plain, with its ledger)\n", o.name, url)
		return func() {}, nil
	}
	folder, err := os.MkdirTemp("", "stepkeeper-agent-test")
	if err != nil {
		return nil, err
	}
	// An error does not matter, because the folder is temporary.
	forget := func() { _ = os.RemoveAll(folder) }
	cmd := exec.Command(o.command[0], o.command[1:]...) //nolint:gosec // the user's own command
	cmd.Stdout = o.app.Streams.Err
	cmd.Stderr = o.app.Streams.Err
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
		case <-time.After(killAfter):
			_ = cmd.Process.Kill()
			<-exited
		}
		forget()
	}, nil
}

// print prints the results. It returns an error if the agent meets no grade, or does not meet the requested
// grade.
func (o *agentTryOptions) print(r agenttest.Report) error {
	if o.app.JSON() {
		if err := o.app.PrintJSON(r); err != nil {
			return err
		}
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
