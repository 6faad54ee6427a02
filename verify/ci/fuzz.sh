#!/usr/bin/env bash
# Runs every fuzz target of the module for FUZZTIME each: `go test -fuzz` takes one target of one
# package at a time.
set -euo pipefail
go="${GO:-go}"
time="${FUZZTIME:-10s}"
count=0
while read -r dir; do
	for target in $(grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$dir"/*_test.go 2>/dev/null | awk '{print $2}'); do
		echo "+ $go test -run ^\$ -fuzz ^$target\$ -fuzztime $time $dir"
		# Until Go 1.27 the end of -fuzztime itself can be reported as a failure (golang/go#75804), and then no input is written.
		said=$("$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir" 2>&1 | tee /dev/stderr) ||
			{ grep -q 'context deadline exceeded' <<<"$said" && ! grep -qE 'Failing input|panic:' <<<"$said"; }
		count=$((count + 1))
	done
done < <("$go" list -f '{{.Dir}}' ./...)
echo "fuzzed $count targets"
