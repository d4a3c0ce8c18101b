#!/usr/bin/env bash
# Runs fuzzers and prints a table of what they did; `make fuzz` builds them first.
#
#   Tests/Fuzz/run.sh FOLDER TIME [TARGET...]
#
# FOLDER has the program `fuzz`, TIME is in seconds for each target; without targets, all run. JOBS
# run at a time (1). FOLDER/corpus keeps the inputs that reach new code, for the next run.
# FOLDER/found has the inputs that break a property, crash, or take 10 s or 1 GiB, and FOLDER/log
# the messages. Exits with 1 if there is one.

set -u
here=$(cd "$(dirname "$0")" && pwd)
folder=$1 seconds=$2
shift 2
[ $# -gt 0 ] || set -- $(ls "$here/corpus")

# The backtrace of Swift takes minutes with these programs; AddressSanitizer has its own. It cannot
# see pointers that Swift keeps beside other bits: `make test-valgrind` looks for leaks.
export SWIFT_BACKTRACE=enable=no TZ=UTC ASAN_OPTIONS=detect_leaks=0

# Prints: target, cases, edges that were reached, findings, seconds.
run() {
  local target=$1 log=$folder/log/$1 words=$here/words/$1 started=$SECONDS
  mkdir -p "$folder/corpus/$target" "$folder/found/$target" "$folder/log"
  [ -f "$words" ] && words=-dict=$words || words=-max_len=4096
  FUZZ_TARGET=$target timeout -k 5 $((seconds + 120)) nice -n 19 "$folder/fuzz" \
    -max_total_time="$seconds" -timeout=10 -rss_limit_mb=1024 -max_len=4096 -print_final_stats=1 \
    -artifact_prefix="$folder/found/$target/" "$words" "$folder/corpus/$target" \
    "$here/corpus/$target" >"$log" 2>&1
  printf '%-10s %12s %8s %8s %8s\n' "$target" \
    "$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")" \
    "$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)" \
    "$(find "$folder/found/$target" -type f | wc -l)" "$((SECONDS - started))"
}
export -f run
export here folder seconds

printf '%-10s %12s %8s %8s %8s\n' target cases edges findings seconds
printf '%s\n' "$@" | xargs -P "${JOBS:-1}" -I TARGET bash -c 'run TARGET'
found=$(find "$folder/found" -type f)
[ -z "$found" ] || { echo "Found:" >&2; echo "$found" >&2; exit 1; }
