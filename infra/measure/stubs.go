package main

import (
	"bufio"
	"bytes"
	"crypto/md5" //nolint:gosec // SQS's checksum of a message
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// stubs are the runtime API, AWS and a remote service, on loopback: they say yes to everything.
type stubs struct {
	listener net.Listener
	server   *http.Server

	mu  sync.Mutex
	run *invocations
}

// invocations are those of one process.
type invocations struct {
	asked    chan time.Time // a request for work came
	work     chan []byte
	answered chan error
}

func newStubs() (*stubs, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	s := &stubs{listener: l}
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.server.Serve(l) }()
	return s, nil
}

// Close ends the stubs.
func (s *stubs) Close() { _ = s.server.Close() }

func (s *stubs) address() string { return "http://" + s.listener.Addr().String() }

func (s *stubs) queues() string {
	urls := map[string]string{}
	for _, name := range []string{"intake", "replies", "control", "quarantine", "requests-inventory", "requests-payment", "requests-shipping", "requests-notification", "requests-coats"} {
		urls[name] = s.address() + "/1/" + name
	}
	text, err := json.Marshal(urls)
	if err != nil {
		panic(err) // of strings
	}
	return string(text)
}

func (s *stubs) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	run := s.run
	s.mu.Unlock()
	body, _ := io.ReadAll(r.Body)
	switch path := strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/"); {
	case path == "invocation/next":
		next(w, r, run)
	case strings.HasSuffix(path, "/response"):
		var answer struct{ BatchItemFailures []any }
		if err := json.Unmarshal(body, &answer); err == nil && len(answer.BatchItemFailures) > 0 {
			run.answered <- fmt.Errorf("%d messages were given back", len(answer.BatchItemFailures))
		} else {
			run.answered <- nil
		}
		w.WriteHeader(http.StatusAccepted)
	case strings.HasSuffix(path, "/error"):
		run.answered <- fmt.Errorf("the function failed: %s", body)
		w.WriteHeader(http.StatusAccepted)
	case strings.HasPrefix(r.URL.Path, "/service/"):
		_, _ = io.WriteString(w, `{"chargeId":"c-1"}`)
	default:
		aws(w, r.Header.Get("X-Amz-Target"), body)
	}
}

// next hands out work; it waits for some as long as the process lives.
func next(w http.ResponseWriter, r *http.Request, run *invocations) {
	run.asked <- time.Now()
	select {
	case event := <-run.work:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", strconv.FormatInt(time.Now().UnixNano(), 36))
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:eu-central-1:1:function:measured")
		_, _ = w.Write(event)
	case <-r.Context().Done():
	}
}

// aws answers as much as the functions ask for: nothing is stored, everything is taken.
func aws(w http.ResponseWriter, target string, body []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch {
	case strings.HasSuffix(target, ".SendMessageBatch"):
		var in struct {
			Entries []struct{ ID, MessageBody string }
		}
		_ = json.Unmarshal(body, &in)
		out := map[string]any{"Failed": []any{}}
		var taken []any
		for _, e := range in.Entries {
			sum := md5.Sum([]byte(e.MessageBody)) //nolint:gosec // as SQS does
			taken = append(taken, map[string]string{"Id": e.ID, "MessageId": e.ID, "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		}
		out["Successful"] = taken
		_ = json.NewEncoder(w).Encode(out)
	case strings.HasSuffix(target, ".Query"):
		_, _ = io.WriteString(w, `{"Count":0,"ScannedCount":0,"Items":[]}`)
	default:
		_, _ = io.WriteString(w, `{}`)
	}
}

// process is a function that runs.
type process struct {
	*invocations
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan error
}

// launch starts a function as Lambda does.
func (s *stubs) launch(binary, folder string, f function) (*process, error) {
	p := &process{
		invocations: &invocations{asked: make(chan time.Time, 1), work: make(chan []byte), answered: make(chan error, 1)},
		cmd:         exec.Command(binary), ended: make(chan error, 1),
	}
	s.mu.Lock()
	s.run = p.invocations
	s.mu.Unlock()
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.out
	p.cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + s.listener.Addr().String(), "LAMBDA_TASK_ROOT=" + folder, "AWS_LAMBDA_LOG_STREAM_NAME=2026/11/21/[$LATEST]0123456789abcdef",
		"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=stub", "AWS_SECRET_ACCESS_KEY=stub", "AWS_ENDPOINT_URL=" + s.address(), "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=128",
	}
	for name, value := range f.environment {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() { p.ended <- p.cmd.Wait() }()
	return p, nil
}

// await waits until the process asks for work. If it ends instead, its output is in the error.
func (p *process) await() (time.Time, error) {
	select {
	case at := <-p.asked:
		return at, nil
	case <-p.ended:
		return time.Time{}, fmt.Errorf("it ended by itself and said:\n%s", p.out.String())
	case <-time.After(10 * time.Second):
		return time.Time{}, errors.New("it did not ask for work within 10 s")
	}
}

// do has one batch of work done.
func (p *process) do(event any) (took time.Duration, err error) {
	text, err := json.Marshal(event)
	if err != nil {
		return 0, err
	}
	sent := time.Now()
	p.work <- text
	if err := <-p.answered; err != nil {
		return 0, err
	}
	took = time.Since(sent)
	_, err = p.await()
	return took, err
}

// start runs a function: from its start to the first request for work, through a number of batches.
func (s *stubs) start(binary, folder string, f function, batches int) (r result, err error) {
	began := time.Now()
	p, err := s.launch(binary, folder, f)
	if err != nil {
		return r, err
	}
	defer func() { _ = p.cmd.Process.Kill() }()
	at, err := p.await()
	if err != nil {
		return r, err
	}
	r.start = at.Sub(began)
	for n := range batches {
		took, err := p.do(f.event(n))
		if err != nil {
			return r, fmt.Errorf("batch %d: %w", n, err)
		}
		if r.warm = took; n == 0 {
			r.first = took
		}
	}
	r.peak = peak(p.cmd.Process.Pid)
	return r, nil
}

// peak is the most memory that a process has had, in bytes; 0 where the system does not tell.
func peak(pid int) int64 {
	f, err := os.Open(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if rest, found := strings.CutPrefix(lines.Text(), "VmHWM:"); found {
			kb, err := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			if err != nil {
				return 0
			}
			return kb << 10
		}
	}
	return 0
}
