package build

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Language is the programming language of an agent's folder.
type Language string

// Languages of agents. The zero value means that a folder contains no agent.
const (
	GoLanguage Language = "go"
	Python     Language = "python"
	TypeScript Language = "typescript"
)

const (
	pythonVersion = "3.13"
	nodeVersion   = "node22"
)

// LanguageOf returns the language of the agent in a folder. An agent in Go has *.go files. An agent in Python
// has agent.py and requirements.txt. An agent in TypeScript has src/agent.ts and package.json. LanguageOf
// returns "" if the folder contains no agent.
func LanguageOf(folder string) Language {
	has := func(names ...string) bool {
		for _, name := range names {
			if folder == "" {
				return false
			}
			if found, _ := filepath.Glob(filepath.Join(folder, name)); len(found) == 0 {
				return false
			}
		}
		return true
	}
	switch {
	case has("*.go"):
		return GoLanguage
	case has("agent.py", "requirements.txt"):
		return Python
	case has(filepath.Join("src", "agent.ts"), "package.json"):
		return TypeScript
	}
	return ""
}

// Bundle writes an agent in Python or TypeScript, with its dependencies, to the folder in the argument out.
// Python needs pip on this machine. TypeScript needs npm on this machine, and the agent's dependencies must
// include esbuild.
func Bundle(folder, out string, x86 bool) error {
	if err := os.MkdirAll(out, 0o755); err != nil {
		return err
	}
	if LanguageOf(folder) == Python {
		return bundlePython(folder, out, x86)
	}
	return bundleTypeScript(folder, out)
}

// Limits of one program that Bundle runs.
const (
	bundleTime = 10 * time.Minute // time limit, in case a registry does not respond
	bundleText = 8 << 10          // number of bytes at the end of the output that an error shows
)

func run(dir, program string, arguments ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), bundleTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, arguments...)
	// Without WaitDelay, a child process that keeps the output open would block CombinedOutput.
	cmd.Dir = dir
	cmd.WaitDelay = 10 * time.Second
	text, err := cmd.CombinedOutput()
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("it did not end within %s; check the network and the registry", bundleTime)
	}
	return fmt.Errorf("%s %s in %s: %w\n%s", program, strings.Join(arguments, " "), dir, err,
		text[max(0, len(text)-bundleText):])
}

func bundlePython(folder, out string, x86 bool) error {
	platform := "manylinux2014_aarch64"
	if x86 {
		platform = "manylinux2014_x86_64"
	}
	err := run(folder, "python3", "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
		"--no-compile", "--only-binary=:all:", "--platform", platform, "--implementation", "cp",
		"--python-version", pythonVersion, "--target", out, "-r", "requirements.txt")
	if err != nil {
		return err
	}
	// These files contain paths of this machine, which would change the hash of the CDK asset.
	places, _ := filepath.Glob(filepath.Join(out, "*.dist-info", "direct_url.json"))
	records, _ := filepath.Glob(filepath.Join(out, "*.dist-info", "RECORD"))
	for _, place := range append(append(places, records...), filepath.Join(out, "bin")) {
		if err := os.RemoveAll(place); err != nil {
			return err
		}
	}
	return copySources(folder, out)
}

func copySources(folder, out string) error {
	root := folder + string(filepath.Separator) // WalkDir follows a link that ends so
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := filepath.Base(path)
		switch {
		case err != nil || path == root:
			return err
		case strings.HasPrefix(name, "."), name == "__pycache__", name == "node_modules", name == "tests",
			strings.HasPrefix(name, "test_"), strings.HasSuffix(name, ".egg-info"), name == "venv":
			if entry.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		to := filepath.Join(out, strings.TrimPrefix(path, folder))
		if entry.IsDir() {
			return os.MkdirAll(to, 0o755)
		}
		text, err := os.ReadFile(path)
		return errors.Join(err, os.WriteFile(to, text, 0o644))
	})
}

func bundleTypeScript(folder, out string) error {
	esbuild := filepath.Join(folder, "node_modules", ".bin", "esbuild")
	if _, err := os.Stat(esbuild); err != nil {
		install := "install"
		if _, err := os.Stat(filepath.Join(folder, "package-lock.json")); err == nil {
			install = "ci"
		}
		if err := run(folder, "npm", install, "--loglevel=error", "--no-audit", "--no-fund"); err != nil {
			return err
		}
	}
	if _, err := os.Stat(esbuild); err != nil {
		return fmt.Errorf("%s has no esbuild: add it with npm install --save-dev esbuild", folder)
	}
	// Packages of the SDK call require, which does not exist in an ES module.
	banner := "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);"
	return run(folder, esbuild, filepath.Join("src", "agent.ts"), "--bundle", "--platform=node",
		"--format=esm", "--target="+nodeVersion, "--log-level=warning", "--banner:js="+banner,
		"--outfile="+filepath.Join(out, "index.mjs"))
}
