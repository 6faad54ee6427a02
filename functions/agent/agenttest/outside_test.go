package agenttest_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/functions/agent"
	"github.com/stepkeeper/stepkeeper/functions/agent/agenttest"
	"github.com/stepkeeper/stepkeeper/functions/agent/ledger"
	"github.com/stepkeeper/stepkeeper/shared/awsclient"
	"github.com/stepkeeper/stepkeeper/shared/core"
	"github.com/stepkeeper/stepkeeper/shared/port"
)

// folderVariable makes this test's binary the agent "kiosk": its service keeps its books in that folder,
// and has the manners of manners.
const folderVariable = "STEPKEEPER_AGENTTEST_FOLDER"

func TestMain(m *testing.M) {
	if folder := os.Getenv(folderVariable); folder != "" {
		os.Exit(serveKiosk(kiosk{folder: folder, manners: os.Getenv("STEPKEEPER_AGENTTEST_MANNERS")}))
	}
	os.Exit(m.Run())
}

// kiosk is a remote service whose books are files: <key>.do, <key>.undo, and switches that the test sets.
type kiosk struct {
	folder   string
	manners  string // "", or how it is spoilt
	noLedger bool   // of its agent
}

var books sync.Mutex // the service carries out one thing after the other

func (k kiosk) path(name string) string {
	return filepath.Join(k.folder, strings.ReplaceAll(name, "/", "~"))
}

func (k kiosk) count(key, kind string) int {
	text, err := os.ReadFile(k.path(key) + "." + kind)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		panic(err)
	}
	return len(text)
}

func (k kiosk) effects(key string) int { return k.count(key, "do") - k.count(key, "undo") }

func (k kiosk) note(key, kind, what string) error {
	f, err := os.OpenFile(k.path(key)+"."+kind, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(what)
	return errors.Join(err, f.Close())
}

// set and get are switches of the service.
func (k kiosk) set(name, value string) {
	if err := os.WriteFile(k.path("switch-"+name), []byte(value), 0o600); err != nil {
		panic(err)
	}
}

func (k kiosk) get(name string) string {
	text, _ := os.ReadFile(k.path("switch-" + name)) // absent: off
	return string(text)
}

func (k kiosk) sell(ctx context.Context, call agent.Call) (any, error) {
	if d, err := time.ParseDuration(k.get("delay")); err == nil && d > 0 {
		select {
		case <-time.After(d):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	books.Lock()
	defer books.Unlock()
	fence := k.count(call.Key, "fence") > 0 || k.count(call.Key, "undo") > 0
	switch {
	case k.get("refuse") != "":
		return nil, agent.NoEffect(agent.Permanent(errors.New("sold out")))
	case fence && k.manners != "knows no keys":
		return nil, agent.NoEffect(agent.Permanent(errors.New("reversed before")))
	case k.manners == "knows no keys", k.count(call.Key, "do") == 0, fence && k.effects(call.Key) == 0:
		return map[string]string{"ticket": call.Key}, k.note(call.Key, "do", "+")
	}
	return map[string]string{"ticket": call.Key}, nil
}

func (k kiosk) takeBack(_ context.Context, call agent.Call) (any, error) {
	books.Lock()
	defer books.Unlock()
	switch {
	case k.effects(call.Key) > 0:
		return nil, k.note(call.Key, "undo", "-")
	case k.manners == "knows no keys":
		return nil, nil
	}
	return nil, k.note(call.Key, "fence", "#")
}

func serveKiosk(k kiosk) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	err := agent.Serve(ctx, "kiosk", agent.Operations{"sell": {Run: k.sell}, "take-back": {Run: k.takeBack}},
		ledger.InFolder(""),
		agent.WithRetry(agent.Retry{Tries: 1}), agent.WithBreaker(agent.Breaker{Off: true}),
		agent.WithLog(slog.New(slog.DiscardHandler)))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func (k kiosk) probe() agenttest.Probe {
	return agenttest.Probe{
		Do: "sell", Undo: "take-back", Effects: k.effects, Timeout: 5 * time.Second,
		Refuse: func(yes bool) { k.set("refuse", map[bool]string{true: "yes"}[yes]) },
		Delay:  func(d time.Duration) { k.set("delay", d.String()) },
	}
}

// start runs the kiosk as a process of its own, attached to o.
func (k kiosk) start(t *testing.T, o *agenttest.Outside) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	cmd := exec.Command(self)
	cmd.Stderr = os.Stderr
	cmd.Env = append(os.Environ(), folderVariable+"="+k.folder, "STEPKEEPER_AGENTTEST_MANNERS="+k.manners,
		"AWS_ENDPOINT_URL_SQS="+o.URL(),
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=thing")
	if !k.noLedger {
		cmd.Env = append(cmd.Env, "STEPKEEPER_LEDGER_FOLDER="+filepath.Join(k.folder, "ledger"))
	}
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
	})
}

// TestProcessesOfEachGrade: agents as processes of their own are distinguished as those in this process
// are, the wrong ones too.
func TestProcessesOfEachGrade(t *testing.T) {
	for _, tt := range []struct {
		kiosk kiosk
		grade core.Grade
		why   string
	}{
		{kiosk{manners: ""}, agenttest.Fenced, ""},
		{kiosk{manners: "knows no keys"}, agenttest.Plain, "duplicate"},
		// A ledger is for plain services alone.
		{kiosk{manners: "", noLedger: true}, agenttest.Fenced, ""},
		{kiosk{manners: "knows no keys", noLedger: true}, "", "was started without a ledger"},
	} {
		t.Run(fmt.Sprintf("manners %q, no ledger %v", tt.kiosk.manners, tt.kiosk.noLedger),
			func(t *testing.T) {
				t.Parallel()
				k := tt.kiosk
				k.folder = t.TempDir()
				o, err := agenttest.Attach(t.Context(), "kiosk")
				require.NoError(t, err)
				defer o.Close()
				k.start(t, o)
				j := &recorder{TB: t}
				r := o.Earns(j, k.probe(), agenttest.Fenced)
				require.Equal(t, tt.grade, r.Grade)
				require.Contains(t, r.String(), tt.why)
				require.Equal(t, tt.grade == agenttest.Fenced, j.failed == "")
				require.GreaterOrEqual(t, len(r.Trials), 17)
			})
	}
}

// TestLateCalls: an idempotent service whose calls land after their time is plain.
func TestLateCalls(t *testing.T) {
	for name, tt := range map[string]struct {
		late  bool
		grade core.Grade
		why   string
	}{
		"ends in time": {false, agenttest.Idempotent, "do after undo"},
		"lands late": {
			true, agenttest.Plain,
			"call past stopBy: at its stopBy there were 0 effects of a slow call, and later 1",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &shop{noFence: true}
			ops := s.operations()
			probe := s.probe()
			// a tenth of it is what a slow call has: more than a busy machine's pauses
			probe.Timeout = 5 * time.Second
			var mu sync.Mutex
			var delay time.Duration
			probe.Delay = func(d time.Duration) { mu.Lock(); defer mu.Unlock(); delay = d }
			buy := ops["buy"].Run
			ops["buy"] = agent.Operation{Run: func(ctx context.Context, c agent.Call) (any, error) {
				mu.Lock()
				d := delay
				mu.Unlock()
				if tt.late && d > 0 { // the service goes on, and its caller does not wait
					time.AfterFunc(d, func() { _, _ = buy(context.WithoutCancel(ctx), c) })
					<-ctx.Done()
					return nil, ctx.Err()
				}
				select {
				case <-time.After(d):
				case <-ctx.Done():
				}
				return buy(ctx, c)
			}}
			r := agenttest.Find(t, ops, probe)
			require.Equal(t, tt.grade, r.Grade)
			require.Contains(t, r.String(), tt.why)
			if mu.Lock(); delay != 0 {
				t.Errorf("the service is left slow: %s", delay)
			}
		})
	}
}

