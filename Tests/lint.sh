#!/usr/bin/env bash
# Checks the project's rules that a compiler does not know: one door to each outside thing, and
# forbidden constructs. `make lint` runs it after swift-format.
#
#   Tests/lint.sh [FOLDER]     checks the repository in FOLDER, or its own
#
# Exits with 0 if it finds nothing, otherwise with 1 and one line for each finding.

set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/..}" || exit 2
[ -f Package.swift ] && [ -d Sources ] || { echo "lint: no package in $PWD" >&2; exit 2; }

found=0

report() { # MESSAGE: standard input is a list of findings.
  local line
  while IFS= read -r line; do
    printf '%s\n    %s\n' "$line" "$1"
    found=1
  done
}

# Matching lines, as FILE:LINE:TEXT, except comment lines. Searches Swift and C files in the
# folders.
code() { # PATTERN FOLDER...
  local pattern=$1
  shift
  grep -rnHP --include='*.swift' --include='*.c' --include='*.h' -e "$pattern" -- "$@" 2>/dev/null |
    grep -vP '^[^:]+:\d+:\s*//'
}

# PATTERN may occur only in these files of Sources, and must occur in each of them, so that the rule
# still works after a file is renamed.
door() { # MESSAGE PATTERN FILE...
  local message=$1 pattern=$2 hits file
  shift 2
  hits=$(code "$pattern" Sources)
  for file; do
    grep -q "^$file:" <<<"$hits" ||
      report "the rule about it in Tests/lint.sh is stale" <<<"$file: nothing matches $pattern"
    hits=$(grep -v "^$file:" <<<"$hits")
  done
  [ -z "$hits" ] || report "$message" <<<"$hits"
}

never() { # MESSAGE PATTERN FOLDER...
  local message=$1 hits
  shift
  hits=$(code "$@")
  [ -z "$hits" ] || report "$message" <<<"$hits"
}

import='^\s*(@\S+\s+)*((public|package|internal|fileprivate|private)\s+)?import\s+((struct|enum|class|func|var|let|typealias|protocol)\s+)?'

# Doors.
exit='(\bGlibc\.|(?<![\w.]))(_exit|exit|_Exit|quick_exit)\s*\('
door 'libcurl is spoken to by these files of one room' "${import}CCurl\\b" \
  Sources/AuthKit/HTTP/Curl/{Curl*,ConnectionAhead}.swift Sources/AuthKit/HTTP/URL/WebURL.swift
door 'libsecret is spoken to by these files' "${import}CLibsecret\\b" \
  Sources/AuthKit/Stores/SecretService/{SecretService{Bus,Prompt,Values},Bus{Call,Gate},SessionNegotiation}.swift
door 'libcrypto is called by these two files' "${import}CCrypto\\b" \
  Sources/AuthKit/Base/{Crypto,SigningKey}.swift
door 'libjq is called by this one file' "${import}CJQ\\b" \
  Sources/AuthKit/Base/JSON/JQFilter.swift
door 'libqrencode is called by this one file' "${import}CQRencode\\b" \
  Sources/AuthKit/Base/QRPicture.swift
door 'TOML is read and edited by this one file' '\bTOML(Parser|Edit)\.' \
  Sources/AuthKit/Profiles/TOMLDocument.swift Sources/AuthKit/Profiles/TOML/TOMLEdit.swift
never 'the TOML reader could be lifted out: it knows no type of another room' \
  '\b(Failure|JSON\w+|DisplayText|Secret|Profile\w*|import)\b' Sources/AuthKit/Profiles/TOML
door 'libraries are opened by the C targets' '\bdlopen\s*\(' \
  Sources/C{Crypto,JQ,QRencode}/shim.c Sources/CSystem/stand_in.c
door 'a function of C has its prototype of a header: by CSystem, or in a C target' '\bdlsym\s*\(' \
  Sources/C{Crypto,Curl,JQ,Libsecret,QRencode}/shim.c
never 'the status of a child is read by CSystem' '\bstatus\s*(&\s*0x|>>)' Sources
door 'the one exit is in Main.swift' "$exit" \
  Sources/authctl/Main.swift
exits=$(code "$exit" Sources/authctl/Main.swift | tail -n +2)
[ -z "$exits" ] || report 'the one exit is there already' <<<"$exits"
# Main reads the environment; Hardening cleans it before anything is loaded.
never 'CommandLine has no arguments where /proc cannot be read: use Arguments' \
  '\bCommandLine\.' Sources
door 'the environment is read in Main.swift and handed on' \
  '\b(secure_)?getenv\s*\(|\benviron\b|ProcessInfo' \
  Sources/authctl/Main.swift Sources/AuthKit/Base/Hardening.swift Sources/CJQ/shim.c
door 'the clock is read in Clock.swift' \
  'CLOCK_REALTIME|(?<![\w.])time\s*\(\s*(nil|NULL|&)|gettimeofday|\bDate\s*\(|SystemClock' \
  Sources/authctl/System/Clock.swift
door "authctl's own variables are listed in Variable.swift" '"AUTHCTL_\w*"' \
  Sources/AuthKit/Base/Variable.swift
# Time limits that no test sets.
door 'time limits are kept with MonotonicClock.swift' \
  'CLOCK_MONOTONIC|ContinuousClock|SuspendingClock' Sources/AuthKit/Base/MonotonicClock.swift \
  Sources/AuthKit/Base/BackgroundThread.swift
