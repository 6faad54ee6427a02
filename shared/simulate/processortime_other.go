//go:build !unix

package simulate

import "time"

// processorTime is what this process has used so far; 0: nobody knows.
func processorTime() time.Duration { return 0 }
