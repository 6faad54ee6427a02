#!/usr/bin/env bash
# `make integration`: bring up an emulator unless it runs already, deploy the app into it, test, and stop what was started.
#
# BACKEND   localstack (default) or ministack, which enforces IAM
# PACKAGE   the tests instead of ./localstack/integration; `make account-check` names its own
# KEEP=1    leaves the emulator running
# SHORT=1   without the three longest tests
# ARGS      for go test: ARGS="-run TestUnreadableMessageIsQuarantined -v"
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cd "$here/.."

say() { echo "integration: $*" >&2; }
began=$SECONDS
for tool in go node; do
	command -v "$tool" >/dev/null || {
		say "$tool is missing. Install Go (the version in go.mod) and Node 20 or later"
		exit 1
	}
done

BACKEND=${BACKEND:-localstack}
case $BACKEND in
localstack)
	endpoint=http://127.0.0.1:${LOCALSTACK_PORT:-4566}
	health=$endpoint/_localstack/health
	start=("$here/start.sh")
	;;
ministack)
	endpoint=https://127.0.0.1:${MINISTACK_PORT:-4577}
	health=$endpoint/_ministack/health
	start=("$here/ministack/start.sh")
	export AWS_CA_BUNDLE=${STATE:-$here/.state/ministack}/tmp/ministack-tls/server.crt
	;;
*)
	say "BACKEND is '$BACKEND'; it must be localstack or ministack"
	exit 1
	;;
esac

if curl -fsS ${AWS_CA_BUNDLE:+--cacert "$AWS_CA_BUNDLE"} "$health" >/dev/null 2>&1; then
	say "uses the $BACKEND that answers at $endpoint"
else
	"${start[@]}"
	[[ -n ${KEEP:-} ]] || trap '"$here/stop.sh" "$BACKEND"' EXIT
fi
say "the emulator was there after $((SECONDS - began)) s; tests against $endpoint"

# The user's own AWS settings must neither be used nor reach what is tested.
for name in $(compgen -e AWS_ || true); do [[ $name == AWS_CA_BUNDLE ]] || unset "$name"; done
export STEPKEEPER_INTEGRATION=$endpoint STEPKEEPER_BACKEND=$BACKEND AWS_EC2_METADATA_DISABLED=true
export AWS_REGION=eu-central-1 AWS_ACCESS_KEY_ID=test AWS_SECRET_ACCESS_KEY=test # both emulators' own administrator
export CDK_VALIDATION=false # the CDK's own validation only warns, and takes seconds of each synthesis
# Runs go test -v without the lines of tests that begin or wait, and says at the end how many there were. A run of none fails.
counted() {
	local what=$1 log failed=0 passes fails skips
	shift
	log=$(mktemp)
	"$@" 2>&1 | tee "$log" | { grep --line-buffered -vE '^ *=== (RUN|PAUSE|CONT|NAME)' || true; } || failed=1
	passes=$(grep -cE '^ *--- PASS' "$log" || true) fails=$(grep -cE '^ *--- FAIL' "$log" || true) skips=$(grep -cE '^ *--- SKIP' "$log" || true)
	rm "$log"
	say "$what: $((passes + fails)) tests ran, $passes passed, $fails failed; $skips were skipped"
	((failed == 0 && passes > 0))
}
# shellcheck disable=SC2086 # ARGS are several words
counted "the deployed stack" "${GO:-go}" test -v -count=1 -timeout 30m -parallel 4 ${SHORT:+-short} "${PACKAGE:-./localstack/integration}" ${ARGS:-}
if [[ $BACKEND == localstack && -z ${ARGS:-}${PACKAGE:-} ]]; then # the contracts of the ports on it
	# Stores: what depends on the emulator, which hands all to the DynamoDB Local of `make test-dynamo`; that runs the whole.
	STEPKEEPER_DYNAMODB=$endpoint counted stores "${GO:-go}" test -v -count=1 -timeout 10m \
		-run 'TestStoreInDynamo$/open_orders_listed/(race|lost|definitions|leases)' ./shared/port/storetest &
	stores=$!
	counted languages "${GO:-go}" test -v -count=1 -timeout 10m ./localstack/languages || failed=1
	STEPKEEPER_SQS=$endpoint counted queues "${GO:-go}" test -v -count=1 -timeout 10m -run TestSQSService ./shared/port/queuetest || failed=1
	wait "$stores" || failed=1
	[[ -z ${failed:-} ]] || exit 1
fi
say "passed in $((SECONDS - began)) s"
