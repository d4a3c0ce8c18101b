import Testing

/// `authctl profile edit`, and changes of profiles by several processes at once.
@Suite struct ProfileEditTests {
  private static let file = "config/authctl/profiles/shop.toml"
  private static let text = "# mine\nurl = \"https://h.example\"\n"

  private func with(_ body: (Sandbox) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      try box.write(Self.file, Self.text)
      try await body(box)
      // Whatever happened, no copy is left.
      #expect(
        box.files().filter { $0.hasPrefix("config/") && !$0.hasSuffix("/config.toml") } == [
          Self.file
        ])
    }
  }

  private func edit(
    _ box: Sandbox, _ editor: String, env: [String: String?] = [:]
  ) async throws -> Run {
    try await box.run(
      ["profile", "edit", "shop"], env: ["EDITOR": editor].merging(env) { $1 })
  }

  @Test func theEditorsTextIsSaved() async throws {
    try await with { box in
      let run = try await edit(box, "sed -i -e '$aaccount = \"ada\"'")
      #expect(run.stderr == "Saved the profile shop.\n" && run.stdout == "" && run.status == 0)
      #expect(box.read(Self.file) == Self.text + "account = \"ada\"\n")
      let visual = try await edit(
        box, "false", env: ["VISUAL": "sh -c 'echo \"# $TOLD\" >>\"$1\"' x", "TOLD": "two"])
      #expect(visual.status == 0, "\(visual.stderr)")
      #expect(box.read(Self.file) == Self.text + "account = \"ada\"\n# two\n")
      let same = try await edit(box, "true")
      #expect(same.stderr == "No changes.\n" && same.status == 0)
    }
  }

  @Test func theEditorGetsNoSecret() async throws {
    try await with { box in
      let secret = box.canary.make("password")
      let run = try await edit(
        box, "sh -c 'env | grep -c ^AUTHCTL_PASS >&2; true' x", env: ["AUTHCTL_PASSWORD": secret])
      #expect(run.stderr == "0\nNo changes.\n", "\(run.stderr)")
    }
  }

  @Test func aMistakeIsNotSaved() async throws {
    try await with { box in
      let run = try await edit(box, "sed -i -e '$aacount = 1' -e '$astor = 2'")
      #expect(
        run.stderr == """
          authctl: \(box.configHome)/authctl/profiles/shop.toml:3:1: unknown key acount
          hint: did you mean account?
          authctl: \(box.configHome)/authctl/profiles/shop.toml:4:1: unknown key stor

          """)
      #expect(run.stdout == "" && run.status == 2)
      #expect(box.read(Self.file) == Self.text)
      for editor in ["false", "rm", "/no/such/editor"] {
        let failed = try await edit(box, editor)
        #expect(failed.status == 1 && failed.stdout == "", "\(failed.stderr)")
        #expect(box.read(Self.file) == Self.text, "\(editor)")
      }
    }
  }

  @Test func aPersonIsAskedToEditAgain() async throws {
    try await with { box in
      // Makes the mistake the first time and corrects it the second.
      let editor =
        "sh -c 'grep -q acount \"$1\" && sed -i s/acount/account/ \"$1\""
        + " || echo \"acount = \\\"ada\\\"\" >>\"$1\"' x"
      let run = try await box.terminal(
        ["profile", "edit", "shop"], answers: [("Edit again? [Y/n] ", "\n")],
        env: ["EDITOR": editor])
      #expect(
        run.screen.hasSuffix("Edit again? [Y/n] \nSaved the profile shop.\n"), "\(run.screen)")
      #expect(run.status == 0)
      #expect(box.read(Self.file) == Self.text + "account = \"ada\"\n")
      let no = try await box.terminal(
        ["profile", "edit", "shop"], answers: [("Edit again? [Y/n] ", "n\n")],
        env: ["EDITOR": "sed -i s/account/acount/"])
      #expect(no.screen.hasSuffix("\nauthctl: shop was not changed\n"), "\(no.screen)")
      #expect(no.status == 2)
      #expect(box.read(Self.file) == Self.text + "account = \"ada\"\n")
    }
  }

  /// What another process has written meanwhile stays, and so does the text of the editor.
  @Test func aChangeMeanwhileIsNotOverwritten() async throws {
    try await Sandbox.with(.none) { box in
      try box.write(Self.file, Self.text)
      let run = try await edit(
        box, "sh -c '\(try Built.authctl()) profile set shop account=bob; echo \"# x\" >>\"$1\"' x")
      #expect(run.status == 1)
      #expect(
        run.stderr.hasPrefix(
          "authctl: another program has changed \(box.configHome)/authctl/profiles/shop.toml "
            + "meanwhile\nhint: your text is in \(box.configHome)/authctl/profiles/.shop-"))
      #expect(box.read(Self.file)?.contains("account = \"bob\"") == true)
      let copies = box.files().filter { $0.contains("/.shop-") }
      #expect(copies.count == 1)
      #expect(copies.first.flatMap { box.read($0) } == Self.text + "# x\n")
      #expect(try await box.run("profile", "list", "--json").stdout.contains("\"name\":\"shop\""))
    }
  }

  // MARK: At once

  /// Two processes that change a profile, or `config.toml`, lose nothing of each other's.
  @Test func changesAtOnceLoseNothing() async throws {
    try await with { box in
      let keys = ProfileEditTests.keys
      let children = try keys.map { key in
        try box.start(["profile", "set", "shop", key])
      }
      for child in children {
        let run = try await child.finish()
        #expect(run.status == 0, "\(run.stderr)")
      }
      let text = box.read(Self.file) ?? ""
      let shown = try await box.run("profile", "show", "shop", "--json")
      let values = try JSON(parsing: shown.stdout)["values"]?.elements ?? []
      for key in keys {
        let name = key.prefix { $0 != "=" }
        let value = values.first { $0["key"] == .string(String(name)) }
        #expect(value?["source"] == "profile", "\(name): \(text)")
      }
    }
  }

  /// None needs another one.
  private static let keys = [
    "account=ada", "login.path=/login", "logout.path=/logout", "whoami.path=/me",
    "refresh.path=/refresh", "register.path=/register", "network.idle_timeout=50",
    "network.connect_timeout=5", "vars.tenant=acme", "vars.region=eu", "vars.stage=test",
    "session.expired=[401, 403]",
  ]

  /// The preset is named, not a file that is not there or not to blame.
  @Test func anUnknownPresetIsNamed() async throws {
    try await with { box in
      for words in [
        ["add", "x", "https://x.example", "--set", "preset=jsn"],
        ["add", "x", "https://x.example", "--preset", "jsn"], ["set", "shop", "preset=jsn"],
      ] {
        let run = try await box.run(["profile"] + words)
        #expect(run.stderr == "authctl: unknown preset jsn\nhint: did you mean json?\n")
        #expect(run.stdout == "" && run.status == 2)
      }
    }
  }
}
