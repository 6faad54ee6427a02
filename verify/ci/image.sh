#!/usr/bin/env bash
# Writes the container image of a release: image.sh bin/release. It needs no engine: each program of the release becomes
# a layer of an image without a base, and both images stand in an OCI layout in the folder `image` beside them, which
# `crane push bin/release/image REPOSITORY:VERSION` publishes. Needs GNU tar and the certificates of this machine.
set -euo pipefail
release=$(realpath "$1")
certificates=/etc/ssl/certs/ca-certificates.crt
crane() { ${GO:-go} run github.com/google/go-containerregistry/cmd/crane@v0.20.6 "$@"; }
[[ -s $certificates ]] || {
	echo "image: $certificates is missing: install the package ca-certificates." >&2
	exit 1
}
work=$(mktemp -d)
set -m # the registry and what runs it are one process group
trap 'for job in $(jobs -p); do kill -- "-$job"; done; wait; rm -rf "$work"' EXIT

# layer writes what an image holds: the program, certificates, a folder for its user, and one for temporary files.
layer() {
	local root=$work/$1
	mkdir -p "$root/etc/ssl/certs" "$root/home/nonroot" "$root/tmp"
	tar -xzf "$release/stepkeeper_linux_$1.tar.gz" -C "$root" stepkeeper
	cp "$certificates" "$root/etc/ssl/certs"
	echo "nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin" >"$root/etc/passwd"
	chmod 1777 "$root/tmp"
	chmod 755 "$root/stepkeeper" "$root/home/nonroot"
	local same=(--sort=name --mtime=@0 --numeric-owner -C "$root")
	tar "${same[@]}" --owner=0 --group=0 --exclude=home/nonroot -cf "$work/$1.tar" stepkeeper etc tmp home
	tar "${same[@]}" --owner=65532 --group=65532 -rf "$work/$1.tar" home/nonroot
}

crane registry serve --address 127.0.0.1:0 >"$work/log" 2>&1 &
for _ in $(seq 300); do
	port=$(sed -n 's/.*serving on port \([0-9]*\).*/\1/p' "$work/log")
	[[ -z $port ]] || break
	sleep 0.1
done
[[ -n $port ]] || {
	echo "image: the registry on this machine does not start: $(cat "$work/log")" >&2
	exit 1
}
image=127.0.0.1:$port/stepkeeper
for arch in amd64 arm64; do
	layer "$arch"
	crane append --oci-empty-base -f "$work/$arch.tar" -t "$image:$arch" >/dev/null
	crane mutate "$image:$arch" --set-platform "linux/$arch" --entrypoint /stepkeeper --cmd dev --user 65532:65532 \
		--workdir /home/nonroot --label org.opencontainers.image.source=https://github.com/stepkeeper/stepkeeper \
		--label org.opencontainers.image.licenses=Apache-2.0 -t "$image:$arch" >/dev/null
done
crane index append -m "$image:amd64" -m "$image:arm64" -t "$image:all" >/dev/null
rm -rf "$release/image"
crane pull --format=oci "$image:all" "$release/image"
crane validate --remote "$image:all" >/dev/null
