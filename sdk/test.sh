#!/usr/bin/env bash
# Tests the packages of sdk: their own tests, and the grades that an agent of each earns from `stepkeeper agent
# test`. Needs bin/stepkeeper, Python 3.11 and Node 20; installs the rest into bin/sdk and node_modules.
set -euo pipefail
cd "$(dirname "$0")"
root=$PWD/..
program=$root/bin/stepkeeper
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PYTHONDONTWRITEBYTECODE=1 PIP_DISABLE_PIP_VERSION_CHECK=1

# earns tries whether the agent that a command starts earns a grade.
earns() {
	local grade=$1 do=$2 undo=$3
	shift 3
	rm -rf "$work/effects" && mkdir "$work/effects"
	# shellcheck disable=SC2016 # KEY is of the line
	TRIAL=$work/effects "$program" agent test coats --do "$do" --undo "$undo" --between 5 --earns "$grade" \
		--effects 'ls "$TRIAL" | grep -c "^$(echo "$KEY" | tr / _)[.]" || true' -- "$@" >"$work/log" 2>&1 || {
		echo "$* does not earn the grade $grade:"
		cat "$work/log"
		exit 1
	}
	echo "$* earns the grade $grade"
}

(
	cd typescript
	[[ node_modules/.package-lock.json -nt package-lock.json ]] || npm ci --silent --no-audit --no-fund --ignore-scripts
	npm test --silent
)
"$program" agent new seats --language typescript --module-dir "$root" --dir "$work/new-typescript" >/dev/null
(cd "$work/new-typescript" && npm install --silent --no-audit --no-fund && npm test --silent >/dev/null)
trial=typescript/dist-tests/tests/trial.js
earns idempotent hang give-back node "$trial"
earns plain tally untally node "$trial"

venv=$root/bin/sdk/venv
if ! cmp -s python/tests/requirements.txt "$venv/requirements.txt"; then
	rm -rf "$venv"
	python3 -m venv "$venv"
	"$venv/bin/pip" install --quiet -r python/tests/requirements.txt
	cp python/tests/requirements.txt "$venv/"
fi
rm -rf "$work/python" && cp -r python "$work/python" # a build writes into its folder
"$venv/bin/pip" install --quiet --no-deps --force-reinstall "$work/python"
(cd "$work/python" && rm -r stepkeeper && "$venv/bin/python" -m pytest -q -p no:cacheprovider) # the installed package
"$program" agent new seats --language python --module-dir "$root" --dir "$work/new-python" >/dev/null
(cd "$work/new-python" && "$venv/bin/python" -m unittest)
earns idempotent hang give-back "$venv/bin/python" python/tests/trial.py
earns plain tally untally "$venv/bin/python" python/tests/trial.py
