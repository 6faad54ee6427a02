package soak_test

import (
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

// sample holds the resources of a process; 0 if the system does not report them (only Linux does).
type sample struct {
	RSS     int64 `json:"rss_bytes"`
	Files   int64 `json:"open_files"`
	Threads int64 `json:"threads"`
}

// sampleOf measures a process.
func sampleOf(pid int) sample {
	status := load.Status(pid)
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // none if the system has no such folder
	return sample{RSS: status["VmRSS"], Threads: status["Threads"], Files: int64(len(files))}
}
