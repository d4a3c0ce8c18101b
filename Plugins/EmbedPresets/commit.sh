# commit.sh PACKAGE OUTPUT: writes a Swift file that contains the commit of this build, or nil if
# there is no git or PACKAGE is not a repository, for example an unpacked archive.
set -eu
mkdir -p "${2%/*}"
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
commit=nil
if [ -e "$1/.git" ] && name=$(git -C "$1" rev-parse --short=7 HEAD 2>/dev/null); then
  commit="\"$name\""
fi
text="/// Written by Plugins/EmbedPresets; not to be edited.
enum EmbeddedCommit {
  static let text: String? = $commit
}"
# An unchanged file is not written again, so nothing is recompiled.
if [ ! -f "$2" ] || [ "$(cat "$2")" != "$text" ]; then
  printf '%s\n' "$text" >"$2.new"
  mv "$2.new" "$2"
fi
