#!/usr/bin/env bash
# Tests the packages of sdk: their own tests, and the grades that an agent of each earns from `stepkeeper agent
# test`. Needs bin/stepkeeper, Python 3.11 and Node 20; installs the rest into bin/sdk and node_modules.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/..
program=$root/bin/stepkeeper
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# orders runs an order of the example's workflow beside `stepkeeper dev`: by the agent that a command starts, and
# by the client that a program of $client is.
orders() {
	local url
	rm -rf "$work/data"
	"$program" dev --workflows ../examples/agent-python/workflows --agents ../examples/agent-python/agents.yaml \
		--data "$work/data" --listen 127.0.0.1:0 --reply-to shop >"$work/dev.log" 2>&1 &
	local dev=$!
	for _ in $(seq 300); do
		url=$(grep -o 'http://127[^ ]*' "$work/dev.log" | head -1) && break
		sleep 0.1
	done
	export AWS_ENDPOINT_URL_SQS=$url
	TRIAL=$work "$@" >"$work/agent.log" 2>&1 &
	local agent=$!
	timeout 60 "${client[@]}" || {
		cat "$work/dev.log" "$work/agent.log"
		exit 1
	}
	kill "$agent" "$dev"
	wait "$agent" "$dev" || true
	unset AWS_ENDPOINT_URL_SQS
	echo "$* did an order of $(basename "${client[-1]}")"
}

# earns tries whether the agent that a command starts earns a grade. Trials wait more than they compute, so they run
# at the same time.
earns() {
	local grade=$1 do=$2 undo=$3 place
	shift 3
	place=$(mktemp -d -p "$work")
	mkdir "$place/effects"
	# shellcheck disable=SC2016 # KEY is of the line
	TRIAL=$place/effects "$program" agent test coats --do "$do" --undo "$undo" --between 5 --earns "$grade" \
		--effects 'ls "$TRIAL" | grep -c "^$(echo "$KEY" | tr / _)[.]" || true' -- "$@" >"$place/log" 2>&1 || {
		echo "$* does not earn the grade $grade:"
		cat "$place/log"
		return 1
	}
	echo "$* earns the grade $grade"
}
trials=()

# snippet prints the code of a language on a page.
snippet() {
	sed -n "/^\`\`\`$1\$/,/^\`\`\`\$/p" "$2" | grep -v '^```'
}

# calls runs a program of examples/http beside `stepkeeper dev` with the workflow of the page about HTTP. The program
# prints what the page shows at its end.
calls() {
	local name=$1 page=../docs/how-to/http-orders.md place=$work/calls url
	shift
	mkdir -p "$place/workflows"
	sed -n '/^    workflow: purchase$/,/^$/s/^    //p' "$page" >"$place/workflows/purchase.yaml"
	"$program" dev --workflows "$place/workflows" --agents ../examples/agent-python/agents.yaml \
		--data "$place/data-$name" --listen 127.0.0.1:0 >"$place/log" 2>&1 &
	local dev=$!
	for _ in $(seq 300); do
		url=$(grep -o 'http://127[^ ]*' "$place/log" | head -1) && break
		sleep 0.1
	done
	sed "s|http://127.0.0.1:8377|$url|" "../examples/http/$name" >"$place/$name"
	sed -n '/^## In Python/,$p' "$page" | sed -n '/^```text$/,/^```$/p' | grep -v '^```' >"$place/want"
	"$@" "$place/$name" >"$place/got" || cat "$place/log"
	kill "$dev"
	wait "$dev" || true
	diff "$place/want" "$place/got"
	echo "$name works with the workflow of the page about HTTP"
}

# run_typescript compiles a file with the compiler of the package, and runs it.
run_typescript() {
	cp "$1" "$work/new-typescript/src/calls.ts"
	(cd "$work/new-typescript" && node_modules/.bin/tsc && timeout 60 node dist/calls.js)
}

(
	cd typescript
	[[ node_modules/.package-lock.json -nt package-lock.json ]] || npm run --silent prepare
	npm test --silent
)
"$program" agent new seats --language typescript --module-dir "$root" --dir "$work/new-typescript" >/dev/null
(cd "$work/new-typescript" && npm install --silent --no-audit --no-fund && npm test --silent >/dev/null)
{ echo 'declare const service: any;' && snippet typescript typescript/README.md; } >"$work/new-typescript/src/readme.ts"
(cd "$work/new-typescript" && node_modules/.bin/tsc --noEmit && rm src/readme.ts)
calls purchase.ts run_typescript
trial=typescript/dist-tests/tests/trial.js
earns idempotent hang give-back node "$trial" &
trials+=($!)
earns plain tally untally node "$trial" &
trials+=($!)
client=(node typescript/dist-tests/tests/order.js)
orders node "$trial"

venv=$root/bin/sdk/venv
if ! cmp -s python/tests/requirements.txt "$venv/requirements.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet -r python/tests/requirements.txt
	cp python/tests/requirements.txt "$venv/"
fi
"$venv/bin/pip" install --quiet --no-deps --force-reinstall ./python
"$venv/bin/python" -m pytest -q -p no:cacheprovider python/tests # of the installed package
"$program" agent new seats --language python --module-dir "$root" --dir "$work/new-python" >/dev/null
(cd "$work/new-python" && "$venv/bin/python" -m unittest)
snippet python python/README.md >"$work/readme.py"
(cd "$work" && "$venv/bin/python" -c 'import readme')
calls purchase.py timeout 60 "$venv/bin/python"
earns idempotent hang give-back "$venv/bin/python" python/tests/trial.py &
trials+=($!)
earns plain tally untally "$venv/bin/python" python/tests/trial.py &
trials+=($!)
client=("$venv/bin/python" python/tests/order.py)
orders "$venv/bin/python" python/tests/trial.py
for trial in "${trials[@]}"; do wait "$trial"; done
