// Command measure builds the functions as they are deployed and holds them to their limits: size of
// the binary and of the package, time from the start of the process to its first request for work,
// and peak memory over some batches of work. The runtime API and AWS are stubs on loopback; starts
// are those of this machine.
package main

import (
	"archive/zip"
	"bytes"
	"compress/flate"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

// Limits of each function.
const (
	maxBinary = 12_000_000
	maxZip    = 5_000_000
	maxStart  = 40 * time.Millisecond
	maxPeak   = 40_000_000
)

func main() {
	starts := flag.Int("starts", 15, "how often each function is started; the median counts")
	batches := flag.Int("batches", 20, "batches of work before the memory is looked at")
	flag.Parse()
	ok, err := run(os.Stdout, *starts, *batches)
	if err != nil {
		fmt.Fprintln(os.Stderr, "measure:", err)
		os.Exit(1)
	}
	if !ok {
		fmt.Fprintln(os.Stderr, "measure: a limit is passed, see above")
		os.Exit(1)
	}
}

func run(out io.Writer, starts, batches int) (ok bool, err error) {
	dir, err := os.MkdirTemp("", "stepkeeper-measure-")
	if err != nil {
		return false, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	world, err := newStubs()
	if err != nil {
		return false, err
	}
	defer world.Close()
	functions, err := functionsOf(world)
	if err != nil {
		return false, err
	}
	ok = true
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tbinary MB\tzip MB\tstart ms\tfirst batch ms\twarm batch ms\tpeak MB\t\n")
	for _, f := range functions {
		binary, packed, err := sizes(dir, f)
		if err != nil {
			return false, err
		}
		r, err := started(dir, f, world, starts, batches)
		if err != nil {
			return false, fmt.Errorf("%s: %w", f.name, err)
		}
		fmt.Fprintf(table, "%s\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t%.1f\t\n", f.name, mega(binary), mega(packed),
			milli(r.start), milli(r.first), milli(r.warm), mega(r.peak))
		ok = ok && binary <= maxBinary && packed <= maxZip && r.start <= maxStart && r.peak <= maxPeak
	}
	fmt.Fprintf(table, "limit\t%.1f\t%.1f\t%.1f\t\t\t%.1f\t\n", mega(maxBinary), mega(maxZip), milli(maxStart), mega(maxPeak))
	if err := table.Flush(); err != nil {
		return false, err
	}
	fmt.Fprintf(out, "sizes of arm64 as deployed; starts and memory of %s on this machine, median of %d starts, peak after %d batches\n", runtime.GOARCH, starts, batches)
	return ok, nil
}

func mega(bytes int64) float64 { return float64(bytes) / 1e6 }

func milli(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// sizes builds a function as it is deployed, and packs it as CDK does.
func sizes(dir string, f function) (binary, packed int64, err error) {
	out := filepath.Join(dir, f.name+"-deployed")
	if err := build.Go(build.Binary{Package: f.pkg, Out: out}); err != nil {
		return 0, 0, err
	}
	data, err := os.ReadFile(out)
	if err != nil {
		return 0, 0, err
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.BestCompression) })
	files := map[string][]byte{"bootstrap": data}
	for name, text := range f.files {
		files[name] = text
	}
	for name, text := range files {
		w, err := z.Create(name)
		if err == nil {
			_, err = w.Write(text)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	if err := z.Close(); err != nil {
		return 0, 0, err
	}
	return int64(len(data)), int64(b.Len()), nil
}

// result are the medians of all starts, and the highest memory of any.
type result struct {
	start, first, warm time.Duration
	peak               int64
}

func started(dir string, f function, world *stubs, starts, batches int) (result, error) {
	folder := filepath.Join(dir, f.name)
	for name, text := range f.files {
		file := filepath.Join(folder, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return result{}, err
		}
		if err := os.WriteFile(file, text, 0o600); err != nil {
			return result{}, err
		}
	}
	binary := filepath.Join(folder, "bootstrap")
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return result{}, err
	}
	if err := build.Go(build.Binary{Package: f.pkg, X86: runtime.GOARCH == "amd64", Out: binary}); err != nil {
		return result{}, err
	}
	var all []result
	for range starts {
		r, err := world.start(binary, folder, f, batches)
		if err != nil {
			return result{}, err
		}
		all = append(all, r)
	}
	median := func(of func(result) time.Duration) time.Duration {
		slices.SortFunc(all, func(a, b result) int { return int(of(a) - of(b)) })
		return of(all[len(all)/2])
	}
	r := result{
		start: median(func(r result) time.Duration { return r.start }),
		first: median(func(r result) time.Duration { return r.first }),
		warm:  median(func(r result) time.Duration { return r.warm }),
	}
	for _, one := range all {
		r.peak = max(r.peak, one.peak)
	}
	return r, nil
}
