#!/usr/bin/env bash
# End what start.sh and ministack/start.sh have started.
#
#   stop.sh              both emulators
#   stop.sh localstack   only that one, in Docker or as a process
#   stop.sh ministack
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
which=${1:-both}

if [[ $which != localstack ]]; then
	"$here/ministack/start.sh" stop
fi
if [[ $which != ministack ]]; then
	"$here/process/start.sh" stop
	if [[ ${LOCALSTACK_MODE:-} != process ]] && command -v docker >/dev/null 2>&1 && timeout 20 docker info >/dev/null 2>&1; then
		docker compose -f "$here/compose.yaml" down
	fi
fi
