#!/usr/bin/env bash
# Checks the files of a release in a folder: release.sh bin/release. Extracts the archive for this machine into an empty
# folder, where no Go is in the PATH, and runs the lines of the README for a release there. Ends by itself.
set -euo pipefail
release=$(realpath "$1")
readme=$(realpath "$(dirname "$0")/../../README.md")
work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait; rm -rf "$work"' EXIT

fail() {
	echo "release: $*" >&2
	exit 1
}

# has demands that an archive has a file.
has() {
	local list
	case $1 in
	*.zip) list=$(python3 -m zipfile -l "$1") ;;
	*) list=$(tar -tzf "$1") ;;
	esac
	grep -q -- "$2" <<<"$list" || fail "$(basename "$1") has no $2"
}

archives=0
for archive in "$release"/stepkeeper_*.tar.gz "$release"/stepkeeper_*.zip; do
	[[ -e $archive ]] || continue
	for file in LICENSE README.md CHANGELOG.md man/stepkeeper.1 man/stepkeeper-submit.1 completions/stepkeeper.bash \
		completions/_stepkeeper completions/stepkeeper.fish completions/stepkeeper.ps1; do
		has "$archive" "$file"
	done
	archives=$((archives + 1))
done
((archives > 0)) || fail "no archive in $release"
(cd "$release" && sha256sum --check --quiet --ignore-missing checksums.txt)
grep -q 'binary "stepkeeper"' "$release"/homebrew/Casks/stepkeeper.rb || fail "the cask names no binary"
python3 -c 'import json, sys; json.load(open(sys.argv[1]))["architecture"]["64bit"]["hash"]' \
	"$release"/scoop/stepkeeper.json || fail "the Scoop manifest has no hash"

# The README is for amd64.
[[ -e $release/stepkeeper_linux_amd64.tar.gz && $(uname -sm) == "Linux x86_64" ]] || {
	echo "release: $archives archives are complete; none was run on this machine"
	exit 0
}
mapfile -t lines < <(sed -n '/^    tar -xzf stepkeeper_/,/^$/s/^    //p' "$readme")
[[ ${#lines[@]} == 2 ]] || fail "the README has ${#lines[@]} lines about the archive"
cp "$release/stepkeeper_linux_amd64.tar.gz" "$work"
clean() { (cd "$work" && exec env -i PATH=/usr/bin:/bin HOME="$work" bash -c "$*"); }
clean '! command -v go >/dev/null' || fail "there is a Go in the PATH"
clean "${lines[0]}"
: >"$work/log"
clean "exec ${lines[1]} --listen 127.0.0.1:0" >"$work/log" 2>&1 &
for _ in $(seq 300); do
	next=$(sed -n 's/^in another terminal: //p' "$work/log")
	[[ -z $next ]] || break
	sleep 0.1
done
[[ -n $next ]] || fail "it does not start: $(cat "$work/log")"
clean "PATH=.:\$PATH; $next" >"$work/orders" || [[ $? == 6 ]] || fail "orders are not accepted: $(cat "$work/orders")"
grep -q 'Processed' "$work/orders" || fail "no order is Processed: $(cat "$work/orders")"
echo "release: $archives archives are complete, and the lines of the README run without Go"
