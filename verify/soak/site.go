package soak

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/stepkeeper/stepkeeper/client"
	"github.com/stepkeeper/stepkeeper/demo/agents"
	"github.com/stepkeeper/stepkeeper/demo/process"
	"github.com/stepkeeper/stepkeeper/demo/services"
	"github.com/stepkeeper/stepkeeper/demo/shifted"
	"github.com/stepkeeper/stepkeeper/workflows"
)

// readyPatience is how long a process may take to be ready, on a machine with much else to do.
const readyPatience = time.Minute

// site is everything that runs: services, proxies before them, engine, agents outside.
type site struct {
	dir     string
	fleet   *services.Fleet
	proxies map[string]*proxy
	front   *cutListener // address of the engine, the same for each of its processes
	engine  *process.Process
	agents  map[string]*process.Process
	api     *client.Client // through the front
	once    *client.Client // the same, and nothing is tried again
	base    atomic.Int64   // nanoseconds that all clocks are off
}

// file is a path inside the site.
func (s *site) file(name string) string { return filepath.Join(s.dir, name) }

// now is the time by the agents' clock, which is the operator's and the application's too.
func (s *site) now() time.Time { return time.Now().Add(time.Duration(s.base.Load())) }

// build makes all of it; only the services and proxies run then.
func build(ctx context.Context, o Options, dir string) (*site, error) {
	s := &site{dir: dir, proxies: map[string]*proxy{}, agents: map[string]*process.Process{}}
	for _, name := range []string{"services", "workflows", "data"} {
		if err := os.MkdirAll(s.file(name), 0o700); err != nil {
			return s, err
		}
	}
	rates := services.DefaultRates()
	for name, r := range rates {
		r.Lie = o.Lie[name]
		rates[name] = r
	}
	var err error
	if s.fleet, err = services.Start(ctx, services.Options{Dir: s.file("services"), Seed: o.Seed,
		Rates: rates}); err != nil {
		return s, err
	}
	for _, name := range services.Names() {
		w := faultShares(name == services.Inventory, name != services.Shipping)
		if s.proxies[name], err = newProxy(ctx, name, s.fleet.URL(name), o.Seed, w); err != nil {
			return s, err
		}
	}
	s.engine = &process.Process{Name: "stepkeeper dev", Binary: o.Binary, Patience: readyPatience,
		Log: s.file("engine.log"), Args: []string{
			"dev", "--data", s.file("data"), "--listen", "127.0.0.1:0", "--workflows", s.file("workflows"),
			"--agents", s.file("engine-agents.yaml"), "--clock-offset", s.file("engine.clock"),
		}}
	if s.front, err = newForwarder(ctx, s.address); err != nil {
		return s, err
	}
	if s.api, err = client.New(s.front.url(), client.WithRetry(1000, time.Minute)); err != nil {
		return s, err
	}
	if s.once, err = client.New(s.front.url(), client.WithRetry(1, time.Second)); err != nil {
		return s, err
	}
	return s, s.files(o)
}

// files writes the files of engine and agents, and says how the agents are started.
func (s *site) files(o Options) error {
	text, err := workflows.Files.ReadFile("order.yaml")
	if err != nil {
		return err
	}
	const shipped = "clockSkew: 100ms"
	if n := strings.Count(string(text), shipped); n != len(services.Names()) {
		return fmt.Errorf(
			"workflows/order.yaml declares %q for %d agents, not for all: the soak cannot change it", shipped,
			n)
	}
	workflow := strings.ReplaceAll(string(text), shipped, "clockSkew: "+clockSkew.String())
	url := func(name string) string { return s.proxies[name].url() }
	isOutside := func(name string) bool { return slices.Contains(outside, name) }
	for name, text := range map[string][]byte{
		filepath.Join("workflows", "order.yaml"): []byte(workflow),
		"engine-agents.yaml":                     agents.File(url, isOutside),
		"agents.yaml":                            agents.File(url, nil),
	} {
		if err := os.WriteFile(s.file(name), text, 0o600); err != nil {
			return err
		}
	}
	if err := errors.Join(shifted.Set(s.file("engine.clock"), 0),
		shifted.Set(s.file("agents.clock"), 0)); err != nil {
		return err
	}
	for _, name := range outside {
		s.agents[name] = &process.Process{
			Name: "agent " + name, Binary: o.Self, Patience: readyPatience,
			Log: s.file("agent-" + name + ".log"),
			Env: []string{
				agentVariable + "=" + name, fileVariable + "=" + s.file("agents.yaml"),
				clockVariable + "=" + s.file("agents.clock"),
				"STEPKEEPER_ENDPOINT=" + s.front.url(), "STEPKEEPER_LEDGER_FOLDER=" + s.file("ledger-"+name),
				"AWS_REGION=eu-central-1", "AWS_ACCESS_KEY_ID=any", "AWS_SECRET_ACCESS_KEY=thing",
			},
		}
	}
	return nil
}

// address is where the present engine listens.
func (s *site) address() string { return strings.TrimPrefix(s.engine.URL(), "http://") }

// start starts engine and agents.
func (s *site) start(ctx context.Context) (engine time.Duration, err error) {
	if engine, err = s.engine.Start(ctx); err != nil {
		return engine, err
	}
	for _, name := range outside {
		if _, err := s.agents[name].Start(ctx); err != nil {
			return engine, err
		}
	}
	return engine, nil
}

// stop ends the processes: agents first, so that nothing is left in their hands.
func (s *site) stop() error {
	var errs []error
	for _, name := range outside {
		if a := s.agents[name]; a != nil {
			errs = append(errs, a.Stop())
		}
	}
	if s.engine != nil {
		errs = append(errs, s.engine.Stop())
	}
	return errors.Join(errs...)
}

// close ends all that is left.
func (s *site) close() error {
	err := s.stop()
	if s.front != nil {
		s.front.end()
	}
	for _, p := range s.proxies {
		if p != nil {
			p.end()
		}
	}
	if s.fleet != nil {
		err = errors.Join(err, s.fleet.Close())
	}
	return err
}

// endFaults ends what the services and the network do.
func (s *site) endFaults() {
	s.fleet.Calm()
	for _, p := range s.proxies {
		p.faultsOff.Store(true)
	}
}

// setClocks has the engine's clock be off from the others' by so much.
func (s *site) setClocks(engine time.Duration) error {
	base := time.Duration(s.base.Load())
	return errors.Join(shifted.Set(s.file("engine.clock"), base+engine),
		shifted.Set(s.file("agents.clock"), base))
}
