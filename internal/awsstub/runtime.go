package awsstub

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

const patience = 2 * time.Minute

// Function is the program of a Lambda function. It runs as a child process of the test.
type Function struct {
	t        *testing.T
	cmd      *exec.Cmd
	work     chan []byte
	answered chan []byte
	ended    chan struct{}
	asked    chan struct{} // closed when the program first requests an event
	ask      sync.Once
	mu       sync.Mutex
	out      bytes.Buffer
	n        int
}

// Start starts a program, and a server that imitates Lambda's runtime API for the program. The program's
// environment holds only the given variables and the address of the server. The program ends with the test.
func Start(t *testing.T, program string, env map[string]string) *Function {
	t.Helper()
	f := &Function{
		t: t, cmd: exec.Command(program), work: make(chan []byte), answered: make(chan []byte, 1),
		ended: make(chan struct{}), asked: make(chan struct{}),
	}
	runtime := httptest.NewServer(http.HandlerFunc(f.serve))
	f.cmd.Env = []string{"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.URL, "http://")}
	for name, value := range env {
		f.cmd.Env = append(f.cmd.Env, name+"="+value)
	}
	f.cmd.Stdout = f
	f.cmd.Stderr = f
	if err := f.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(f.ended); _ = f.cmd.Wait() }()
	t.Cleanup(func() {
		f.Kill()
		runtime.CloseClientConnections()
		runtime.Close()
		if t.Failed() {
			t.Logf("the function said:\n%s", f.Output())
		}
	})
	return f
}

// Write implements io.Writer for the program's output.
func (f *Function) Write(p []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.Write(p)
}

// Output returns the program's output so far.
func (f *Function) Output() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.out.String()
}

// Kill ends the program abruptly, like a crash.
func (f *Function) Kill() {
	_ = f.cmd.Process.Kill()
	<-f.ended
}

// Ends waits until the program has ended by itself. It returns the exit code.
func (f *Function) Ends() int {
	f.t.Helper()
	select {
	case <-f.ended:
		return f.cmd.ProcessState.ExitCode()
	case <-time.After(patience):
		f.t.Fatal("the function did not end")
		return 0
	}
}

// Invoke passes an event to the function. It returns the IDs of the messages that the function could not
// handle. The test fails if the response contains no list of IDs. The list may be empty (rule 2 in
// docs/reference/aws-rules.md).
func (f *Function) Invoke(event events.SQSEvent) (again []string) {
	f.t.Helper()
	answer := f.Answer(event)
	again, err := failures(answer)
	if err != nil {
		f.t.Fatalf("%v: %s", err, answer)
	}
	return again
}

// Asks waits until the function has requested its first event.
func (f *Function) Asks() {
	f.t.Helper()
	select {
	case <-f.asked:
	case <-f.ended:
		f.t.Fatalf("the function ended:\n%s", f.Output())
	case <-time.After(patience):
		f.t.Fatal("the function asks for no work")
	}
}

// Answer passes an event of any type to the function. It returns the function's response.
func (f *Function) Answer(event any) []byte {
	f.t.Helper()
	text, err := json.Marshal(event)
	if err != nil {
		f.t.Fatal(err)
	}
	late := time.After(patience)
	select {
	case f.work <- text:
	case <-f.ended:
		f.t.Fatalf("the function ended:\n%s", f.Output())
	case <-late:
		f.t.Fatal("the function asks for no work")
	}
	select {
	case answer := <-f.answered:
		return answer
	case <-f.ended:
		f.t.Fatalf("the function ended:\n%s", f.Output())
	case <-late:
		f.t.Fatal("the function does not answer")
	}
	return nil
}

func failures(answer []byte) ([]string, error) {
	var a struct {
		BatchItemFailures []events.SQSBatchItemFailure `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return nil, fmt.Errorf("the answer cannot be read: %w", err)
	}
	if a.BatchItemFailures == nil {
		return nil, errors.New("the answer has no list")
	}
	again := make([]string, len(a.BatchItemFailures))
	for i, failed := range a.BatchItemFailures {
		again[i] = failed.ItemIdentifier
	}
	return again, nil
}

func (f *Function) serve(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/invocation/next") {
		body, _ := io.ReadAll(r.Body)
		f.answered <- body
		w.WriteHeader(http.StatusAccepted)
		return
	}
	f.ask.Do(func() { close(f.asked) })
	select {
	case event := <-f.work:
		f.mu.Lock()
		f.n++
		id := strconv.Itoa(f.n)
		f.mu.Unlock()
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms",
			strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:1:function:test")
		_, _ = w.Write(event)
	case <-r.Context().Done():
	case <-f.ended:
	}
}
