#!/usr/bin/env bash
# Checks that comments and documents agree: every citation exists, each rule has tests, and each
# test that a rule names exists. Tests/lint.sh runs it.
#
#   Tests/lint-documents.sh [FOLDER]     checks the repository in FOLDER, or its own
#
# Exits with 0 if it finds nothing, otherwise with 1 and one line for each finding.

set -u
export LC_ALL=C
cd "${1:-$(dirname "$0")/..}" || exit 2
rules=docs/security.md design=docs/design.md
[ -f "$rules" ] && [ -f "$design" ] || { echo "lint: no $rules and $design in $PWD" >&2; exit 2; }

found=0

report() { # MESSAGE: standard input is a list of findings.
  local line
  while IFS= read -r line; do
    printf '%s\n    %s\n' "$line" "$1"
    found=1
  done
}

# The citations in comments and documents, as FILE:LINE KEY, where KEY is `rule A16` or `design 4`;
# a list of several is split. The lines of a comment or paragraph are joined first, since it may
# break anywhere; LINE is its first.
citations() { # FILE-OR-FOLDER...
  find "$@" -type f \
    \( -name '*.swift' -o -name '*.[ch]' -o -name '*.sh' -o -name '*.py' -o -name '*.md' \) \
    -exec awk '
      function flush(    rest, list, word, kind) {
        rest = text
        while (match(rest, /([Rr]ules?|[Dd]esign) ([ABCT][0-9]+|[0-9]+)((, and |, | and | to )([ABCT][0-9]+|[0-9]+))*/)) {
          list = substr(rest, RSTART, RLENGTH)
          rest = substr(rest, RSTART + RLENGTH)
          kind = tolower(substr(list, 1, 1)) == "r" ? "rule" : "design"
          while (match(list, /[ABCT]?[0-9]+/)) {
            word = substr(list, RSTART, RLENGTH)
            list = substr(list, RSTART + RLENGTH)
            if ((kind == "rule") == (word ~ /^[ABCT]/)) print place " " kind " " word
          }
        }
        text = ""
      }
      FNR == 1 { flush() }
      FILENAME ~ /\.md$/ {
        if ($0 == "") { flush(); next }
        if (text == "") place = FILENAME ":" FNR
        text = text " " $0
        gsub(/ +/, " ", text)
        next
      }
      match($0, /^[ \t]*(\/\/\/?|#)/) {
        if (text == "") place = FILENAME ":" FNR
        text = text " " substr($0, RLENGTH + 2)
        gsub(/ +/, " ", text)
        next
      }
      { flush(); if (/\/\/|# /) { place = FILENAME ":" FNR; text = $0; flush() } }
      END { flush() }' {} +
}

# The rules with the tests that each names: `RULE SUITE/TEST`, or `RULE -` if it names none.
named=$(awk '
  /^#/ { if (rule != "" && !count) print rule " -"; rule = ""; inTests = 0 }
  /^### [ABCT][0-9]+ / { rule = $2; count = 0 }
  /^\*\*Tests\.\*\*/ { inTests = 1 }
  /^$/ { inTests = 0 }
  rule != "" && inTests {
    line = $0
    while (match(line, /`[A-Za-z0-9_]+\/[A-Za-z0-9_]+`/)) {
      print rule " " substr(line, RSTART + 1, RLENGTH - 2)
      count++
      line = substr(line, RSTART + RLENGTH)
    }
  }
  END { if (rule != "" && !count) print rule " -" }' "$rules")

# The tests, as SUITE/TEST: a function after @Test, in the enclosing type at the left margin.
tests=$(find Tests -type f -name '*.swift' -exec awk '
  FNR == 1 { suite = ""; isTest = 0 }
  /^(@[A-Za-z].* )?((final|public|private) )*(struct|class|enum|actor|extension) / {
    match($0, /(struct|class|enum|actor|extension) [A-Za-z0-9_]+/)
    suite = substr($0, RSTART, RLENGTH)
    sub(/^[a-z]+ /, "", suite)
  }
  /@Test/ { isTest = 1 }
  isTest && match($0, /func `?[A-Za-z0-9_]+/) {
    name = substr($0, RSTART + 5, RLENGTH - 5)
    sub(/`/, "", name)
    print suite "/" name
    isTest = 0
  }' {} + | sort -u)

cited=$(citations Sources Tests Plugins docs CONTRIBUTING.md README.md SECURITY.md 2>/dev/null)
known=$(
  cut -d' ' -f1 <<<"$named" | sort -u | sed 's/^/rule /'
  # Numbers reserved for features that are not built.
  sed -n '/^## Not built yet/,$p' "$rules" | grep -oE '\b[ABCT][0-9]+\b' | sed 's/^/rule /'
  sed -nE 's/^## ([0-9]+)\. .*/design \1/p' "$design"
)

findings=$(awk 'NR == FNR { known[$0]; next } { key = $0; sub(/^[^ ]* /, "", key) }
  !(key in known) && $0 != ""' <(echo "$known") <(echo "$cited"))
[ -z "$findings" ] || report "neither $rules nor $design has what this cites" <<<"$findings"

findings=$(sed -nE 's/^(.*) -$/\1/p' <<<"$named")
[ -z "$findings" ] || report "this rule of $rules names no test" <<<"$findings"

findings=$(awk 'NR == FNR { cited[$3]; next } !($1 in cited) && !seen[$1]++ { print $1 }' \
  <(grep '^Tests/' <<<"$cited") <(echo "$named"))
[ -z "$findings" ] || report "no comment in Tests cites this rule" <<<"$findings"

findings=$(awk 'NR == FNR { tests[$0]; next } $2 != "-" && !($2 in tests)' \
  <(echo "$tests") <(echo "$named"))
[ -z "$findings" ] || report "Tests has no such test, which $rules names" <<<"$findings"

# Citations that a reader of the repository cannot open.
findings=$(grep -rnHE --include='*.swift' --include='*.[ch]' --include='*.sh' --include='*.py' \
  -e '^\s*(//|#).*([Cc]ontract,? sections?|[Ss]ecurity rule|(screens|contract|layout|oauth|backends)\.md|\([ABC][0-9]+\))' \
  Sources Tests | grep -v '^Tests/lint-documents.sh:')
[ -z "$findings" ] || report 'cite (rule A16) or (design 4), as CONTRIBUTING.md says' <<<"$findings"

exit "$found"
