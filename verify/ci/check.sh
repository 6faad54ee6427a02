#!/usr/bin/env bash
# `make check`: all that has to pass beside `make test`. Needs Go, a C compiler, Chromium, Node 20, a JDK of version 17,
# Python 3.11 and 3.13; ends by itself.
#
# Three lanes run beside each other, each one target after another: the suites on emulators, which wait most of the
# time, and two that compute. Each target has a log in bin/ci, which is printed whole where the target fails; the others
# run on, and the last lines name all that failed. Nothing is tried a second time.
set -uo pipefail
cd "$(dirname "$0")/../.."
logs=bin/ci
rm -rf "$logs"
mkdir -p "$logs"
began=$SECONDS

# target runs a command, and says how it ended, after how many seconds, and how many seconds of processor time it took.
# What a command leaves running, such as an emulator, is not in the latter.
target() {
	local name="$*" log from=$SECONDS ended=passed TIMEFORMAT='%U %S'
	log=$logs/$(tr -c 'a-zA-Z0-9\n' - <<<"$name").log
	{ time "$@" </dev/null >"$log" 2>&1; } 2>"$log.cpu" || ended=FAILED
	printf '%5d s  %s %s in %d s (processor %.0f s): %s\n' $((SECONDS - began)) "$name" "$ended" $((SECONDS - from)) \
		"$(awk '{print $1 + $2}' "$log.cpu")" "$(grep -v '^[[:space:]]*$' "$log" | tail -1 | cut -c1-150)"
	[[ $ended == passed ]] || {
		echo "$name" >>"$logs/failed"
		{ # in one piece, whatever else is printed meanwhile
			echo "===== $log"
			cat "$log"
			echo "===== end of $log"
		} >"$log.whole"
		cat "$log.whole"
	}
}

for tool in node npm java curl; do
	command -v "$tool" >/dev/null 2>&1 || {
		echo "$tool is missing: the infrastructure and the emulators need Node 20, a JDK of version 17, Python 3.13 and curl." >&2
		exit 1
	}
done

emulators() {
	target make install-emulators
	touch "$logs/installed"
	target make integration SHORT=1
	target make integration BACKEND=ministack SHORT=1
	computing
}

# What one lane installs is not installed by another at the same time.
installed() {
	until [[ -e $logs/installed ]]; do sleep 1; done
}

# What depends on no other target, the longest first, so that no lane ends long before another: a lane that is through
# with its own takes the next one. The first two need nothing that is installed, which may take minutes the first time.
computing() {
	local next
	for next in "make lint" "make race" "make test-dynamo SHORT=1" "make test-infra" "make simulate-report" \
		"make test-processes" "make soak MINUTES=1" "make test-console SCREENSHOTS=bin/screenshots" "make test-sdk" "make demo"; do
		[[ $next == "make lint" || $next == "make race" ]] || installed
		# shellcheck disable=SC2086 # its words are the command
		! mkdir "$logs/$(tr -c 'a-zA-Z0-9\n' - <<<"$next").taken" 2>/dev/null || target $next
	done
}

# Each in a process group of its own, which ends with this program.
set -m
beside=()
trap 'for group in "${beside[@]}"; do kill -TERM -- "-$group" 2>/dev/null; done; exit 130' INT TERM
all() {
	beside=()
	for lane in "$@"; do
		"$lane" &
		beside+=($!)
	done
	wait
}
target make build # before several targets want the program
all emulators computing computing

if [[ -s $logs/failed ]]; then
	echo
	echo "FAILED after $((SECONDS - began)) s:"
	sed 's/^/  /' "$logs/failed"
	exit 1
fi
echo "everything passed in $((SECONDS - began)) s"
