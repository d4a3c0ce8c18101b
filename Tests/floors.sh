#!/usr/bin/env bash
# Proves the layers ("floors") with the compiler: type-checks the files of each layer together with
# only those of the layers it may use. A use of any other layer is then "cannot find X in scope".
# `make lint` runs it after `swift build`.
#
#   Tests/floors.sh [FOLDER]    checks the repository in FOLDER, or its own
#
# Exits with 0 if every layer uses only its own, otherwise with 1 and the compiler's messages.

set -u
cd "${1:-$(dirname "$0")/..}" || exit 2
build=$(swift build --show-bin-path) || exit 2
generated=.build/plugins/outputs/*/AuthKit/destination/EmbedPresets

# FLOOR: the layers it may use. All other layers are above it or beside it.
authkit='
Base:
Stores: Base
HTTP: Base
Profiles: Base Stores HTTP
SignIn: Base Stores HTTP Profiles
Sessions: Base Stores HTTP Profiles SignIn
Detection: Base Stores HTTP Profiles SignIn
FromCurl: Base Stores HTTP Profiles SignIn
OAuth: Base Stores HTTP Profiles SignIn
'
authctl='
System:
App: System
Requests: System App
SignIn: System App
Helpers: System App
Doctor: System App
Commands: System App Requests SignIn Helpers Doctor
Help: System App Requests SignIn Helpers Doctor Commands
'

common=(-typecheck -wmo -parse-as-library -swift-version 6 -suppress-warnings
  -enable-upcoming-feature ExistentialAny -enable-upcoming-feature InternalImportsByDefault
  -enable-upcoming-feature MemberImportVisibility
  -package-name "$(basename "$PWD" | tr '[:upper:]' '[:lower:]')" -I "$build/Modules")
for map in Sources/*/include/module.modulemap "$build"/*.build/module.modulemap; do
  [ -f "$map" ] && common+=(-Xcc "-fmodule-map-file=$PWD/${map#"$PWD"/}")
done
# The headers in Package.swift.
for folder in /usr/include/{libsecret-1,gio-unix-2.0,glib-2.0} /usr/lib{,64,/*-linux-gnu}/glib-2.0/include; do
  [ -d "$folder" ] && common+=(-Xcc "-I$folder")
done

# check MODULE; reads the layers from standard input.
check() {
  local module=$1 floor below name files status=0
  while IFS=: read -r floor below; do
    [ -n "$floor" ] || continue
    files=()
    for name in $floor $below; do
      mapfile -t -O "${#files[@]}" files < <(find "Sources/$module/$name" -name '*.swift')
    done
    # The root command names every command; the help needs them all.
    [ "$floor" = Help ] && files+=(Sources/authctl/Authctl.swift)
    # Generated files belong to the layer that uses them.
    if [ "$module" = AuthKit ]; then
      mapfile -t -O "${#files[@]}" files < <(find $generated -name 'EmbeddedCommit.swift')
      case " $floor $below " in *' Profiles '*)
        mapfile -t -O "${#files[@]}" files < <(find $generated -name 'EmbeddedPresets.swift') ;;
      esac
    fi
    swiftc "${common[@]}" -module-name "$module" "${files[@]}" >"$work/$module.$floor" 2>&1 || {
      status=1
      echo "Sources/$module/$floor uses more than: ${below:- nothing}"
      grep ': error: ' "$work/$module.$floor" | sed "s|^$PWD/||; s|^|    |" | sort -u
    }
  done
  return "$status"
}

# A folder that belongs to no layer would not be checked.
for folder in Sources/AuthKit/*/ Sources/authctl/*/; do
  name=$(basename "$folder")
  module=$(basename "$(dirname "$folder")")
  floors=${authkit}
  [ "$module" = authctl ] && floors=${authctl}
  grep -q "^$name:" <<<"$floors" || { echo "$folder: Tests/floors.sh does not say what it may use"; exit 1; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
check AuthKit <<<"$authkit" &
first=$!
check authctl <<<"$authctl"
status=$?
wait "$first" || status=1
[ "$status" -eq 0 ] && echo "floors: nothing looks upwards"
exit "$status"
