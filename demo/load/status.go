package load

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Status returns the numbers that Linux reports about a process, by name. Sizes are in bytes. On other
// systems, Status returns nil.
func Status(pid int) map[string]int64 {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return nil
	}
	all := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		number, unit, _ := strings.Cut(strings.TrimSpace(value), " ")
		if n, err := strconv.ParseInt(number, 10, 64); err == nil {
			if unit == "kB" {
				n <<= 10
			}
			all[name] = n
		}
	}
	return all
}
