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
		"$go" test -run '^$' -fuzz "^$target\$" -fuzztime "$time" "$dir"
		count=$((count + 1))
	done
done < <("$go" list -f '{{.Dir}}' ./...)
echo "fuzzed $count targets"
