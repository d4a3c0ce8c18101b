#!/usr/bin/env bash
# Builds .build/dist/authctl_VERSION-1_ARCH.deb from .build/authctl, man/ and completions/.
#
# Depends: dpkg-shlibdeps finds the libraries that the program is linked with. This script names
# those that it opens at run time: libcurl, libsecret, libcrypto. The Swift runtime is linked
# statically.
#
# Conflicts: Canonical's package authd has another program at /usr/bin/authctl. An alternative
# requires both packages to give up the name, and a diversion takes it from a package that people
# need to log in. So the two cannot be installed together. On a machine with authd, use
# `make install PREFIX=/usr/local`.
#
# Maintainer: set DEBFULLNAME and DEBEMAIL to put your name into the package. dpkg requires the
# field, and the project has no address of its own. So the default is in .invalid, a domain that
# never exists (RFC 2606).

set -eu
cd "$(dirname "$0")/.."
export LC_ALL=C
[ -x .build/authctl ] || { echo "deb: .build/authctl does not exist yet: run make first" >&2; exit 1; }

version=$(packaging/version.sh)-1
architecture=$(dpkg --print-architecture)
maintainer=${DEBFULLNAME:-The authctl authors} email=${DEBEMAIL:-no-address@authctl.invalid}
# All times are those of the last commit, so the same input gives the same package.
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

root=.build/deb/authctl
rm -rf .build/deb
mkdir -p "$root/DEBIAN" .build/deb/debian .build/dist
umask 022
make --silent install DESTDIR="$PWD/$root" PREFIX=/usr ZSH_FUNCTIONS=zsh/vendor-completions

find "$root/usr/share/man" -type f -exec gzip -9n {} +
find "$root/usr/share/man" -type l | while read -r link; do
  ln -sf "$(readlink "$link").gz" "$link.gz"
  rm "$link"
done

documents=$root/usr/share/doc/authctl
install -d "$documents"
install -m 644 packaging/copyright README.md SECURITY.md "$documents/"
gzip -9n <CHANGELOG.md >"$documents/changelog.gz"
gzip -9n >"$documents/changelog.Debian.gz" <<END
authctl ($version) stable; urgency=medium

  * New upstream version; see changelog.gz.

 -- $maintainer <$email>  $(date -uR -d "@$SOURCE_DATE_EPOCH")
END

printf 'Source: authctl\n\nPackage: authctl\nArchitecture: any\n' >.build/deb/debian/control
linked=$(cd .build/deb && dpkg-shlibdeps -O -eauthctl/usr/bin/authctl)
cat >"$root/DEBIAN/control" <<END
Package: authctl
Version: $version
Section: net
Priority: optional
Architecture: $architecture
Maintainer: $maintainer <$email>
Installed-Size: $(du -k -s --apparent-size "$root/usr" | cut -f 1)
Depends: ${linked#shlibs:Depends=}, libcurl4, libsecret-1-0, libssl3
Recommends: ca-certificates, libjq1
Suggests: gnome-keyring | kwalletmanager | keepassxc, libqrencode4
Conflicts: authd
Description: sign in to an HTTP API once, then send requests
 authctl signs in to an HTTP API, stores the session in the keyring, renews it
 before it expires, and sends requests with it, from a terminal and in scripts.
 .
 It works with the sign-in that the API already has: JSON, forms, HTTP Basic,
 tokens, cookies, API keys, one-time codes. It gives tokens to other programs,
 and is a credential helper for git, docker, Bazel, cargo, kubectl and curl. It
 sends a credential only to the origin that issued it.
END
(cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum) >"$root/DEBIAN/md5sums"
find "$root" -exec touch -hd "@$SOURCE_DATE_EPOCH" {} +
package=.build/dist/authctl_${version}_$architecture.deb
dpkg-deb --root-owner-group --build "$root" "$package" >/dev/null
echo "Built $package, $(stat -c %s "$package") bytes"
