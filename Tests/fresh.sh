#!/usr/bin/env bash
# Proves on a clean Debian 12, made by debootstrap for this run, that
#
#   1. the package installs without Swift, runs, and puts pages and completions in their places;
#   2. `make demo` and `make test` work on a machine that has only Swift and make.
#
#   Tests/fresh.sh [package|all]      default: all
#
# Swift is not in Debian: this machine's toolchain is mounted there read-only. The source is that of
# the last commit. Without root, or without a mirror, it says so and exits with 0.
#
#   FRESH_ROOT     a folder on a disk with 6 GB (/var/tmp); all files made there are removed
#   FRESH_MIRROR   the Debian mirror (http://deb.debian.org/debian)
#   FRESH_SHOW     further paths of this machine to mount there; if it cannot reach GitHub,
#                  a mirror of the Swift packages and an /etc/gitconfig that points to it

set -eu
cd "$(dirname "$0")/.."
what=${1:-all}
suite=bookworm mirror=${FRESH_MIRROR:-http://deb.debian.org/debian}

skip() {
  echo "test-fresh: skipped: $1" >&2
  exit 0
}

[ "$(id -u)" -eq 0 ] || skip "only root can make a file system of its own (sudo make test-fresh)"
unshare --mount true 2>/dev/null || skip "no mount namespace here (a container without privileges)"
# Mounts are visible only here and end with this process.
[ "${FRESH_INSIDE-}" = yes ] || FRESH_INSIDE=yes exec unshare --mount "$0" "$@"

Tests/packages.sh debootstrap
package=$(ls -t .build/dist/authctl_*.deb 2>/dev/null | head -n 1)
[ -n "$package" ] || { echo "test-fresh: no package: run make deb" >&2; exit 1; }

root=${FRESH_ROOT:-/var/tmp}/authctl-fresh.$$
shown=${FRESH_SHOW-}
clean_up() {
  for place in proc dev opt/swift/usr $shown; do
    ! mountpoint -q "$root/$place" || umount -R -l "$root/$place"
  done
  ! mountpoint -q "$root" || umount -R -l "$root"
  rm -rf --one-file-system "$root" "$root.log"
}
trap clean_up EXIT
trap 'exit 130' INT TERM HUP
say() { printf '\n# %s\n' "$1"; }

say "A clean Debian ($suite)"
debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$root.log" 2>&1 || {
  tail -n 5 "$root.log" >&2
  skip "debootstrap cannot reach $mirror"
}
# Some tests make mount namespaces, which requires that the root is a mount.
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
cp /etc/resolv.conf "$root/etc/resolv.conf"

inside() { # COMMAND: runs it as root of the fresh machine, with its own home and environment.
  chroot "$root" /usr/bin/env -i HOME=/root LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
    PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin${swift:+:$swift} \
    bash -ec "$1" </dev/null
}
swift=

say "The package, without Swift: $(basename "$package")"
cp "$package" "$root/root/authctl.deb"
inside 'apt-get -qq update; apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends \
  /root/authctl.deb man-db >/dev/null; ! command -v swift'
inside 'authctl --version; authctl; authctl help exit-codes | head -n 3'
inside 'ldd /usr/bin/authctl'
inside 'for page in authctl authctl-login authctl-profile git-credential-authctl; do
    man -w "$page"; done; man -w 5 authctl-profile
  ls -l /usr/bin/*-credential-authctl /usr/share/bash-completion/completions/authctl \
    /usr/share/zsh/vendor-completions/_authctl /usr/share/fish/vendor_completions.d/authctl.fish'

say 'It signs in to something that is not there, and says so'
inside 'status=0
  AUTHCTL_URL=http://127.0.0.1:9 AUTHCTL_TOKEN=x authctl get /me || status=$?; [ $status = 7 ]
  status=0; authctl get -p shop /me || status=$?; [ $status = 2 ]'

if [ "$what" = all ]; then
  toolchain=$(dirname "$(dirname "$(readlink -f "$(command -v swift)")")")
  mkdir -p "$root/opt/swift/usr" "$root/root/authctl"
  mount --bind -o ro "$toolchain" "$root/opt/swift/usr"
  swift=/opt/swift/usr/bin
  for place in $shown; do
    if [ -d "$place" ]; then
      mkdir -p "$root/$place"
    else
      touch "$root/$place"
    fi
    mount --bind -o ro "$place" "$root/$place"
  done
  git archive HEAD | tar -x -C "$root/root/authctl"
  # The packages that https://www.swift.org/install/linux/debian lists for a toolchain, and make.
  say 'make and what a toolchain needs; then make demo'
  inside 'apt-get -qq -y -o Dpkg::Use-Pty=0 install --no-install-recommends make git \
    ca-certificates binutils gcc libc6-dev libstdc++-12-dev libcurl4-openssl-dev libxml2-dev \
    libncurses-dev libpython3-dev libsqlite3-0 libedit2 zlib1g-dev tzdata unzip gnupg2 \
    pkg-config >/dev/null'
  inside 'cd /root/authctl && make demo'
  say 'make test'
  inside 'cd /root/authctl && make test'
fi

say 'The package goes away whole'
inside 'apt-get -qq -y purge authctl >/dev/null; ! ls -d /usr/bin/authctl /usr/share/doc/authctl \
  /usr/share/man/man1/authctl* 2>/dev/null'
echo 'test-fresh: all of it works'
