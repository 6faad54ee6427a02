#!/usr/bin/env bash
# End what start.sh and ministack/start.sh have started, in whichever way.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

"$here/process/start.sh" stop
"$here/ministack/start.sh" stop
if command -v docker >/dev/null 2>&1 && timeout 20 docker info >/dev/null 2>&1; then
	docker compose -f "$here/compose.yaml" down
fi
