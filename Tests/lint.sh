#!/usr/bin/env bash
# The rules of the house that a compiler does not know: one door to each outside thing, and what
# nobody may write. `make lint` runs it behind swift-format.
#
#   Tests/lint.sh [FOLDER]     looks at the repository in FOLDER, or at its own
#
# Ends with 0 when nothing was found, with 1 and one line for each finding otherwise.

set -u
export LC_ALL=C
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/..}" || exit 2
[ -f Package.swift ] && [ -d Sources ] || { echo "lint: no package in $PWD" >&2; exit 2; }

found=0

report() { # MESSAGE: what stands on standard input is a list of findings.
  local line
  while IFS= read -r line; do
    printf '%s\n    %s\n' "$line" "$1"
    found=1
  done
}

# Lines that match, as FILE:LINE:TEXT, but for those that are comments as a whole. The folders
# named are searched for Swift and C.
code() { # PATTERN FOLDER...
  local pattern=$1
  shift
  grep -rnHP --include='*.swift' --include='*.c' --include='*.h' -e "$pattern" -- "$@" 2>/dev/null |
    grep -vP '^[^:]+:\d+:\s*//'
}

# PATTERN may stand in these files of Sources and nowhere else; and it must stand in each of them,
# so that a rule whose file has been renamed does not fall asleep.
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
  Sources/AuthKit/HTTP/Curl/Curl*.swift Sources/AuthKit/HTTP/URL/WebURL.swift
door 'libsecret is spoken to by these files' "${import}CLibsecret\\b" \
  Sources/AuthKit/Stores/SecretService/SecretService{Bus,Prompt}.swift
door 'libcrypto is called by this one file' "${import}CCrypto\\b" \
  Sources/AuthKit/Base/Crypto.swift
door 'libjq is called by this one file' "${import}CJQ\\b" \
  Sources/AuthKit/Base/JSON/JQFilter.swift
door 'TOML is read and edited by this one file' '\bTOML(Parser|Edit)\.' \
  Sources/AuthKit/Profiles/TOMLDocument.swift Sources/AuthKit/Profiles/TOML/TOMLEdit.swift
never 'the TOML reader could be lifted out: it knows no type of another room' \
  '\b(Failure|JSON\w+|DisplayText|Secret|Profile\w*|import)\b' Sources/AuthKit/Profiles/TOML
door 'libraries are opened by the C targets' '\bdlopen\s*\(' \
  Sources/C{Crypto,Curl,JQ,Libsecret}/shim.c
door 'a function of C has its prototype of a header: by CSystem, or in a C target' '\bdlsym\s*\(' \
  Sources/C{Crypto,Curl,JQ,Libsecret}/shim.c
never 'the status of a child is read by CSystem' '\bstatus\s*(&\s*0x|>>)' Sources
door 'the one exit is in Main.swift' "$exit" \
  Sources/authctl/Main.swift
exits=$(code "$exit" Sources/authctl/Main.swift | tail -n +2)
[ -z "$exits" ] || report 'the one exit is there already' <<<"$exits"
# Read by Main; cleaned before anything is loaded.
door 'the environment is read in Main.swift and handed on' \
  '\b(secure_)?getenv\s*\(|\benviron\b|ProcessInfo' \
  Sources/authctl/Main.swift Sources/AuthKit/Base/Hardening.swift Sources/CJQ/shim.c
door 'the clock is read in Clock.swift' \
  'CLOCK_REALTIME|(?<![\w.])time\s*\(\s*(nil|NULL|&)|gettimeofday|\bDate\s*\(|SystemClock' \
  Sources/authctl/System/Clock.swift
door "authctl's own variables are listed in Variable.swift" '"AUTHCTL_\w*"' \
  Sources/AuthKit/Base/Variable.swift
# Bounds of waiting, which no test sets.
door 'time limits are kept by the store and by password commands; waits are timed by Clock.uptime' \
  'CLOCK_MONOTONIC|ContinuousClock|SuspendingClock' Sources/authctl/System/Clock.swift \
  Sources/AuthKit/Stores/SecretService/SecretServiceBus.swift Sources/authctl/System/SecretCommand.swift
