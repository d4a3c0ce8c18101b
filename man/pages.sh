#!/bin/sh
# Writes the manual pages of authctl and of its commands: the output of --help and of the help
# topics as mdoc, combined with the hand-written man/parts. `make docs` runs it; a test compares.
#
#   man/pages.sh AUTHCTL FOLDER     runs the program AUTHCTL, writes FOLDER/*.1
#
# parts/authctl.1 is the overview, in which the lines @commands@, @options@, @environment@ and
# @exit-codes@ are replaced. parts/authctl-NAME.1 adds to the page of one command: the text before
# its first .Sh ends the DESCRIPTION, the rest follows OPTIONS. parts/authctl.1 sets the date of all
# pages.

set -eu
export LC_ALL=C COLUMNS=80
authctl=$1 folder=$2
man=$(dirname "$0")
date=$(sed -n 's/^\.Dd //p' "$man/parts/authctl.1")

page() { # WORDS: writes the page of this command and those of its subcommands.
  name=authctl-$(echo "$1" | tr ' ' -)
  part=$man/parts/$name.1
  [ -f "$part" ] || part=/dev/null
  # shellcheck disable=SC2086 # $1 is a list of words.
  help=$("$authctl" $1 --help)
  printf '%s\n' "$help" |
    awk -v words="$1" -v date="$date" -v part="$part" -f "$man/mdoc.awk" -f "$man/page.awk" \
      >"$folder/$name.1"
  for below in $(printf '%s\n' "$help" |
    sed -n '/^SUBCOMMANDS:/,$s/^  \([a-z][-a-z]*\).*/\1/p'); do
    page "$1 $below"
  done
}

lists() { # Replaces the lines @NAME@ with lists.
  while IFS= read -r line; do
    case $line in
      @commands@) "$authctl" help | awk -v kind=commands -f "$man/mdoc.awk" -f "$man/list.awk" ;;
      @options@) "$authctl" status --help | awk -v only="GLOBAL OPTIONS" -f "$man/mdoc.awk" -f "$man/page.awk" ;;
      @*@) topic=${line#@} && "$authctl" help "${topic%@}" | awk -f "$man/mdoc.awk" -f "$man/list.awk" ;;
      *) printf '%s\n' "$line" ;;
    esac
  done
}

lists <"$man/parts/authctl.1" >"$folder/authctl.1"
for command in $("$authctl" help | sed -n '/^HELP TOPICS/q; s/^  \([a-z][-a-z]*\)  .*/\1/p'); do
  page "$command"
done
