//go:build unix

package embedded_test

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/dev/embedded"
	"github.com/stepkeeper/stepkeeper/shared/token"
	"github.com/stepkeeper/stepkeeper/shared/view"
)

// What is no regular file of the folder is named and refused: it neither blocks the start nor shows
// what stands in files elsewhere.
func TestOnlyRegularFilesOfTheFolderAreWorkflows(t *testing.T) {
	w := newFixture(t, "5s")
	flows := filepath.Join(w.dir, "workflows")
	const secret = "root-s3cr3t-hash"
	outside := filepath.Join(w.dir, "shadow")
	require.NoError(t, os.WriteFile(outside, []byte(secret+": {"+secret+": 1}\n"), 0o600))
	must := func(err error) {
		t.Helper()
		require.NoError(t, err)
	}
	at := func(name string) string { return filepath.Join(flows, name) }
	must(syscall.Mkfifo(at("pipe.yaml"), 0o600))
	must(os.Symlink(outside, at("absolute.yaml")))
	must(os.Symlink("../shadow", at("relative.yaml")))
	must(os.Symlink("/dev/zero", at("device.yaml")))
	must(os.Symlink("pipe.yaml", at("link-to-pipe.yaml")))
	must(os.Symlink("nowhere", at("dangling.yaml")))
	must(os.Mkdir(at("folder.yaml"), 0o700))
	t.Chdir(flows) // the path of a socket is short
	socket, err := net.Listen("unix", "socket.yaml")
	must(err)
	defer socket.Close()
	must(os.WriteFile(at("hidden"),
		[]byte(strings.Replace(fmt.Sprintf(pair, "5s"), "workflow: pair", "workflow: linked", 1)), 0o600))
	must(os.Symlink("hidden", at("linked.yaml"))) // within the folder, as in a mounted ConfigMap

	opened := make(chan *embedded.Runtime, 1)
	go func() { opened <- w.open() }()
	var s *embedded.Runtime
	select {
	case s = <-opened:
	case <-time.After(patience):
		t.Fatal("the start hangs")
	}
	defer closeRuntime(t, s)
	why := map[string]string{
		"pipe": "it is a named pipe", "absolute": "link", "relative": "link", "device": "link",
		"link-to-pipe": "it is a named pipe",
		"dangling":     "link", "folder": "it is a directory", "socket": "it is a socket",
	}
	found := map[string]view.WorkflowInfo{}
	for _, i := range s.Workflows(t.Context()) {
		found[i.Name] = i
		text := fmt.Sprint(i)
		require.NotContains(t, text, secret)
		require.NotContains(t, text, "shadow")
	}
	for name, what := range why {
		i := found[name]
		text := strings.Join(i.Problems, "\n")
		require.Empty(t, i.Hash, name)
		require.Contains(t, text, name+".yaml", name)
		require.Contains(t, text, what, name)
	}
	for _, name := range []string{"pair", "linked"} {
		require.NotEmpty(t, found[name].Hash, name)
		require.Empty(t, found[name].Problems, name)
	}
	submit(t, s, "one", "")
	wait(t, s, "one")
}

// The agents' file and the keys of tokens are files too.
func TestOtherFilesThatAreNoFiles(t *testing.T) {
	w := newFixture(t, "5s")
	w.options.Agents = filepath.Join(w.dir, "agents.yaml")
	require.NoError(t, os.Mkdir(w.options.Data, 0o700))
	for _, name := range []string{w.options.Agents, filepath.Join(w.options.Data, token.FileName)} {
		require.NoError(t, syscall.Mkfifo(name, 0o600))
		refused := make(chan error, 1)
		go func() {
			_, err := embedded.Open(t.Context(), w.options)
			refused <- err
		}()
		select {
		case err := <-refused:
			require.ErrorContains(t, err, "named pipe")
			require.ErrorContains(t, err, name)
		case <-time.After(patience):
			t.Fatal("the start hangs")
		}
		w.options.Agents = ""
	}
}

// A look at the folder logs what has changed since the last one, and a start looks twice.
func TestAProblemIsLoggedOnce(t *testing.T) {
	w := newFixture(t, "5s")
	log := w.logs()
	w.writeAs("bad.yaml", "workflow: bad\n")
	s := w.open()
	defer closeRuntime(t, s)
	served := func(name string) {
		t.Helper()
		w.writeAs(name+".yaml", strings.Replace(fmt.Sprintf(pair, "5s"), "workflow: pair", "workflow: "+name,
			1))
		eventually(t, name+" is served", func() bool {
			return slices.ContainsFunc(s.Workflows(t.Context()),
				func(i view.WorkflowInfo) bool { return i.Name == name })
		})
	}
	served("first") // the start has looked twice before
	w.writeAs("bad.yaml", "workflow: bad\nsteps: 1\n")
	served("second")
	w.writeAs("first.yaml", "workflow: first\nsteps: true\n")
	served("third")
	for text, want := range map[string]int{
		"the workflow has no steps": 1, "steps is a number": 1,
		"new orders get the version before it": 1,
	} {
		require.Equal(t, want, log.count(text), text)
	}
}
