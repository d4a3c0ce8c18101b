import Testing

/// Hints work as printed (design 2). `Hints` looks at those of all other tests.
@Suite struct HintTests {
  @Test func commandsInHints() {
    let hints: [(String, [String])] = [
      ("authctl login -p shop", ["authctl login -p shop"]),
      ("to change it: authctl profile set shop K=V", ["authctl profile set shop K=V"]),
      ("use AUTHCTL_STORE=file (see authctl help ci)", ["authctl help ci"]),
      ("another authctl: is it stopped?", []), ("apt install libjq1", []),
    ]
    for (hint, commands) in hints { #expect(Hints.commands(in: hint) == commands) }
    #expect(Hints.words(of: #"authctl x 'a b' 'it'\''s'"#) == ["authctl", "x", "a b", "it's"])
    for command in ["authctl x [OPTIONS]", "authctl x <f", "authctl 'x", "authctl $x"] {
      #expect(Hints.words(of: command) == nil, "\(command)")
    }
  }

  @Test func wordsAreParsedAndNothingIsDone() async throws {
    try await Sandbox.with(.none) { box in
      let good = try await box.run("__parse", "--", "login", "-p", "shop", "--token-stdin")
      #expect(good.status == 0 && good.stdout == "" && good.stderr == "")
      for words in [["profile", "add", "shop", "--url", "http://h"], ["logni"], ["get"]] {
        let bad = try await box.run(["__parse", "--"] + words)
        #expect(bad.status == 2 && bad.stdout == "" && bad.stderr.hasPrefix("authctl: "))
      }
      #expect(box.files() == [])
    }
  }

  @Test func aRefusedPasswordIsNamedByItsSource() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let shop = try Shop(box, api.url)
      try box.write("home/pw", "wrong\n")
      let ada = "hint: authctl login -p shop -u \(Shop.ada)"
      let secret = box.canary.make("password")
      let calls: [([String], [String: String?], String)] = [
        (["--password-stdin"], [:], ada + " --password-stdin"),
        (["--password-file", "pw"], [:], ada + " --password-file pw"),
        (["--password-file", "-"], [:], ada + " --password-stdin"),
        (["--password-command", "echo no"], [:], ada + " --password-command CMD"),
        (
          [], ["AUTHCTL_PASSWORD": secret],
          "hint: correct AUTHCTL_PASSWORD, then run: authctl login -p shop -u \(Shop.ada)"
        ),
      ]
      for (words, env, hint) in calls {
        let run = try await box.run(
          ["login", "-p", "shop", "-u", Shop.ada] + words, stdin: "wrong\n", env: env)
        #expect(run.status == 14 && run.stdout == "")
        #expect(run.stderr.split(separator: "\n").last.map(String.init) == hint)
      }
      _ = shop
      let terminal = try box.openTerminal(["login", "-p", "shop", "-u", Shop.ada])
      try await terminal.waitFor("Password")
      terminal.type("wrong\n")
      let run = try await terminal.finish()
      #expect(run.screen.hasSuffix(ada + "\n") && run.status == 14, "\(run.screen)")
    }
  }

  /// curl's `-u NAME:PASSWORD`.
  @Test func aPasswordBehindTheAccountIsNotRepeated() async throws {
    try await Sandbox.with { box in
      let api = try await box.api()
      let shop = try Shop(box, api.url)
      try await shop.signIn()
      try await api.reset()
      for words in [
        ["get", "/me"], ["get", "/me", "-v"], ["get", "/me", "--dry-run", "-v"],
        ["get", "/me", "--as-curl"], ["token"], ["whoami"],
        ["refresh"], ["batch"], ["exec", "--", "true"], ["helper", "netrc"],
      ] {
        let run = try await box.run(["-p", "shop", "-u", "ann:pw"] + words, stdin: "")
        #expect([2, 125].contains(run.status) && run.stdout == "", "\(words)")
        #expect(
          run.stderr == """
            authctl: -u takes only an account name; do not put a password on the command line
            hint: authctl login -p shop -u ann

            """, "\(words)")
      }
      #expect(try await api.counts() == [:])
    }
  }

  @Test func asCurlWithoutAProfile() async throws {
    try await Sandbox.with(.none) { box in
      let env = ["AUTHCTL_URL": "https://api.shop.example", "AUTHCTL_TOKEN": "a-token-of-ours"]
      let run = try await box.run("get", "/me", "--as-curl", env: env)
      #expect(run.status == 2 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: --as-curl requires a profile; AUTHCTL_URL is not one
          hint: authctl profile add NAME https://api.shop.example

          """)
    }
  }
}
