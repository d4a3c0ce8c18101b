import Glibc
import Testing

/// Names of accounts, files and programs that a shell would execute or split, completed with TAB in
/// real shells on a terminal: the name arrives as one word, and nothing is executed.
@Suite struct HostileCompletionTests {
  private static let names = [
    "$(touch x)", "`touch x`", "a;touch x", "it's", "a\"b", "a b", "a:b", "a[x]*", "${HOME}",
    "=ls", "a\\b", "x&touch x", "#x", "a|b", "{a,b}", "a'$(touch x)'b", "-n", "a\\'$(touch x)", "*",
    "a=b", "a@b", ">x", "a?", "^a^b",
  ]

  /// How a shell is started, and its first input, which prints `READY` at the end.
  private static let shells: [(program: String, options: [String], setUp: String)] = [
    (
      "/bin/bash", ["--norc", "--noprofile", "-i"],
      "bind 'set bell-style none'; source \"$COMPLETIONS/authctl.bash\"; echo RE\"ADY\"\n"
    ),
    (
      "/usr/bin/zsh", ["-f", "-i"],
      "unsetopt beep; fpath=($COMPLETIONS $fpath); autoload -Uz compinit; compinit -D -u; "
        + "echo RE\"ADY\"\n"
    ),
    ("/usr/bin/fish", ["--no-config", "-i"], "source $COMPLETIONS/authctl.fish; echo RE\"ADY\"\n"),
  ]

  /// Offers the content of the file `offered`; otherwise saves its last argument.
  private static let stub = #"""
    #!/bin/sh
    if [ "$1" = __complete ]; then exec cat "$HOME/offered"; fi
    for last; do :; done
    printf %s "$last" >"$HOME/last"
    echo "ran-$#"

    """#

  /// In each shell, types `line`, the first letter of each name, TAB and Enter.
  private func check(
    _ line: String, offered: (String) -> String, arrived: @escaping (String) -> String,
    file: (String) -> String? = { _ in nil }
  ) async throws {
    for shell in Self.shells {
      try await Sandbox.with(.none) { box in
        try box.write("home/bin/authctl", Self.stub, mode: 0o700)
        mkdir(box.home + "/work", 0o700)
        let terminal = try box.openTerminal(
          shell.options, columns: 200,
          env: [
            "PATH": "\(box.home)/bin:/usr/bin:/bin", "COMPLETIONS": "\(Source.root)/completions",
            "LC_ALL": "C.UTF-8",
          ], program: shell.program, directory: box.home + "/work")
        terminal.type(shell.setUp)
        var position = try await terminal.waitFor("READY")
        for name in Self.names {
          try box.write("home/offered", offered(name))
          try box.write("home/last", "")
          if let file = file(name) { try box.write("home/work/" + file, "") }
          let first = name.first.map { $0.isLetter ? String($0) : "" } ?? ""
          terminal.type(line + first + "\t\n")
          position = try await terminal.waitFor("ran-", from: position)
          let words = line.split(separator: " ").count + (line.last == " " ? 1 : 0)
          position = try await terminal.waitFor("\(words - 1)", from: position)
          #expect(box.read("home/last") == arrived(name), "\(shell.program): \(name)")
          let files = box.files().filter { $0.hasPrefix("home/work/") }
          #expect(files == (file(name).map { ["home/work/" + $0] } ?? []), "\(shell.program)")
          if let file = file(name) {
            _ = try await box.run("./" + file, program: "/bin/rm", directory: box.home + "/work")
          }
        }
        terminal.type("exit\n")
        _ = try await terminal.finish()
      }
    }
  }

  @Test func accounts() async throws {
    try await check("authctl get -u ", offered: { $0 + "\n" }, arrived: { $0 })
  }

  @Test func files() async throws {
    try await check(
      "authctl get -o ", offered: { _ in "\tfiles\t\n" }, arrived: { $0 }, file: { $0 })
  }

  @Test(arguments: ["--output=", "@", "-o"])
  func filesBehindAnOption(_ start: String) async throws {
    try await check(
      "authctl get " + start, offered: { _ in "\tfiles\t\(start)\n" }, arrived: { start + $0 },
      file: { $0 })
  }

  /// Control characters and bidirectional overrides would reach the terminal through the shell.
  @Test func namesThatActOnATerminalAreNotOffered() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens("access-token-1", "refresh-token-1")]))
      try box.profile("shop", Scene.profile(api.url))
      for account in ["ada", "ada\u{202E}b", "ada\u{2028}b", "ada\u{200B}", "ad\u{E9}"] {
        try await box.signIn("shop", as: account)
      }
      for name in ["x;id", "-n", "a\u{9B}b", "$(id)", "a b"] {
        try box.write("config/authctl/profiles/\(name).toml", "url = \"http://127.0.0.1:1\"\n")
      }
      let accounts = try await box.run("__complete", "--", "get", "-p", "shop", "-u", "a")
      #expect(accounts.stdout == "ada\nad\u{E9}\n")
      let profiles = try await box.run("__complete", "--", "get", "-p", "")
      #expect(profiles.stdout == "shop\n")
      #expect(accounts.stderr == "" && profiles.stderr == "")
    }
  }
}
