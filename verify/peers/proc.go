package main

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"github.com/stepkeeper/stepkeeper/demo/load"
)

// ticksPerSecond is the number of clock ticks per second in /proc. It is 100 on every Linux that Go supports.
const ticksPerSecond = 100

func processors() int { return runtime.NumCPU() }

func tree(root int) []int {
	children := map[int][]int{}
	files, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return []int{root}
	}
	for _, file := range files {
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if f := fields(pid); err == nil && len(f) > 1 {
			parent, _ := strconv.Atoi(f[1])
			children[parent] = append(children[parent], pid)
		}
	}
	all := []int{root}
	for i := 0; i < len(all); i++ {
		all = append(all, children[all[i]]...)
	}
	return all
}

// fields returns the fields of /proc/PID/stat after the program's name. It returns nil if the process has
// ended.
func fields(pid int) []string {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return nil
	}
	return strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))
}

// processorTime returns the processor time of a process and its descendants in seconds.
func processorTime(root int) (seconds float64) {
	for _, pid := range tree(root) {
		if f := fields(pid); len(f) > 12 {
			user, _ := strconv.ParseFloat(f[11], 64)
			system, _ := strconv.ParseFloat(f[12], 64)
			seconds += (user + system) / ticksPerSecond
		}
	}
	return seconds
}

// peakMemory returns the sum of the largest resident sets of a process and its descendants in MB.
func peakMemory(root int) (mb float64) {
	for _, pid := range tree(root) {
		mb += float64(load.Status(pid)["VmHWM"]) / (1 << 20)
	}
	return mb
}

// machineTime returns the processor time of all programs on the machine in seconds.
func machineTime() (seconds float64) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0
	}
	line, _, _ := strings.Cut(string(text), "\n")
	for i, word := range strings.Fields(line) {
		// The sum contains the times user, nice, system and interrupts, but not the idle time and the waits
		// for I/O.
		if i == 1 || i == 2 || i == 3 || i == 6 || i == 7 {
			v, _ := strconv.ParseFloat(word, 64)
			seconds += v / ticksPerSecond
		}
	}
	return seconds
}

func machine() string {
	model := "unknown processor"
	memory := ""
	if text, err := os.ReadFile("/proc/cpuinfo"); err == nil {
		for line := range strings.Lines(string(text)) {
			if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
				model = strings.TrimSpace(value)
			}
		}
	}
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		if f := strings.Fields(string(text)); len(f) > 1 {
			kb, _ := strconv.ParseFloat(f[1], 64)
			memory = fmt.Sprintf(", %.0f GB of memory", kb/1e6)
		}
	}
	return fmt.Sprintf("%d cores of %s%s, %s/%s", processors(), model, memory, runtime.GOOS, runtime.GOARCH)
}
