import Testing

/// A locked keyring at a terminal without a display, as over ssh: every command that needs a session
/// asks for the keyring's password there (design 4, rule C11).
@Suite struct LockedKeyringTests {
  private static let question = "Password of the keyring \"Login\" (gnome-keyring): "
  private static let wrong =
    "authctl: the keyring stayed locked: wrong password (gnome-keyring, collection\n"
    + "  \"Login\")\n"
  private static let locked =
    "authctl: the keyring is locked (gnome-keyring, collection \"Login\")\n"

  private func withLocked(
    _ body: @Sendable (Shop, APIServer) async throws -> Void
  ) async throws {
    try await Shop.with { shop, api in
      try await shop.box.lockKeyring()
      try await api.reset()
      shop.box.canary.watch(shop.box.keyringPassword)
      try await body(shop, api)
    }
  }

  @Test(
    arguments: ["get /me", "token", "whoami", "exec -- echo done", "refresh", "logout"],
    [nil, ":7"])
  func theTerminalIsAskedForThePassword(_ command: String, _ display: String?) async throws {
    try await withLocked { shop, _ in
      let words = command.split(separator: " ").map(String.init)
      let token = try await { () async throws -> String? in
        guard command == "token" else { return nil }
        try await shop.box.unlockKeyring()
        let token = try await shop.accessToken()
        try await shop.box.lockKeyring()
        return token
      }()
      let run = try await shop.box.terminal(
        words, answers: [(Self.question, shop.box.keyringPassword + "\n")],
        env: ["DISPLAY": display], mayPrint: token.map { [$0] } ?? [])
      #expect(run.screen.hasPrefix(Self.question + "\n"), "\(run.screen)")
      let wanted: [String: String] = [
        "get /me": "Ada Lovelace", "token": token ?? "-", "whoami": Shop.ada,
        "exec -- echo done": "done\n", "refresh": "Renewed shop as \(Shop.ada).",
        "logout": "Signed out of shop as \(Shop.ada), at the server and on this machine.\n",
      ]
      #expect(run.screen.contains(wanted[command] ?? "?"), "\(run.screen)")
      #expect(!run.screen.contains("dialog"), "\(run.screen)")
      #expect(run.status == 0)
    }
  }

  @Test func aSignInAsksForTheKeyringFirst() async throws {
    try await withLocked { shop, api in
      let run = try await shop.box.terminal(
        ["login", "shop"],
        answers: [
          (Self.question, shop.box.keyringPassword + "\n"), ("Password for ", Shop.password + "\n"),
        ])
      #expect(run.status == 0, "\(run.screen)")
      #expect(try await api.counts() == ["POST /login": 1])
    }
  }

  @Test func aWrongPasswordSendsNothing() async throws {
    try await withLocked { shop, api in
      for words in [["get", "/me"], ["login", "shop"], ["exec", "--", "true"]] {
        let run = try await shop.box.terminal(words, answers: [(Self.question, "wrong\n")])
        #expect(run.screen == Self.question + "\n" + Self.wrong)
        #expect(run.status == (words[0] == "exec" ? 125 : 12))
      }
      #expect(try await api.counts() == [:])
    }
  }

  /// Where nobody may be asked, the hint is the command that a script can run.
  @Test func withoutAQuestionTheHintIsTheCommand() async throws {
    try await withLocked { shop, _ in
      let hint = Self.locked + "hint: authctl store unlock --password-stdin\n"
      for words in [["get", "/me"], ["token"], ["login", "shop", "--password-stdin"]] {
        let run = try await shop.box.run(words, stdin: Shop.password + "\n")
        #expect(run.stderr == hint && run.stdout == "" && run.status == 12)
        let silent = try await shop.box.terminal(words + ["--no-input"])
        #expect(silent.screen == hint && silent.status == 12)
      }
      // The command works as printed.
      let unlock = try await shop.box.run(
        "store", "unlock", "--password-stdin", stdin: shop.box.keyringPassword + "\n")
      #expect(unlock.status == 0)
      #expect(try await shop.box.run("get", "/me").stdout == Shop.me)
    }
  }

  /// With a display and a program that shows gnome-keyring's dialogs, the dialog asks.
  @Test func aDialogThatCanBeShownIsShown() async throws {
    try await withLocked { shop, _ in
      let mark = shop.box.root + "/dialog"
      try shop.box.write(
        "keyring/services/org.gnome.keyring.SystemPrompter.service",
        "[D-BUS Service]\nName=org.gnome.keyring.SystemPrompter\n"
          + "Exec=/bin/sh -c \"touch \(mark); exit 1\"\n")
      let run = try await shop.box.terminal(["get", "/me"], env: ["DISPLAY": ":7"])
      #expect(run.screen == "authctl: the keyring stayed locked: its dialog was dismissed\n")
      #expect(run.status == 12)
      #expect(shop.box.read("dialog") == "")
      // Over ssh the same keyring has a dialog that nobody there would see.
      let ssh = try await shop.box.terminal(
        ["get", "/me"], answers: [(Self.question, shop.box.keyringPassword + "\n")])
      #expect(ssh.status == 0, "\(ssh.screen)")
    }
  }
}
