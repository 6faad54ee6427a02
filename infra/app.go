package infra

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// Main is the main function of a CDK app. It calls add, which adds the stacks, and synthesises them. It
// writes an error to standard error without the stack traces of Go and of the CDK, and ends the process with
// status 1.
func Main(add func(app awscdk.App) error) {
	err := synthesise(add)
	jsii.Close()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func synthesise(add func(app awscdk.App) error) (err error) {
	defer func() { err = Explain(recover(), err) }()
	app := awscdk.NewApp(nil)
	if err := add(app); err != nil {
		return err
	}
	app.Synth(nil)
	return nil
}

// Explain returns the panic of a construct as an error, without the CDK's stack trace. It returns err if
// there was no panic. A mistake in the program itself panics again.
func Explain(panicked any, err error) error {
	switch p := panicked.(type) {
	case nil:
		return err
	case runtime.Error:
		panic(p)
	}
	var lines []string
	for line := range strings.Lines(fmt.Sprint(panicked)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "at ") { // stack frames of JavaScript
			lines = append(lines, line)
		}
	}
	return fmt.Errorf("%s", strings.TrimSpace(strings.Join(lines, "")))
}
