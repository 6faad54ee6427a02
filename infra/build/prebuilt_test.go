package build_test

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/stepkeeper/stepkeeper/infra/build"
)

// release writes the files of a release that holds one function.
func release(t *testing.T, name, program string) string {
	t.Helper()
	var data bytes.Buffer
	w := zip.NewWriter(&data)
	f, err := w.Create("bootstrap")
	require.NoError(t, err)
	_, err = f.Write([]byte(program))
	require.NoError(t, err)
	require.NoError(t, w.Close())
	dir := t.TempDir()
	sums := fmt.Sprintf("%x  other.zip\n%x  %s\n", sha256.Sum256(nil), sha256.Sum256(data.Bytes()), name)
	write(t, filepath.Join(dir, name), data.Bytes())
	write(t, filepath.Join(dir, "checksums.txt"), []byte(sums))
	return dir
}

func write(t *testing.T, name string, data []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(name, data, 0o600))
}

func TestPrebuilt(t *testing.T) {
	dir := release(t, "scheduler_amd64.zip", "the program")
	out := filepath.Join(t.TempDir(), "bootstrap")
	require.NoError(t, build.Prebuilt(dir)(build.Binary{Package: build.Scheduler, X86: true, Out: out}))
	data, err := os.ReadFile(out)
	info, statErr := os.Stat(out)
	require.NoError(t, err)
	require.NoError(t, statErr)
	require.Equal(t, "the program", string(data))
	require.NotZero(t, info.Mode().Perm()&0o111)
}

// A function of another release, a changed file and a missing one are refused with the file's name.
func TestPrebuiltIsOneRelease(t *testing.T) {
	const name = "agent_arm64.zip"
	changed := release(t, name, "the program")
	write(t, filepath.Join(changed, name), []byte("another"))
	unlisted := release(t, name, "the program")
	write(t, filepath.Join(unlisted, "checksums.txt"), nil)
	for want, dir := range map[string]string{
		"another checksum": changed, "or none": unlisted, "no such file": t.TempDir(),
	} {
		out := filepath.Join(t.TempDir(), "bootstrap")
		err := build.Prebuilt(dir)(build.Binary{Package: build.HTTPAgent, Out: out})
		require.ErrorContains(t, err, want)
		require.ErrorContains(t, err, name, want)
	}
}
