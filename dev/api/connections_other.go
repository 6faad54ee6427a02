//go:build !unix

package api

// mostConnections returns manyConnections, because these systems do not limit the open files of a process.
func mostConnections() int { return manyConnections }
