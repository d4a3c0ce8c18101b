#!/usr/bin/env bash
# Runs the tests of the program against a build with a sanitizer. A report of the sanitizer is a
# failure, whatever the test says that made it.
#
#   Tests/sanitizers/run.sh asan|tsan [OPTION...]    options of swift test: --filter OAuthTests
#   Tests/sanitizers/run.sh check       only checks the lists, and that planted mistakes are reported
#
# skip.txt has the tests that are not run, suppressions.txt the reports of other libraries that are
# not ours. Exits with 1 if there is a report, or a test fails.

set -eu -o pipefail
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."

fail() {
  echo "sanitizers: $1" >&2
  exit 1
}

compile() { # asan|tsan FOLDER: what is linked into the program; reports go into FOLDER/reports.
  mkdir -p "$2/reports"
  # The tests run the program as another user, too.
  chmod 1777 "$2/reports"
  rm -f "$2"/reports/*
  clang -g -O1 -fsanitize="${name[$1]}" -c "$here/program.c" -o "$2/program.o" \
    -DREPORTS="\"$2/reports/report\"" -DSUPPRESSIONS="\"$here/suppressions.txt\"" \
    -DSYMBOLIZER="\"$(clang --print-prog-name=llvm-symbolizer)\""
}

plant() { # MISTAKE REPORT FOLDER PROGRAM [ARGUMENT...]: it must be reported.
  local status=0
  AUTHCTL_PLANT=$1 "${@:4}" >/dev/null 2>&1 || status=$?
  [ "$status" = 99 ] || fail "the planted mistake \"$1\" ends the program with $status, not 99"
  grep -qs "$2" "$3"/reports/* || fail "the planted mistake \"$1\" is not reported"
  rm -f "$3"/reports/*
}

# Each entry has its reason: in skip.txt at the end of its line, in suppressions.txt above it.
check_lists() {
  awk '/^#|^$/ { next } NF < 4 || $1 !~ /^(asan|tsan)$/ { print; bad = 1 } END { exit bad }' \
    "$here/skip.txt" || fail "an entry of skip.txt without a reason"
  awk '/^#/ { said = 1; next } NF && !said { print; bad = 1 } { said = 0 } END { exit bad }' \
    "$here/suppressions.txt" || fail "an entry of suppressions.txt without a reason"
}

declare -A name=([asan]=address [tsan]=thread)
declare -A mistake=([asan]=overflow [tsan]=race)
declare -A report=([asan]='heap-buffer-overflow .*program\.c' [tsan]='data race .*program\.c')
check_lists
if [ "${1-}" = check ]; then
  folder=$(mktemp -d)
  trap 'rm -rf "$folder"' EXIT
  for sanitizer in asan tsan; do
    compile "$sanitizer" "$folder"
    echo 'print("a Swift program")' |
      swiftc -sanitize="${name[$sanitizer]}" -module-name Program "$folder/program.o" -o "$folder/program" - \
        2>"$folder/log" || fail "$(cat "$folder/log")"
    plant "${mistake[$sanitizer]}" "${report[$sanitizer]}" "$folder" "$folder/program"
    "$folder/program" >/dev/null || fail "$sanitizer: a program without a mistake fails"
  done
  exit
fi

sanitizer=${1:?usage: Tests/sanitizers/run.sh asan|tsan [OPTION...]}
shift
folder=$PWD/.build/$sanitizer
compile "$sanitizer" "$folder"
# The runtime of Swift stays a library of its own; the tests need no sanitizer.
options=(--scratch-path "$folder" -c release --sanitize="${name[$sanitizer]}" --product authctl -Xswiftc -g
  -Xcc -g -Xlinker "$folder/program.o")
swift build "${options[@]}" </dev/null
program=$(swift build "${options[@]}" --show-bin-path)/authctl
plant "${mistake[$sanitizer]}" "${report[$sanitizer]}" "$folder" "$program" --version
if [ "$sanitizer" = tsan ]; then
  # The connection to the keyring that is made while the options are read.
  plant unjoined SecretServiceAhead "$folder" env -i "HOME=$folder" AUTHCTL_PLANT=unjoined \
    DBUS_SESSION_BUS_ADDRESS=unix:path=/nowhere "$program" status
fi

skips=()
while read -r which test reason; do
  [ "$which" = "$sanitizer" ] || continue
  echo "skipped: $test: $reason"
  skips+=(--skip "$test")
done < <(grep -v '^#' "$here/skip.txt")

log=$folder/test.log
status=0
[ $# -gt 0 ] || set -- --filter EndToEndTests
AUTHCTL_BINARY=$program AUTHCTL_TEST_LIMIT=600 \
  swift test --skip-build "$@" "${skips[@]}" </dev/null >"$log" 2>&1 || status=$?
grep -aE '^✘|error:' "$log" || true
grep -aE 'Test run with' "$log" || fail "no test has run: $log"
# AddressSanitizer says so of itself where a test keeps it from finding the bounds of the stack.
grep -sLv '__asan_handle_no_return\|^False positive\|^For details' "$folder"/reports/* | xargs -r rm -- || true
reports=("$folder"/reports/*)
[ -e "${reports[0]}" ] || reports=()
[ ${#reports[@]} = 0 ] || cat "${reports[@]}"
echo "$sanitizer: ${#reports[@]} reports"
[ ${#reports[@]} = 0 ] && exit $status
exit 1
