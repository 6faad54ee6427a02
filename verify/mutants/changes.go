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

// Changes describes the difference between two versions of the sources. The programs use Changes to try
// affected mutants first.
type Changes struct {
	// Seed is derived from the hash of the Git tree, so that the same sources give the same mutants.
	Seed uint64
	// Known is true if Git can show the difference. In this case Folders lists the folders that contain a
	// changed file.
	Known   bool
	Folders []string
}

// ChangesOf compares the files under root with the commit at which the branch left origin/main. If HEAD is
// this commit, ChangesOf compares the files with the previous commit. Without Git it derives the Seed from
// the files and returns nothing else.
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
			return c, nil // this is the first commit, or a clone without history
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

// Concern reports whether a file in the folder or in its testdata folder has changed.
func (c *Changes) Concern(folder string) bool {
	return slices.ContainsFunc(c.Folders,
		func(f string) bool { return f == folder || strings.HasPrefix(f, folder+"/testdata") })
}

// Changed reports whether any package of the room has changed.
func (c *Changes) Changed(r *Room) bool { return slices.ContainsFunc(r.Packages, c.Concern) }

// Order returns the mutants in a new order. The mutants of changed rooms come first, and concerned is the
// number of these mutants. The Seed determines the order within both parts. The mutants of a package stay
// together, so that the gate compiles and measures the package's tests only once.
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

func seedOf(hash string) (uint64, error) {
	return strconv.ParseUint(hash[:min(16, len(hash))], 16, 64)
}
