#!/usr/bin/env bash
# Start MiniStack 1.5.33, an emulator that evaluates IAM policies, as a process of this machine.
#
#   start.sh          install what is missing, start, wait until it answers
#   start.sh install  install what is missing
#   start.sh stop     end the one that was started here, by its process ID
#
# Needs Python 3.10 or newer (named by PYTHON, or python3), openssl and curl.
# STATE            where MiniStack keeps its data and its log; default ../.state/ministack
# XDG_CACHE_HOME   where stepkeeper/ holds what was fetched, for all checkouts; default ~/.cache
# MINISTACK_PORT   on 127.0.0.1; default 4577
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${STATE:-$here/../.state/ministack}
mkdir -p "$state"
state=$(cd "$state" && pwd)
port=${MINISTACK_PORT:-4577}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/stepkeeper
stamp=$(sha256sum <"$here/requirements.txt")
venv=$cache/ministack-1.5.33-${stamp:0:12}
pidfile=$state/pid
log=$state/ministack.log
certificate=$state/tmp/ministack-tls/server.crt # where it puts the one it makes

say() { echo "localstack/ministack: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

alive() {
	local pid
	pid=$(cat "$pidfile" 2>/dev/null) && kill -0 "$pid" 2>/dev/null &&
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q ministack
}

stop() {
	alive || {
		rm -f "$pidfile"
		say "nothing to stop"
		return
	}
	local pid
	pid=$(cat "$pidfile")
	kill -- "-$pid" # its functions too: they are in its group
	for _ in $(seq 100); do
		alive || {
			rm -f "$pidfile"
			say "stopped process $pid"
			return
		}
		sleep 0.1
	done
	fail "process $pid does not end; its log is $log"
}

install() {
	local new python=${PYTHON:-} candidate
	[[ ! -d $venv ]] || return 0
	for candidate in "$python" python3 python3.13 "$HOME"/.pyenv/versions/3.1[0-9].*/bin/python; do
		if command -v "$candidate" >/dev/null 2>&1 &&
			"$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
			python=$candidate
			break
		fi
	done
	[[ -n $python ]] || fail "no Python 3.10 or newer found. Install one, or name it: PYTHON=/path/to/python3"
	say "installing MiniStack 1.5.33 from PyPI into $venv (once)"
	mkdir -p "$cache"
	new=$(mktemp -d "$cache/ministack.XXXXXX")
	"$python" -m venv "$new"
	"$new/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-compile --require-hashes -r "$here/requirements.txt"
	[[ -d $venv ]] || mv "$new" "$venv" # another checkout may have put one there meanwhile
	rm -rf "$new"
}

start() {
	# Its functions inherit its environment: nothing of ours but what they need.
	local settings=(
		PATH="$PATH"
		HOME="$state"
		TMPDIR="$state/tmp"
		BIND_HOST=127.0.0.1
		GATEWAY_PORT="$port"
		AUTH=true                                # policies are evaluated
		USE_SSL=1                                # the queues' and topics' own policies refuse plain HTTP
		SSL_CERT_FILE="$certificate"             # for the functions: whom to trust
		AWS_ENDPOINT_URL="https://127.0.0.1:$port" # and where to call
		MINISTACK_REGION=eu-central-1
		AWS_EC2_METADATA_DISABLED=true
	)
	env -i "${settings[@]}" setsid "$venv/bin/python" -m ministack >"$log" 2>&1 </dev/null &
	echo $! >"$pidfile"
	for _ in $(seq 300); do
		if curl -fsS --cacert "$certificate" "https://127.0.0.1:$port/_ministack/health" >/dev/null 2>&1; then
			say "MiniStack 1.5.33 answers at https://127.0.0.1:$port as process $(cat "$pidfile"), with IAM enforced; its log is $log"
			return
		fi
		alive || sleep 0.3
		alive || {
			tail -20 "$log" >&2
			fail "MiniStack ended by itself; its log is $log"
		}
		sleep 0.1
	done
	fail "no answer within 30 s; its log is $log"
}

if [[ ${1:-} == stop ]]; then
	stop
	exit
fi
command -v openssl >/dev/null || fail "no openssl found; it makes the certificate. Install it (apt-get install openssl)"
began=$SECONDS
if [[ ${1:-} == install ]]; then
	install
	exit
fi
if alive; then
	say "runs already, as process $(cat "$pidfile")"
	exit
fi
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	fail "something else listens on port $port; stop it, or choose another: MINISTACK_PORT=4578"
fi
rm -rf "$state/tmp"
mkdir -p "$state/tmp"
install
((SECONDS - began < 2)) || say "installed in $((SECONDS - began)) s"
start
