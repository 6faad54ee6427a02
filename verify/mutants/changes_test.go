package mutants_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stepkeeper/stepkeeper/verify/mutants"
)

// What changed is compared with where the branch left origin/main, with files that are not committed; on main
// itself with the commit before.
func TestChangesSinceTheBranchBegan(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		command := exec.Command("git",
			append([]string{"-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com", "-c",
				"commit.gpgsign=false"}, args...)...)
		command.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := command.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	change := func(file string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, file)), 0o750); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, file), "package "+filepath.Base(filepath.Dir(file)))
		git("add", ".")
	}
	changes := func(known bool, folders ...string) (seed uint64) {
		t.Helper()
		c, err := mutants.ChangesOf(dir)
		if err != nil || c.Known != known || !slices.Equal(c.Folders, folders) || c.Seed == 0 {
			t.Errorf("%+v, %v; want %v", c, err, folders)
		}
		return c.Seed
	}
	write(t, filepath.Join(dir, "a.go"), "package a")
	withoutGit := changes(false)
	if again := changes(false); again != withoutGit {
		t.Errorf("seeds %d and %d of the same files", withoutGit, again)
	}
	git("init", "-q", "-b", "main")
	change("shared/one/a.go")
	git("commit", "-q", "-m", "one")
	first := changes(false)
	change("shared/two/a.go")
	git("commit", "-q", "-m", "two")
	git("update-ref", "refs/remotes/origin/main", "HEAD")
	if second := changes(true, "shared/two"); second == first {
		t.Errorf("two trees have the seed %d", first)
	}
	change("shared/three/testdata/a.go")
	git("commit", "-q", "-m", "three")
	change("shared/four/a.go")
	changes(true, "shared/four", "shared/three/testdata")
	c := mutants.Changes{Folders: []string{"shared/three/testdata", "shared/four"}}
	for folder, want := range map[string]bool{"shared/three": true, "shared/four": true, "shared": false,
		"shared/fourth": false} {
		if c.Concern(folder) != want {
			t.Errorf("%s: %v", folder, !want)
		}
	}
}

// Mutants of changed rooms are tried first; the seed orders the others, and none is lost.
func TestMutantsOfAChangeComeFirst(t *testing.T) {
	all := mutants.Offline()
	c := mutants.Changes{Seed: 1, Known: true, Folders: []string{"dev/sqlite"}}
	ordered, concerned := c.Order(all)
	if concerned == 0 || len(ordered) != len(all) {
		t.Fatalf("%d of %d, %d concerned", len(ordered), len(all), concerned)
	}
	for i := range ordered {
		if got, want := ordered[i].Package() == "dev/sqlite", i < concerned; got != want {
			t.Errorf("place %d: %s", i, ordered[i].Name)
		}
	}
	names := func(all []mutants.Mutant) (names []string) {
		for _, m := range all {
			names = append(names, m.Name)
		}
		return names
	}
	again, _ := c.Order(all)
	c.Seed = 2
	other, _ := c.Order(all)
	if !slices.Equal(names(ordered), names(again)) || slices.Equal(names(ordered), names(other)) {
		t.Error("the order does not depend on the seed alone")
	}
}
