package soak_test

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shifted"
	"github.com/stepkeeper/stepkeeper/demo/stage"
	"github.com/stepkeeper/stepkeeper/examples"
)

// readyPatience is the longest time until a process is ready, on a busy machine.
const readyPatience = time.Minute

// site holds everything that runs: services, engine, agents outside.
type site struct {
	*stage.Stage
	front  *httptest.Server // forwards to the engine, at the same address for each of its processes
	agents map[string]*process.Process
	api    *client.Client // through the front
	once   *client.Client // the same without retries
	base   atomic.Int64   // offset of all clocks, in nanoseconds
}

// now returns the time by the agents' clock, which the operator and the application use too.
func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.base.Load())) }

// rates returns the faults of the services and of the network before them. A copy of a call may arrive only
// if the service recognises keys, and a call may arrive after its caller has given up only if the service
// fences. The other grades give no guarantee in these cases (docs/explanation/protocol.md, Grades). Faults that
// leave an effect of the plain service in doubt need the operator, so there are fewer.
func rates(lie float64) map[string]services.Rates {
	all := services.DefaultRates()
	all[services.Payment][services.Lie] = lie
	for name, r := range all {
		r[services.Reset] = 0.01
		if name == services.Shipping {
			r[services.Hang] = 0.004
			r[services.Cut] = 0.008
			r[services.Torn] = 0.002
			continue
		}
		r[services.Hang] = 0.008
		r[services.Cut] = 0.04
		r[services.Torn] = 0.01
		r[services.Twice] = 0.03
	}
	all[services.Inventory][services.Again] = 0.02
	all[services.Inventory][services.Late] = 0.013
	return all
}

// slowFor is close to the timeout of a step.
const slowFor = 800 * time.Millisecond

// build makes the site. It starts only the services.
func build(ctx context.Context, o Options, dir string) (*site, error) {
	s := &site{agents: map[string]*process.Process{}}
	var err error
	s.Stage, err = stage.New(ctx, dir, program, filepath.Join(dir, "workflows"),
		services.Options{Seed: o.Seed, Rates: rates(o.Lie), SlowFor: slowFor})
	if err != nil {
		return s, err
	}
	s.Engine.Env = append(s.Engine.Env, clockVariable+"="+s.File("engine.clock"))
	s.Engine.Patience = readyPatience
	s.front = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme = "http"
			r.Out.URL.Host = strings.TrimPrefix(s.Engine.URL(), "http://")
		},
		FlushInterval: -1,
		// The caller sees a broken connection, as it would without the front.
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
		Transport:    &http.Transport{DisableKeepAlives: true},
	})
	s.front.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.api, err = client.New(s.front.URL, client.WithRetry(1000, time.Minute))
	if err != nil {
		return s, err
	}
	s.once, err = client.New(s.front.URL, client.WithRetry(1, time.Second))
	if err != nil {
		return s, err
	}
	return s, s.files()
}

// racedFile is the workflow of the orders with races, loops and deadlines. Its agents have the clock skew of the soak.
//
//go:embed testdata/raced.yaml
var racedFile []byte

// orderFile returns the workflow of the other orders, with that clock skew.
func orderFile() ([]byte, error) {
	const shipped = "clockSkew: 100ms"
	text, err := examples.Files.ReadFile("order/order.yaml")
	if n := bytes.Count(text, []byte(shipped)); err == nil && n != len(services.Names()) {
		err = fmt.Errorf("examples/order/order.yaml declares %q for %d agents, not for all", shipped, n)
	}
	return bytes.ReplaceAll(text, []byte(shipped), []byte("clockSkew: "+clockSkew.String())), err
}

// files writes the files of engine and agents, and sets how the agents are started.
func (s *site) files() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	order, err := orderFile()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.File("workflows"), 0o700); err != nil {
		return err
	}
	for name, text := range map[string][]byte{
		filepath.Join("workflows", "order.yaml"): order,
		filepath.Join("workflows", "raced.yaml"): racedFile,
		"agents.yaml":                            services.AgentsFile(s.Fleet.URL(), outside...),
		"outside-agents.yaml":                    services.AgentsFile(s.Fleet.URL()),
	} {
		if err := os.WriteFile(s.File(name), text, 0o600); err != nil {
			return err
		}
	}
	if err := errors.Join(shifted.Set(s.File("engine.clock"), 0),
		shifted.Set(s.File("agents.clock"), 0)); err != nil {
		return err
	}
	for _, name := range outside {
		s.agents[name] = &process.Process{
			Name: "agent " + name, Binary: self, Patience: readyPatience,
			Log: s.File("agent-" + name + ".log"),
			Env: []string{
				agentVariable + "=" + name, fileVariable + "=" + s.File("outside-agents.yaml"),
				clockVariable + "=" + s.File("agents.clock"),
				"STEPKEEPER_ENDPOINT=" + s.front.URL, "STEPKEEPER_LEDGER_FOLDER=" + s.File("ledger-"+name),
				"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=thing",
			},
		}
	}
	return nil
}

// start starts engine and agents.
func (s *site) start(ctx context.Context) (engine time.Duration, err error) {
	engine, err = s.Start(ctx)
	if err != nil {
		return engine, err
	}
	for _, name := range outside {
		if _, err := s.agents[name].Start(ctx); err != nil {
			return engine, err
		}
	}
	return engine, nil
}

// stop ends the processes. The agents end first, so that they hold no requests.
func (s *site) stop() error {
	var errs []error
	for _, name := range outside {
		if a := s.agents[name]; a != nil {
			errs = append(errs, a.Stop())
		}
	}
	return errors.Join(append(errs, s.Engine.Stop())...)
}

// close ends everything that is left.
func (s *site) close() error {
	if s.Stage == nil {
		return nil
	}
	err := s.stop()
	if s.front != nil {
		s.front.Close()
	}
	return errors.Join(err, s.Fleet.Close())
}

// setClocks sets the offset of the engine's clock from the others.
func (s *site) setClocks(engine time.Duration) error {
	base := time.Duration(s.base.Load())
	return errors.Join(shifted.Set(s.File("engine.clock"), base+engine),
		shifted.Set(s.File("agents.clock"), base))
}
