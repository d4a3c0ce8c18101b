#!/usr/bin/env bash
# Installs those of the named Debian packages that are missing.
#
#   Tests/packages.sh PACKAGE...
#   Tests/packages.sh --check PACKAGE...    only reports missing packages; exits with 1 then
#
# It never asks. If not root, it uses sudo, and without a terminal only if sudo needs no password.

set -eu

check=
if [ "${1-}" = --check ]; then
  check=yes
  shift
fi

if ! command -v dpkg-query >/dev/null; then
  echo "No dpkg here: make sure that the equivalents of these are installed: $*" >&2
  exit 0
fi

missing=()
for package; do
  state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null) || state=
  [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

if [ -n "$check" ]; then
  echo "Missing Debian packages: ${missing[*]}" >&2
  echo "Install them: apt-get install ${missing[*]}" >&2
  exit 1
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "Missing Debian packages, and no sudo: as root, apt-get install ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
  [ -t 2 ] || as_root+=(-n)
fi

apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y \
    -o Dpkg::Use-Pty=0 -o DPkg::Lock::Timeout=120 "$@" </dev/null
}

# apt knows the packages, and its lists are recent enough for the mirror.
install() {
  apt-cache show --no-all-versions "${missing[@]}" >/dev/null 2>&1 &&
    apt install --no-install-recommends "${missing[@]}"
}

echo "Installing missing Debian packages: ${missing[*]}" >&2
install >&2 || { apt update && install; } >&2 || {
  echo "Could not install: ${missing[*]}" >&2
  exit 1
}
