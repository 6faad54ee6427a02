#!/usr/bin/env bash
# Bring up LocalStack at http://127.0.0.1:4566: in Docker where an engine answers, otherwise as a process.
#
# One that runs already is used as it is.
#
# LOCALSTACK_MODE   docker or process, to choose yourself
# LOCALSTACK_PORT   default 4566
# LOCALSTACK_IMAGE, LOCALSTACK_AUTH_TOKEN: see compose.yaml
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
port=${LOCALSTACK_PORT:-4566}

say() { echo "localstack: $*" >&2; }

answers() { curl -fsS "http://127.0.0.1:$port/_localstack/health" >/dev/null 2>&1; }
if answers; then
	say "LocalStack runs already at http://127.0.0.1:$port"
	exit
fi
mode=${LOCALSTACK_MODE:-}
if [[ -z $mode ]]; then
	if command -v docker >/dev/null 2>&1 && timeout 20 docker info >/dev/null 2>&1 && docker compose version >/dev/null 2>&1; then
		mode=docker
		say "a Docker engine answers: LocalStack runs in Docker"
	else
		mode=process
		say "no Docker engine with 'docker compose' answers: LocalStack runs as a process, without Docker"
	fi
fi
if [[ -n ${LOCALSTACK_AUTH_TOKEN:-} && $mode == process ]]; then
	say "the process is version 4.14.0 whatever LOCALSTACK_AUTH_TOKEN says; newer versions need Docker"
fi

case $mode in
process) "$here/process/start.sh" ;;
docker)
	docker compose -f "$here/compose.yaml" up --detach --wait
	for _ in $(seq 600); do
		if answers; then
			say "LocalStack answers at http://127.0.0.1:$port; its log: docker compose -f $here/compose.yaml logs"
			exit
		fi
		sleep 0.1
	done
	say "no answer within a minute; see: docker compose -f $here/compose.yaml logs"
	exit 1
	;;
*)
	say "LOCALSTACK_MODE is '$mode'; it must be docker or process"
	exit 1
	;;
esac
