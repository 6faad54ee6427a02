package e2e

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	demo "github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
)

// journalVariable makes this test's own binary the agent "courier", as its author would write it:
// agent.Serve, found by the endpoint's URL. It notes its effects in the file that it names.
const journalVariable = "STEPKEEPER_E2E_JOURNAL"

type parcel struct {
	To string `json:"to"`
}

func serveCourier() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	note := func(format string, args ...any) error {
		f, err := os.OpenFile(os.Getenv(journalVariable), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			return err
		}
		defer f.Close()
		_, err = fmt.Fprintf(f, format+"\n", args...)
		return err
	}
	fmt.Println("the courier attaches to", os.Getenv("AWS_ENDPOINT_URL_SQS"))
	err := agent.Serve(ctx, "courier", agent.Operations{
		"carry": agent.Typed(func(ctx context.Context, p parcel, call agent.Call) (map[string]string, error) {
			switch p.To {
			case "nowhere":
				return nil, agent.WithCode(agent.Permanent(agent.NoEffect(errors.New("no such address"))),
					"no-address")
			case "far":
				if err := note("sets out %s", call.Key); err != nil {
					return nil, err
				}
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return map[string]string{"signature": p.To}, note("carried %s", call.Key)
		}),
		"bring-back": agent.Typed(func(_ context.Context, _ parcel, call agent.Call) (any, error) {
			return nil, note("brought back %s", call.Key)
		}),
	}, ledger.InFolder(""))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// courierProcess is the agent as a process of its own.
type courierProcess struct {
	*demo.Process
	t       *testing.T
	journal string
}

func startCourier(t *testing.T, p *process, dir string) *courierProcess {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	c := &courierProcess{t: t, journal: filepath.Join(dir, "journal")}
	c.Process = &demo.Process{
		Name: "courier", Binary: self, Log: filepath.Join(dir, "courier.log"),
		Env: []string{
			journalVariable + "=" + c.journal, "AWS_ENDPOINT_URL_SQS=" + p.URL(),
			"STEPKEEPER_LEDGER_FOLDER=" + filepath.Join(dir, "ledger"), "AWS_REGION=eu-central-1",
			"AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=thing",
		},
	}
	start(t, c.Process)
	return c
}

// wrote counts the journal's lines with that beginning.
func (c *courierProcess) wrote(beginning string) int {
	text, err := os.ReadFile(c.journal)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		c.t.Fatal(err)
	}
	return strings.Count(string(text), beginning)
}

// An agent that is written with agent.Serve, as a process of its own beside `dev`.
func TestAgentProcess(t *testing.T) {
	t.Parallel()
	s := deliverySite(t)
	s.write("workflows/delivery.yaml", plainDelivery)
	p := s.start()
	c := startCourier(t, p, s.dir)
	submit := func(id, to string) {
		t.Helper()
		res, _ := p.post(fmt.Appendf(nil,
			`{"schema":1,"orderId":%q,"workflow":"delivery","order":{"to":%q}}`, id, to))
		require.Equal(t, 2, res.StatusCode/100)
	}
	submit("p-1", "Ada")
	require.Equal(t, `{"signature":"Ada"}`, string(p.end("p-1", "Processed").Output))
	submit("p-2", "nowhere")
	if task := p.end("p-2", "Compensated"); task.Error == nil || task.Error.Code != "no-address" {
		t.Errorf("undone because of %+v", task.Error)
	}
	require.Equal(t, 1, c.wrote("carried"))
	require.Zero(t, c.wrote("brought back"))

	// It is killed in the middle of a call of a plain service. The next one knows by its ledger that
	// it must not call again, and what happened is unknown: the operator has to say.
	submit("p-3", "far")
	eventually(t, "the courier is on his way", func() bool { return c.wrote("sets out") == 1 })
	require.NoError(t, c.Kill())
	c = startCourier(t, p, s.dir)
	task := p.end("p-3", "Error")
	require.Equal(t, 1, c.wrote("sets out"))
	require.EqualValues(t, "undo", task.Phase)
	require.NotNil(t, task.Error, "it stopped in phase %q because of %+v", task.Phase, task.Error)
	require.Equal(t, "carry", task.Error.Step)
	eventually(t, "no call can land any more", func() bool {
		return p.run("", "resolve", "p-3", "carry", "happened").code == 0
	})
	p.run("", "resubmit", "p-3").wants(t, "resubmit", 0)
	p.end("p-3", "Compensated")
	require.Equal(t, 1, c.wrote("brought back p-3/0/carry"))

	require.NoError(t, c.Stop(), "the agent drains")
}

// plainDelivery has short times, and a courier who knows no keys.
var plainDelivery = strings.NewReplacer(
	"courier: {queueAllowance: 5s, clockSkew: 100ms}", "courier: {queueAllowance: 500ms, clockSkew: 100ms}",
	`    timeout: 5s
    retry: {maxFailures: 3, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: bring-back
    grade: fenced`, `    timeout: 1s
    retry: {maxFailures: 2, backoff: {initial: 50ms, max: 100ms}}
    onFailure: undo
    undo: bring-back
    grade: plain`,
).Replace(delivery)
