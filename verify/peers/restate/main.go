// Command restate runs the workflow of the measurements on a Restate server. The program starts a server with
// one node. The service with the four steps runs in the program itself. One HTTP request submits an order and
// returns the result. The program reads the requests for measurements from standard input (package
// demo/load).
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	restate "github.com/restatedev/sdk-go"
	"github.com/restatedev/sdk-go/ingress"
	"github.com/restatedev/sdk-go/server"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

func main() {
	partitions := flag.Int("partitions", 0, "partitions of the server; 0 means its default")
	program := flag.String("server", "", "program restate-server")
	flag.Parse()
	if err := run(flag.Args(), *program, *partitions); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string, program string, partitions int) (err error) {
	if len(args) != 1 || program == "" {
		return errors.New("usage: restate -server PROGRAM [-partitions N] FOLDER")
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ports, err := freePorts(4)
	if err != nil {
		return err
	}
	ours := ports[0]
	admin := ports[1]
	in := ports[2]
	node, err := startServer(program, args[0], partitions, ports)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, node.stop()) }()
	failed := make(chan error, 1)
	go func() {
		log := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError})
		workflow := restate.ServiceDefinition(restate.NewWorkflow("Saga").Handler("run",
			restate.NewWorkflowHandler(saga)))
		failed <- server.NewRestate().WithLogger(log, true).Bind(workflow).Start(ctx, "127.0.0.1:"+ours)
	}()
	if err := until(ctx, failed, func() error { return register(admin, ours) }); err != nil {
		return fmt.Errorf("register the service: %w", err)
	}
	healthy := func() error { return get("http://127.0.0.1:" + in + "/restate/health") }
	if err := until(ctx, failed, healthy); err != nil {
		return fmt.Errorf("the server takes no orders: %w", err)
	}
	client := ingress.NewClient("http://127.0.0.1:"+in,
		ingress.WithHttpClient(&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}))
	return load.Serve(os.Stdin, os.Stdout, func(id string) error {
		run := ingress.Workflow[json.RawMessage, string](client, "Saga", id, "run")
		got, err := run.Request(ctx, json.RawMessage(load.Order))
		if err == nil && got != "processed" {
			err = fmt.Errorf("order %s ended %q", id, got)
		}
		return err
	})
}

func saga(ctx restate.WorkflowContext, order json.RawMessage) (string, error) {
	for _, step := range []string{"reserve", "charge", "book", "notify"} {
		if _, err := restate.Run(ctx, func(restate.RunContext) (json.RawMessage, error) {
			if len(order) == 0 {
				return nil, restate.TerminalErrorf("the step did not get the order")
			}
			return json.RawMessage(`{"ok":true}`), nil
		}, restate.WithName(step)); err != nil {
			return "", err
		}
	}
	return "processed", nil
}

func freePorts(n int) ([]string, error) {
	var all []string
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close() // all listeners stay open until the end, so that all ports differ
		_, port, err := net.SplitHostPort(l.Addr().String())
		if err != nil {
			return nil, err
		}
		all = append(all, port)
	}
	return all, nil
}

type node struct{ cmd *exec.Cmd }

// startServer starts a server with default settings. If partitions is above 0, it sets the number of
// partitions. The server listens on ports[1] for administration, on ports[2] for orders and on ports[3] for
// other nodes. The system kills the server if this process ends.
func startServer(program, dir string, partitions int, ports []string) (*node, error) {
	cmd := exec.Command(program, "--no-logo", "--listen-mode", "tcp", "--base-dir", dir, "--node-name", "n1")
	cmd.Env = append(os.Environ(), "HOME="+dir, "RESTATE_BIND_IP=127.0.0.1",
		"RESTATE_ADVERTISED_HOST=127.0.0.1",
		"RESTATE_ADMIN__BIND_PORT="+ports[1], "RESTATE_INGRESS__BIND_PORT="+ports[2],
		"RESTATE_BIND_PORT="+ports[3],
		"RESTATE_DISABLE_TELEMETRY=true", "RESTATE_LOG_FILTER=error")
	if partitions > 0 {
		cmd.Env = append(cmd.Env, "RESTATE_DEFAULT_NUM_PARTITIONS="+strconv.Itoa(partitions))
	}
	log, err := os.Create(filepath.Join(dir, "server.log"))
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stdout = log
	cmd.Stderr = log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return &node{cmd}, cmd.Start()
}

func (n *node) stop() error {
	_ = n.cmd.Process.Signal(os.Interrupt)
	late := time.AfterFunc(5*time.Second, func() { _ = n.cmd.Process.Kill() })
	defer late.Stop()
	_ = n.cmd.Wait() // the exit code after an interrupt has no meaning
	return nil
}

// until repeats the function do. It ends if do succeeds, the service fails, or 30 seconds have passed.
func until(ctx context.Context, failed <-chan error, do func() error) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		err = do()
		if err == nil {
			return nil
		}
		select {
		case end := <-failed:
			return errors.Join(err, end)
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func register(admin, service string) error {
	r, err := http.Post("http://127.0.0.1:"+admin+"/deployments", "application/json",
		bytes.NewReader([]byte(`{"uri":"http://127.0.0.1:`+service+`"}`)))
	return succeeded(r, err)
}

func get(url string) error {
	r, err := http.Get(url) //nolint:gosec // a loopback address of this program
	return succeeded(r, err)
}

func succeeded(r *http.Response, err error) error {
	if err != nil {
		return err
	}
	defer r.Body.Close()
	text, err := io.ReadAll(io.LimitReader(r.Body, 4096))
	if err == nil && r.StatusCode >= 300 {
		err = fmt.Errorf("%s: %s", r.Status, text)
	}
	return err
}
