import Testing

/// completions/ in real shells: the same line and TAB must give the same candidates.
@Suite struct ShellCompletionTests {
  /// A line, and all candidates for its last word, sorted.
  private static let cases: [(line: String, offered: [String])] = [
    ("authctl logi", ["login"]),
    ("authctl -p shop profile de", ["default", "detect"]),
    ("authctl help exi", ["exit-codes"]),
    ("authctl get --igno", ["--ignore-status"]),
    ("authctl status --store p", ["plaintext"]),
    ("authctl status --store=p", ["--store=plaintext"]),
    ("authctl get --errors=", ["--errors=json", "--errors=text"]),
    ("authctl get -p s", ["school", "shop"]),
    ("authctl get -psc", ["-pschool"]),
    ("authctl get -p shop -u a", ["ada@shop.example"]),
    ("authctl get -p shop -u ada@s", ["ada@shop.example"]),
    ("authctl login --preset express-j", ["express-jwt"]),
    ("authctl profile set shop login.pa", ["login.path="]),
    ("authctl get -H Content-T", ["Content-Type:"]),
    ("authctl get -H 'X-One: 1' -H Content-T", ["Content-Type:"]),
    ("authctl get -o rep", ["report.json"]),
    ("authctl get --output=rep", ["--output=report.json"]),
    ("authctl post /x -d @rep", ["@report.json"]),
    ("authctl post /x -d@rep", ["-d@report.json"]),
    ("authctl exec -- authct", ["authctl"]),
    ("authctl exec -- make rep", ["report.json"]),
    ("authctl nothing ", []),
  ]

  private func check(
    _ shell: String, _ driver: String, completions: String
  ) async throws {
    try await Sandbox.with(.none) { box in
      for (name, account) in [("shop", "ada@shop.example"), ("school", "ada@school.example")] {
        try box.write(
          "config/authctl/profiles/\(name).toml",
          "url = \"http://127.0.0.1:1\"\naccount = \"\(account)\"\n")
      }
      try box.write("work/report.json", "{}")
      try box.write("driver", driver)
      let linked = try await box.run(
        "-c", "mkdir \"$1\" && ln -s \"$0\" \"$1/authctl\"", try Built.authctl(),
        box.root + "/programs", program: "/bin/sh")
      #expect(linked.status == 0)
      for (line, offered) in Self.cases {
        let run = try await box.run(
          [box.root + "/driver", "\(Source.root)/completions/\(completions)", line],
          env: ["PATH": "\(box.root)/programs:/usr/bin:/bin", "TERM": "dumb"], program: shell,
          directory: box.root + "/work")
        // A shell may list a program that is in several folders of PATH more than once.
        let found = Set(run.stdout.split(separator: "\n").map(String.init)).sorted()
        #expect(run.status == 0 && found == offered, "\(line): \(found) \(run.stderr)")
      }
    }
  }

  /// Splits the line as readline does, and puts the part of the word that it keeps before the
  /// candidates; a @ is not kept: rl_special_prefixes (bash, bashline.c).
  @Test func bash() async throws {
    try await check(
      "/bin/bash",
      #"""
      source "$1"
      COMP_LINE=$2 COMP_POINT=${#2} COMP_WORDS=()
      while read -r word; do COMP_WORDS+=("$word"); done < <(
        sed -E "s/('[^']*')|([=:@])|([^ =:@']+)|( +)/\1\2\3\n/g" <<<"$2" | grep .)
      case $2 in *[\ =:@]) COMP_WORDS+=('') ;; esac
      case $2 in *=) unset 'COMP_WORDS[-1]' ;; esac
      COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
      complete -p authctl >/dev/null || exit
      compopt() { :; }
      _authctl
      last=${2##* }
      case $last in *[=:@]*) kept=${last%"${last##*[=:@]}"} kept=${kept%@} ;; esac
      for candidate in "${COMPREPLY[@]}"; do printf '%s\n' "$kept$candidate"; done
      """#, completions: "authctl.bash")
  }

  @Test func fish() async throws {
    try await check(
      "/usr/bin/fish",
      #"""
      source $argv[1]
      for candidate in (complete -C $argv[2])
        set -l parts (string split \t -- $candidate)
        echo -- $parts[1]
      end
      """#, completions: "authctl.fish")
  }

  /// Presses TAB in a zsh on its own terminal; a replaced `compadd` prints its arguments.
  @Test func zsh() async throws {
    try await check(
      "/usr/bin/zsh",
      #"""
      zmodload zsh/zpty
      export HITS=$HOME/hits STATE=$HOME/state
      : >$HITS; : >$STATE
      zpty inner zsh -f -i
      zpty -w inner "PS1= PS2=; unsetopt beep; fpath=(${1:h} \$fpath)
      autoload -Uz compinit; compinit -D -u; bindkey '^I' complete-word
      compadd() {
        if [[ \${@[1,(i)(-|--)]} != *-(O|A|D)\\ * ]]; then
          local -a hits; builtin compadd -A hits \"\$@\"
          (( \$#hits )) && print -rl -- \$IPREFIX\${^hits} >>\$HITS
        fi
        builtin compadd \"\$@\"
      }
      finish() { print done >>\$STATE }
      comppostfuncs=(finish)
      print ready >>\$STATE"
      wait_for() { until grep -q $1 $STATE; do zpty -r -t inner junk; sleep 0.01; done }
      wait_for ready
      zpty -w -n inner "$2"$'\t'
      wait_for done
      sort -u $HITS
      zpty -d inner
      """#, completions: "_authctl")
  }
}
