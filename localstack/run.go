// Package localstack installs, starts and stops LocalStack on this machine. It uses embedded scripts.
package localstack

import (
	"bytes"
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

//go:embed start.sh stop.sh compose.yaml init/listen.py process/start.sh process/requirements.txt
//go:embed process/plugin/pyproject.toml process/plugin/localstack_process/*.py
var scripts embed.FS

// Endpoint returns the address of LocalStack. The parameter is the value of LOCALSTACK_PORT; "" means 4566.
func Endpoint(port string) string { return "http://127.0.0.1:" + cmp.Or(port, "4566") }

// Start starts LocalStack. If LocalStack is missing, Start installs it first. Start writes the progress to
// the writer out.
func Start(ctx context.Context, out io.Writer) error { return run(ctx, out, "start.sh") }

// Stop stops the LocalStack that Start started.
func Stop(ctx context.Context, out io.Writer) error { return run(ctx, out, "stop.sh", "localstack") }

// Answers returns an error if no LocalStack runs at the endpoint.
func Answers(ctx context.Context, endpoint string) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint+"/_localstack/health", nil)
	if err != nil {
		return err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("it is another program: %s", resp.Status)
	}
	return nil
}

// run writes the scripts to the user's cache folder and runs one of them. The environment variable STATE
// names the folder of LocalStack's data and log. By default, run uses a folder beside the scripts.
func run(ctx context.Context, out io.Writer, script string, args ...string) error {
	bash, err := exec.LookPath("bash")
	if err != nil {
		return fmt.Errorf("the scripts that run LocalStack need bash: %w", err)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("folder for LocalStack: %w", err)
	}
	dir := filepath.Join(cache, "stepkeeper", "localstack")
	if err := unpack(filepath.Join(dir, "scripts")); err != nil {
		return fmt.Errorf("folder for LocalStack: %w", err)
	}
	cmd := exec.CommandContext(ctx, bash, append([]string{filepath.Join(dir, "scripts", script)}, args...)...)
	cmd.Env = append(os.Environ(), "STATE="+cmp.Or(os.Getenv("STATE"), filepath.Join(dir, "process")))
	cmd.Stdout = out
	cmd.Stderr = out
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", script, err)
	}
	return nil
}

func unpack(dir string) error {
	return fs.WalkDir(scripts, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := scripts.ReadFile(name)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(name))
		if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, text) {
			return nil
		}
		// A rename keeps the old file intact for a script that is still running.
		return errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path+".new", text, 0o755),
			os.Rename(path+".new", path))
	})
}
