package process

import (
	"fmt"
	"os"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

// Sample holds the resources of the process; 0 if the system does not report them (only Linux does).
type Sample struct {
	RSS     int64 `json:"rss_bytes"`
	Files   int64 `json:"open_files"`
	Threads int64 `json:"threads"`
}

// Sample measures the present process.
func (s *Process) Sample() Sample {
	status := load.Status(s.Pid())
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", s.Pid())) // none where the system has no such folder
	return Sample{RSS: status["VmRSS"], Threads: status["Threads"], Files: int64(len(files))}
}
