package process

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Sample is what the process holds of the machine; 0 where the system does not report it (only Linux does).
type Sample struct {
	RSS     int64 `json:"rss_bytes"`
	Files   int64 `json:"open_files"`
	Threads int64 `json:"threads"`
}

// Sample looks at the present process.
func (s *Process) Sample() Sample {
	dir := fmt.Sprintf("/proc/%d", s.Pid())
	var x Sample
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil {
		return x
	}
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		number, _, _ := strings.Cut(strings.TrimSpace(value), " ")
		n, err := strconv.ParseInt(number, 10, 64)
		switch {
		case err != nil:
		case name == "VmRSS":
			x.RSS = n << 10
		case name == "Threads":
			x.Threads = n
		}
	}
	if files, err := os.ReadDir(filepath.Join(dir, "fd")); err == nil {
		x.Files = int64(len(files))
	}
	return x
}