// TestNoAgentIsAttached reports so, instead of a grade.
func TestNoAgentIsAttached(t *testing.T) {
	t.Parallel()
	o, err := agenttest.Attach(t.Context(), "kiosk")
	require.NoError(t, err)
	defer o.Close()
	require.True(t, strings.HasPrefix(o.URL(), "http://127.0.0.1:"))
	probe := kiosk{folder: t.TempDir()}.probe()
	probe.Timeout = time.Millisecond
	o.Patience = 50 * time.Millisecond
	_, err = o.Find(t.Context(), probe)
	require.ErrorIs(t, err, agenttest.ErrSilent)
	require.ErrorContains(t, err, "attached to "+o.URL())
}

// An agent that cannot read its requests, or whose replies cannot be read, gets no grade.
func TestAnAgentThatIsNotUnderstood(t *testing.T) {
	t.Parallel()
	for queue, want := range map[string]string{
		port.Quarantine: `the agent could not read its request: nonsense`,
		port.Replies:    "a reply of the agent cannot be read: ",
	} {
		o, err := agenttest.Attach(t.Context(), "kiosk")
		require.NoError(t, err)
		c, err := awsclient.Load(t.Context(), awsclient.Options{Endpoint: o.URL(), Region: "us-east-1"})
		require.NoError(t, err)
		sdk := sqs.NewFromConfig(c)
		of := func(name string) *string { return aws.String(o.URL() + "/000000000000/" + name) }
		var agent sync.WaitGroup
		agent.Go(func() {
			in, err := sdk.ReceiveMessage(t.Context(),
				&sqs.ReceiveMessageInput{QueueUrl: of(port.Requests("kiosk")), WaitTimeSeconds: 20})
			if err != nil || len(in.Messages) != 1 {
				t.Errorf("%+v, %v", in, err)
				return
			}
			_, err = sdk.SendMessage(t.Context(),
				&sqs.SendMessageInput{QueueUrl: of(queue), MessageBody: aws.String("nonsense")})
			_, errDelete := sdk.DeleteMessage(t.Context(),
				&sqs.DeleteMessageInput{
					QueueUrl:      of(port.Requests("kiosk")),
					ReceiptHandle: in.Messages[0].ReceiptHandle,
				})
			if err := errors.Join(err, errDelete); err != nil {
				t.Error(err)
			}
		})
		probe := kiosk{folder: t.TempDir()}.probe()
		_, err = o.Find(t.Context(), probe)
		require.ErrorContains(t, err, want)
		agent.Wait()
		o.Close()
	}
}