door 'questions are asked by Terminal.swift' '"/dev/tty"|\btcsetattr\s*\(|\bgetpass\s*\(' \
  Sources/authctl/System/Terminal.swift
# All output to a terminal passes StandardStream or Terminal (rule B4). The other files only inspect
# descriptors 0, 1 and 2, or pass them to a child.
prints='(?<![\w.])(print|debugPrint|dump|puts|fputs|putchar|fwrite|perror|[vdfs]*printf)\s*\('
prints+='|STD(OUT|ERR)_FILENO|,\s*(stdout|stderr)\s*\)|"/dev/(stdout|stderr|fd/[12])"'
door 'standard output and standard error are written by StandardStream.swift' "$prints" \
  Sources/authctl/System/StandardStream.swift Sources/authctl/Help/Manual.swift \
  Sources/authctl/System/Secret{Command,Input}.swift Sources/AuthKit/Base/Hardening.swift
writes='\bGlibc\.p?writev?\s*\(|(?<![\w.])p?writev?\s*\(\s*[\w.]+(\[\d\])?\s*,\s*&?[\w.]+\s*,\s*\w'
writes+='|\bDescriptor\.write\s*\('
door 'write(2) is called by these files, each for descriptors of its own' "$writes" \
  Sources/authctl/System/{StandardStream,Terminal,File,Signals}.swift \
  Sources/authctl/Help/Manual.swift Sources/AuthKit/HTTP/BodyFile.swift \
  Sources/AuthKit/Base/Files/{Descriptor,AtomicFile}.swift Sources/CSystem/stand_in.c
# A number other than 0 on a line with an exit code; only the table itself may have them.
exit_code='exitCode\b.*(?<![\w.])[1-9]\d*\b|(?<![\w.])[1-9]\d*\b.*\bexitCode\b'
exit_code+='|(?<![\w.])exit\s*\(\s*[1-9]'
never 'numbers of exit codes stand in Failure.swift' "$exit_code" Sources
numbers=$(code '^\s*case (\.\w+,? ?)+: \d{1,3}$' Sources | grep -v '^Sources/AuthKit/Base/Failure.swift:')
[ -z "$numbers" ] || report 'numbers of exit codes stand in Failure.swift' <<<"$numbers"
never 'a command ends with 0 or throws a Failure' '\breturn\s+[1-9]\d*\s*$' Sources/authctl/Commands
never 'what is true of one preset stands in its TOML file' \
  '"(express-jwt|vapor-basic|rails-jwt|rails-turbo|rails-selfie)"' Sources

# Imports are allowed in one direction.
never 'Foundation costs 5 ms at each start and 50 MB; Glibc has it, or FoundationEssentials' \
  "${import}Foundation(Networking|XML|Internationalization)?\\b" Sources
never 'AuthKit knows nothing of command lines' "${import}ArgumentParser\\b" \
  Sources/AuthKit Sources/C{Crypto,Curl,JQ,Libsecret,System}
never 'AuthKit knows nothing of authctl' "${import}authctl\\b" Sources

# In Swift "\r\n" is one Character, and a letter with a combining mark differs from the letter
# alone: code that guards HTTP and D-Bus compares utf8 bytes.
wire='contains\s*\(\s*"\\[rn]|hasPrefix\s*\(|hasSuffix\s*\('
wire+='|(?<!utf8)\.split\s*\(\s*(separator:\s*|whereSeparator:\s*\\\.)["i]|^\s*\.split\s*\(\s*separator:\s*"'
wire+='|\.components\s*\(|(firstIndex|lastIndex)\s*\(\s*of:\s*"|\.isNewline\b'
never 'compare utf8 bytes here, not Characters' "$wire" \
  Sources/AuthKit/Base/{Redactor,SecretForms}.swift Sources/AuthKit/HTTP \
  Sources/AuthKit/SignIn Sources/AuthKit/Stores

# Forbidden constructs.
never 'not in this house' \
  '@unchecked\s+Sendable|nonisolated\s*\(\s*unsafe\s*\)|\bfatalError\s*\(|\btry!|\bas!' Sources
never 'AuthKit is synchronous' '\basync\b|\bawait\b' Sources/AuthKit
never 'no profile key may name something to run' '"[\w.]*(?i:command|exec|program)[\w.]*"' \
  Sources/AuthKit/Profiles/ProfileSchema.swift
keys=$(grep -nHPi '^\s*\[?[\w."]*(command|exec|program)[\w."]*\s*[]=]' \
  Sources/AuthKit/Profiles/Presets/*.toml)
[ -z "$keys" ] || report 'no profile key may name something to run' <<<"$keys"

# README.md, the promises and the rules are one page each, so that readers can search them; generated files and
# pictures are not read as code.
large=$(find . \( -path './.*' -o -path ./README.md -o -path ./docs/design.md -o -path ./docs/security.md \
  -o -path ./packaging/functions.txt \) -prune -o \
  -type f -size +19999c \
  -printf '%P: %s bytes\n')
[ -z "$large" ] || report 'a file has less than 20 kB' <<<"$large"

# Citations, rules and the tests that prove them.
"$here/lint-documents.sh" "$PWD" || found=1

[ "$found" -eq 0 ] && echo "lint: every door is the only one"
exit "$found"
