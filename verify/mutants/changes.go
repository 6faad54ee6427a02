package mutants

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// Changes describes a change, so that the gate can try the affected mutants.
type Changes struct {
	// Seed is a part of the tree's hash, so that the same sources draw the same mutants.
	Seed uint64
	// Known means that the Git history shows the change. Folders then lists the folders with a changed file.
	Known   bool
	Folders []string
}

// ChangesOf compares the files under root with the branch point from origin/main or, if there are no commits
// after that, with the previous commit. Without a history the seed is a hash of the files.
func ChangesOf(root string) (Changes, error) {
	c := Changes{}
	tree, err := git(root, "rev-parse", "HEAD^{tree}")
	if err != nil {
		c.Seed, err = seedOfFiles(root)
		return c, err
	}
	if c.Seed, err = seedOf(tree); err != nil {
		return c, err
	}
	base, err := git(root, "merge-base", "HEAD", "origin/main")
	if head, _ := git(root, "rev-parse", "HEAD"); err != nil || base == head {
		if base, err = git(root, "rev-parse", "--verify", "HEAD^"); err != nil {
			return c, nil // a first commit, or a clone without history
		}
	}
	files, err := git(root, "diff", "--name-only", "--no-renames", base)
	if err != nil {
		return c, err
	}
	c.Known = true
	for file := range strings.Lines(files) {
		c.Folders = append(c.Folders, path.Dir(strings.TrimSpace(file)))
	}
	slices.Sort(c.Folders)
	c.Folders = slices.Compact(c.Folders)
	return c, nil
}

// Concern reports whether a file of the folder, or of its test data, has changed.
func (c *Changes) Concern(folder string) bool {
	return slices.ContainsFunc(c.Folders,
		func(f string) bool { return f == folder || strings.HasPrefix(f, folder+"/testdata") })
}

// Changed reports whether a package of the room has changed.
func (c *Changes) Changed(r *Room) bool { return slices.ContainsFunc(r.Packages, c.Concern) }

// Order puts the mutants of changed rooms first. Otherwise the seed gives the order. Mutants of a package
// stay together, so that its tests are compiled and measured once.
func (c *Changes) Order(all []Mutant) (ordered []Mutant, concerned int) {
	groups := map[string][]Mutant{}
	for _, m := range all {
		groups[m.Package()] = append(groups[m.Package()], m)
	}
	changed := func(folder string) bool { return c.Changed(roomOf(&groups[folder][0])) }
	folders := slices.Sorted(maps.Keys(groups))
	random := rand.New(rand.NewPCG(c.Seed, 0))
	random.Shuffle(len(folders), func(i, j int) { folders[i], folders[j] = folders[j], folders[i] })
	others := slices.DeleteFunc(slices.Clone(folders), changed)
	for _, folder := range append(slices.DeleteFunc(folders, func(f string) bool { return !changed(f) }),
		others...) {
		group := groups[folder]
		random.Shuffle(len(group), func(i, j int) { group[i], group[j] = group[j], group[i] })
		ordered = append(ordered, group...)
		if changed(folder) {
			concerned += len(group)
		}
	}
	return ordered, concerned
}

func git(root string, args ...string) (string, error) {
	out, err := exec.Command("git", append([]string{"-C", root}, args...)...).Output()
	return strings.TrimSpace(string(out)), err
}

func seedOfFiles(root string) (uint64, error) {
	hash := sha256.New()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || d.Name() == "node_modules" ||
			d.Name() == "bin"):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		text, err := os.ReadFile(path)
		fmt.Fprintf(hash, "%s %x\n", strings.TrimPrefix(path, root), sha256.Sum256(text))
		return err
	})
	if err != nil {
		return 0, err
	}
	return seedOf(hex.EncodeToString(hash.Sum(nil)))
}

// seedOf returns the first 64 bits of a hash.
func seedOf(hash string) (uint64, error) {
	return strconv.ParseUint(hash[:min(16, len(hash))], 16, 64)
}
