package cli

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"mvdan.cc/sh/v3/syntax"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/client/aws"
	"github.com/stepkeeper/stepkeeper/cmd/stepkeeper/internal/failure"
	"github.com/stepkeeper/stepkeeper/internal/awsstub"
	"github.com/stepkeeper/stepkeeper/internal/reference"
	"github.com/stepkeeper/stepkeeper/internal/stacktest"
	"github.com/stepkeeper/stepkeeper/shared/port"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// pagesFolder is absolute, because tests change into folders of their own. An error leaves it empty, and no page is
// found.
var pagesFolder, _ = filepath.Abs(root + "/docs")

// printed runs the lines of a page, and checks that the page shows what they print. There is no terminal that
// confirms, so the test may add flags that the page leaves out.
func (c call) printed(t *testing.T, page, lines string, code failure.Code, more ...string) {
	t.Helper()
	var out strings.Builder
	for line := range strings.Lines(lines) {
		r := c.run(t, append(wordsOf(t, line)[1:], more...)...)
		require.Equal(t, code, r.code, "%s\n%s%s", line, r.out, r.err)
		out.WriteString(r.out + r.err)
	}
	reference.Printed(t, filepath.Join(pagesFolder, page), lines, out.String())
}

// wordsOf returns the words of a line for the shell.
func wordsOf(t *testing.T, line string) (words []string) {
	t.Helper()
	parsed, err := syntax.NewParser().Parse(strings.NewReader(line), "")
	require.NoError(t, err)
	syntax.Walk(parsed, func(n syntax.Node) bool {
		if w, ok := n.(*syntax.Word); ok {
			words = append(words, literal(w))
		}
		return true
	})
	return words
}

// anyStack calls the program against a stack that is not on AWS, whatever the stack's name is.
func anyStack(w *stacktest.Deployment) call {
	return call{
		now: time.Now,
		openStack: func(_ context.Context, name string, _ aws.Options, opts ...client.Option) (*client.Client, error) {
			w.Parts.Outputs.Stack = name
			return w.Client(opts...), nil
		},
	}
}

// The page about dead letters shows what its commands print.
func TestDeadLettersPage(t *testing.T) {
	const page = "how-to/dead-letters.md"
	queues, c := givenUp(t, "there is no such workflow")
	inner := c.openStack
	c.openStack = func(ctx context.Context, name string, _ aws.Options, opts ...client.Option) (*client.Client, error) {
		return inner(ctx, name, aws.Options{Region: "eu-central-1"}, opts...)
	}
	missed, err := queues.Queue(client.MissedSweeps)
	require.NoError(t, err)
	require.NoError(t, missed.Send(t.Context(), []port.Message{{Body: []byte("{}")}})[0])
	t.Chdir(t.TempDir()) // the journal
	c.printed(t, page, "stepkeeper dead-letters list --stack Shop\nstepkeeper dead-letters list replies --stack Shop",
		failure.OK)
	const redrive = `stepkeeper dead-letters redrive replies --all --reason "the table was throttled"`
	c.printed(t, page, redrive+" --dry-run --stack Shop\n"+redrive+" --stack Shop", failure.OK, "--yes")
	c.printed(t, page, `stepkeeper dead-letters discard missed-sweeps --all --reason "the function was throttled"`+
		" --stack Shop", failure.OK, "--yes")
	c.printed(t, page, "stepkeeper dead-letters list quarantine --stack Shop", failure.OK)
	c.printed(t, page, `stepkeeper dead-letters redrive quarantine --all --reason "the workflow is deployed now"`+
		" --stack Shop", failure.Refused, "--yes")
}

// The pages about a stack show what their commands print.
func TestStackPages(t *testing.T) {
	w := stacktest.New(t, stacktest.Memory())
	c := anyStack(w)
	const tutorial = "tutorials/first-deployment.md"
	t.Chdir(t.TempDir())
	overwrite(t, "orders.jsonl", fmt.Sprintln(`{"schema":1,"orderId":"o-2","workflow":"booking",`+
		`"order":{"seat":"12B","card":"card-2","price":1}}`))
	c.printed(t, tutorial, "stepkeeper --stack shop-dev submit --wait orders.jsonl", failure.OK)
	c.printed(t, tutorial, "stepkeeper --stack shop-dev show o-2", failure.OK)

	overwrite(t, "order.json", `{"seat": "12A", "card": "card-1", "price": 4200}`)
	c.printed(t, "how-to/localstack.md",
		"stepkeeper --stack shop-local submit --workflow booking --id o-1 --wait order.json", failure.OK)
	serves := c
	serves.until = "\n" // ends it once it is ready
	serves.printed(t, "how-to/console.md", "stepkeeper console --stack shop --region eu-central-1", failure.OK,
		"--listen", "127.0.0.1:0")

	task, err := w.Client().Get(t.Context(), "o-2")
	require.NoError(t, err)
	w.Parts.Outputs.Workflows = map[string]string{"Booking": task.Definition}
	w.Parts.Outputs.Mappings = map[string]string{port.Intake: "m-intake"}
	w.Parts.Outputs.Release = view.Built()
	stopped := awsstub.Config(t, ops(states{"m-intake": "Disabled"}, "allowed"))
	w.Parts.Config = &stopped
	c.printed(t, "how-to/check-health.md", "stepkeeper doctor --stack Shop", failure.General)
}

// The page about restores shows what stops and starts a deployment.
func TestRestorePage(t *testing.T) {
	t.Setenv("AWS_REGION", "eu-central-1")
	c := (&pausable{}).on(t)
	for _, verb := range []string{"pause", "resume"} {
		c.printed(t, "how-to/aws-restore.md", "stepkeeper --stack Stepkeeper aws "+verb, failure.OK)
	}
}

// The page about grades shows what the trials print. The agent is TestDeskAgent.
func TestGradesPage(t *testing.T) {
	if testing.Short() {
		t.Skip("starts an agent")
	}
	const line = `stepkeeper agent test desk --do lend --undo take-back --earns idempotent \
    --effects 'ls lent | grep -c "^$(echo $KEY | tr / "~")" || true' -- ./desk`
	self, err := os.Executable()
	require.NoError(t, err)
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("lent", 0o700))
	args := []string{"agent", "test", "--between", "5", "--call-timeout", "1s"} // not for minutes
	args = append(args, wordsOf(t, line)[3:]...)
	args = append(args[:len(args)-1], "env", deskVariable+"=lent", self, "-test.run=^TestDeskAgent$")
	r := call{}.run(t, args...)
	r.want(t, failure.OK)
	shown, _, _ := strings.Cut(r.out, "\n  fence after") // the first finding is enough
	reference.Printed(t, filepath.Join(pagesFolder, "how-to/testing-agents.md"), line, shown)
}