door 'questions are asked by Terminal.swift' '"/dev/tty"|\btcsetattr\s*\(|\bgetpass\s*\(' \
  Sources/authctl/System/Terminal.swift
# Whatever a terminal gets passes StandardStream or Terminal (rule B4). The other files look
# at descriptors 0, 1 and 2, or hand them to a child.
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
  Sources/AuthKit/Base/Files/{Descriptor,AtomicFile}.swift
# A number on a line with an exit code, but 0; the table itself is the one place that has them.
exit_code='exitCode\b.*(?<![\w.])[1-9]\d*\b|(?<![\w.])[1-9]\d*\b.*\bexitCode\b'
exit_code+='|(?<![\w.])exit\s*\(\s*[1-9]'
never 'numbers of exit codes stand in Failure.swift' "$exit_code" Sources
numbers=$(code '^\s*case (\.\w+,? ?)+: \d{1,3}$' Sources | grep -v '^Sources/AuthKit/Base/Failure.swift:')
[ -z "$numbers" ] || report 'numbers of exit codes stand in Failure.swift' <<<"$numbers"
never 'a command ends with 0 or throws a Failure' '\breturn\s+[1-9]\d*\s*$' Sources/authctl/Commands
never 'what is true of one preset stands in its TOML file' \
  '"(express-jwt|vapor-basic|rails-jwt|rails-turbo|rails-selfie)"' Sources

# Imports go one way.
never 'Foundation costs 5 ms at each start and 50 MB; Glibc has it, or FoundationEssentials' \
  "${import}Foundation(Networking|XML|Internationalization)?\\b" Sources
never 'AuthKit knows nothing of command lines' "${import}ArgumentParser\\b" \
  Sources/AuthKit Sources/C{Crypto,Curl,JQ,Libsecret,System}
never 'AuthKit knows nothing of authctl' "${import}authctl\\b" Sources

# In Swift "\r\n" is one Character, and a letter with a combining mark is another one than without:
# what guards HTTP and D-Bus looks at utf8 bytes.
wire='contains\s*\(\s*"\\[rn]|hasPrefix\s*\(|hasSuffix\s*\('
wire+='|(?<!utf8)\.split\s*\(\s*(separator:\s*|whereSeparator:\s*\\\.)["i]|^\s*\.split\s*\(\s*separator:\s*"'
wire+='|\.components\s*\(|(firstIndex|lastIndex)\s*\(\s*of:\s*"|\.isNewline\b'
never 'compare utf8 bytes here, not Characters' "$wire" \
  Sources/AuthKit/Base/{Redactor,SecretForms}.swift Sources/AuthKit/HTTP \
  Sources/AuthKit/SignIn Sources/AuthKit/Stores

# What nobody may write.
never 'not in this house' \
  '@unchecked\s+Sendable|nonisolated\s*\(\s*unsafe\s*\)|\bfatalError\s*\(|\btry!|\bas!' Sources
never 'AuthKit is synchronous' '\basync\b|\bawait\b' Sources/AuthKit
never 'no profile key may name something to run' '"[\w.]*(?i:command|exec|program)[\w.]*"' \
  Sources/AuthKit/Profiles/ProfileSchema.swift
keys=$(grep -nHPi '^\s*\[?[\w."]*(command|exec|program)[\w."]*\s*[]=]' \
  Sources/AuthKit/Profiles/Presets/*.toml)
[ -z "$keys" ] || report 'no profile key may name something to run' <<<"$keys"

# README.md and the rules are one page each for those who search them; what is generated or
# a picture nobody reads as code.
large=$(find . \( -path './.*' -o -path ./README.md -o -path ./docs/security.md \) -prune -o \
  -type f -size +19999c \
  -printf '%P: %s bytes\n')
[ -z "$large" ] || report 'a file has less than 20 kB' <<<"$large"

# Citations, rules and the tests that prove them.
"$here/lint-documents.sh" "$PWD" || found=1

[ "$found" -eq 0 ] && echo "lint: every door is the only one"
exit "$found"
