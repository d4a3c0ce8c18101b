#!/usr/bin/env bash
# Adds the other files of a release to .build/dist, after deb.sh: the program with its pages and
# completions, the source, the SBOM, and SHA256SUMS of all.

set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
version=$(packaging/version.sh)
name=authctl-$version
machine=$(uname -m)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
dist=.build/dist
stage=.build/stage
rm -rf "$stage" "$dist"/*.tar.gz "$dist"/*.cdx.json "$dist/SHA256SUMS"
mkdir -p "$stage" "$dist"

# `cp -a bin share /usr/local/` in the unpacked archive installs it.
make --silent install DESTDIR="$PWD/$stage" PREFIX="/$name"
cp LICENSE README.md SECURITY.md CHANGELOG.md "$stage/$name/"
tar --sort=name --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner \
  -C "$stage" -c "$name" | gzip -9n >"$dist/$name-linux-$machine.tar.gz"

packaging/sbom.sh >"$dist/$name.cdx.json"

if git rev-parse --git-dir >/dev/null 2>&1; then
  [ -z "$(git status --porcelain --untracked-files=no)" ] ||
    echo "dist: the source archive is of the last commit, not of what is changed since" >&2
  # Package.resolved pins the packages, so that the source builds with the same versions.
  git archive --format=tar --prefix="$name/" --add-file=Package.resolved HEAD | gzip -9n >"$dist/$name.tar.gz"
else
  echo "dist: this is not a git repository, so there is no source archive" >&2
fi

cd "$dist"
sha256sum ./*"$version"* | sed 's|\./||' >SHA256SUMS
cat SHA256SUMS
