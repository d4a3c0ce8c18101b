# commit.sh PACKAGE OUTPUT: writes a Swift file that names the commit from which this is built, or
# none: where there is no git, or PACKAGE is not a repository of its own, as when it was unpacked.
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
# Left alone when it says that already: nothing has to be compiled again then.
if [ ! -f "$2" ] || [ "$(cat "$2")" != "$text" ]; then
  printf '%s\n' "$text" >"$2.new"
  mv "$2.new" "$2"
fi
