package infra

import (
	"fmt"
	"os"
	"runtime"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
)

// Main is the main function of a CDK app. It calls add, which adds stacks to the app, and synthesises the
// app. Main prints an error without stack traces, and then exits with status 1.
func Main(add func(app awscdk.App) error) {
	err := synthesise(add)
	if err != nil {
		fmt.Fprintln(os.Stderr, err) // before Close, which sometimes writes to standard error without a line break
	}
	jsii.Close()
	if err != nil {
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

// Explain converts the panic of a construct to an error without the CDK's stack trace. panicked is the result
// of recover. If panicked is nil, Explain returns err. It panics again with a runtime.Error.
func Explain(panicked any, err error) error {
	switch p := panicked.(type) {
	case nil:
		return err
	case runtime.Error:
		panic(p)
	}
	var lines []string
	for line := range strings.Lines(fmt.Sprint(panicked)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "at ") { // a stack frame of JavaScript
			lines = append(lines, line)
		}
	}
	return fmt.Errorf("%s", strings.TrimSpace(strings.Join(lines, "")))
}
