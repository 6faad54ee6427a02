#!/usr/bin/env bash
# Checks the files of a release in a folder: release.sh bin/release. Extracts the archive for this machine into an empty
# folder, where no Go is in the PATH, and runs the lines of the README for a release there. Ends by itself.
set -euo pipefail
release=$(realpath "$1")
readme=$(realpath "$(dirname "$0")/../../README.md")
work=$(mktemp -d)
set -m # a server and the shell around it are one process group
trap 'for job in $(jobs -p); do kill -- "-$job"; done; wait; rm -rf "$work"' EXIT

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

# processes runs the server of the README's line, and sends it orders by the line that it prints; the words after the
# first call the program.
processes() {
	local log=$work/$1.log next=
	shift
	# shellcheck disable=SC2086 # its words are the command
	"$@" ${lines[1]#./stepkeeper } --listen 127.0.0.1:0 >"$log" 2>&1 &
	for _ in $(seq 300); do
		next=$(sed -n 's/^in another terminal: stepkeeper //p' "$log")
		[[ -z $next ]] || break
		sleep 0.1
	done
	[[ -n $next ]] || fail "it does not start: $(cat "$log")"
	# shellcheck disable=SC2086
	"$@" $next >"$log.orders" || [[ $? == 6 ]] || fail "orders are not accepted: $(cat "$log.orders")"
	grep -q 'Processed' "$log.orders" || fail "no order is Processed: $(cat "$log.orders")"
	kill %%
	wait %% || true
}

clean() { (cd "$work" && exec env -i PATH=/usr/bin:/bin HOME="$work" "$@"); }
clean sh -c '! command -v go' >/dev/null || fail "there is a Go in the PATH"
clean sh -c "${lines[0]}"
processes archive clean ./stepkeeper
echo "release: $archives archives are complete, and the lines of the README run without Go"

# blob prints the path of a blob of the image, by members of its JSON: blob FILE manifests 0.
blob() {
	python3 -c '
import json, sys
value = json.load(open(sys.argv[1]))
for key in sys.argv[2:]:
    value = value[int(key) if key.isdigit() else key]
print(value["digest"].removeprefix("sha256:"))' "$@" | sed "s|^|$release/image/blobs/sha256/|"
}
index=$(blob "$release/image/index.json" manifests 0)
for arch in amd64 arm64; do
	grep -q "\"architecture\": *\"$arch\"" "$index" || fail "the image has no program for $arch"
done
manifest=$(blob "$index" manifests 0)
grep -q '"Entrypoint":\["/stepkeeper"\],.*"User":"65532:65532"' "$(blob "$manifest" config)" || fail "the image starts no program as user 65532"
((EUID == 0)) || {
	echo "release: SKIP: only root can run the image without an engine"
	exit 0
}
mkdir "$work/image"
tar -xf "$(blob "$manifest" layers 0)" -C "$work/image"
processes image env -i HOME=/home/nonroot "$(command -v chroot)" --userspec=65532:65532 "$work/image" /stepkeeper
echo "release: the image runs without an engine"
