# embed.sh OUTPUT PRESET.toml...: writes a Swift file that contains the texts of the presets. It
# uses raw strings with three number signs, whose end delimiter does not occur in a preset.
set -eu
output=$1
shift
{
  echo '/// Written by Plugins/EmbedPresets from Profiles/Presets; not to be edited.'
  echo 'enum EmbeddedPresets {'
  echo '  static let texts: [(name: String, text: String)] = ['
  for file; do
    name=${file##*/}
    printf '    (name: "%s", text: ###"""\n' "${name%.toml}"
    cat "$file"
    printf '\n"""###),\n'
  done
  echo '  ]'
  # For the help of `login`: each command would wrap it anew, as its name is looked up among all.
  echo '  static let list = """'
  for file; do name=${file##*/}; echo "${name%.toml}"; done | grep -vx defaults | LC_ALL=C sort |
    tr '\n' ' ' | fold -s -w 76 | sed 's/^/  /; s/ *$//'
  printf '\n"""\n}\n'
} >"$output.new"
mv "$output.new" "$output"
