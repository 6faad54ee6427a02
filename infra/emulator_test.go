package infra_test

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/jsii-runtime-go"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra"
	"github.com/stepkeeper/stepkeeper/infra/emulate"
)

// folder holds files by their names.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return dir
}

// An agent whose service is on this machine is refused, unless the deployment is for an emulator, which runs
// here too. For an emulator the functions are built for this machine.
func TestAddressesOfThisMachine(t *testing.T) {
	needNode(t)
	synthesise := func(agent, emulator string) (x tmpl, err error) {
		defer func() { err = infra.Explain(recover(), err) }()
		dir := folder(t, map[string]string{
			"agents.yaml": "agents: {seats: {" + agent + "}}",
			"w.yaml": "workflow: w\nsteps:\n  a: {agent: seats, operation: reserve, timeout: 5s, grade: idempotent, " +
				"undo: none, onFailure: stop}\n",
		})
		context := map[string]any{}
		if emulator != "" {
			context[emulate.Context] = emulator
		}
		app := awscdk.NewApp(&awscdk.AppProps{Context: &context, AnalyticsReporting: jsii.Bool(false)})
		stack := awscdk.NewStack(app, jsii.String("Local"), nil)
		file := filepath.Join(dir, "agents.yaml")
		infra.NewStepkeeper(stack, "Engine", &infra.Props{
			Workflows: []string{filepath.Join(dir, "w.yaml")},
			Agents:    map[string]infra.Agent{"seats": {HTTP: file, Environment: map[string]string{"SECRET": "s"}}},
			Build:     fake, Profile: infra.ProfileDev,
		})
		return read(t, stack), nil
	}
	const near, far = `url: "http://127.0.0.1:9100/seats"`, `url: "https://seats.example"`
	for agent, field := range map[string]string{
		near: "url", `url: "http://LOCALHOST:9100"`: "url", `url: "https://[::1]/x"`: "url",
		far + `, proxy: "http://localhost:3128"`: "proxy",
		far + `, auth: {oauth2: {tokenURL: "http://127.0.0.1:1/t", clientID: a, ` +
			`clientSecret: "${env:SECRET}"}}`: "auth: oauth2: tokenURL",
		`operations: {reserve: {aws: {send: "http://127.0.0.1:4566/000000000000/seats", ` +
			`deduplicates: true}}}`: "operation reserve",
	} {
		_, err := synthesise(agent, "")
		for _, want := range []string{
			"its " + field + " has the host", "reaches no service on this machine",
			"agents.prod.yaml",
		} {
			require.ErrorContains(t, err, want, agent)
		}
	}
	_, err := synthesise(near, "localstak")
	require.ErrorContains(t, err, "stepkeeper:emulator=localstak; it must be localstack or ministack")
	arch := map[bool]string{true: "x86_64", false: "arm64"}[runtime.GOARCH == "amd64"]
	for emulator, rules := range map[string]int{emulate.NameLocalStack: 1, emulate.NameMiniStack: 0} {
		x, err := synthesise(near, emulator)
		require.NoError(t, err)
		same(t, "rules", len(x.of("AWS::Events::Rule")), rules)
		same(t, "schedules", len(x.of("AWS::Scheduler::Schedule")), 1-rules)
		same(t, "architecture", at(x.of("AWS::Lambda::Function")["Scheduler"].Properties, "Architectures",
			0), arch)
		for _, kind := range []string{"AWS::Events::Rule", "AWS::Scheduler::Schedule"} {
			for _, r := range x.of(kind) {
				same(t, "interval", r.Properties["ScheduleExpression"], "rate(1 minute)")
			}
		}
	}
}
