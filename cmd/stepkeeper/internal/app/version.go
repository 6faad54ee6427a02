package app

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is the JSON output of `stepkeeper --version`.
type Version struct {
	Version  string `json:"version"` // version of the Go module; "(devel)" if built from a working copy
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"time,omitempty"` // time of the commit
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// ReadVersion reads the build information of the binary.
func ReadVersion() Version {
	v := Version{Version: "(devel)", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// String returns the text that `stepkeeper --version` prints.
func (v Version) String() string {
	text := "stepkeeper " + v.Version + "\n"
	if v.Commit != "" {
		modified := ""
		if v.Modified {
			modified = ", modified"
		}
		text += fmt.Sprintf("commit %s (%s%s)\n", v.Commit, v.Time, modified)
	}
	return text + v.Go + " " + v.Platform + "\n"
}
