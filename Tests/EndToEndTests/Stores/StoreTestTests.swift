import Glibc
import Testing

/// `authctl store test`: design 2 and 7, rules B4, B10 and B12.
@Suite struct StoreTestTests {
  /// One check in the JSON output.
  private static func check(
    _ name: String, _ result: String, _ detail: String, hint: String? = nil
  ) -> JSON {
    [
      "check": .string(name), "result": .string(result), "detail": .string(detail),
      "hint": hint.map { .string($0) } ?? nil, "profile": nil,
    ]
  }

  private static let probe = check("probe", "ok", "written, read and deleted")

  // MARK: Secret Service

  /// Removes the line of the daemon, the only one that depends on the machine.
  private func withoutDaemon(_ run: Run) throws -> [JSON] {
    let checks = try #require(try JSON(parsing: run.stdout)["checks"]).elements
    let daemon = try #require(checks.first { $0["check"] == "daemon" })
    let detail = daemon["detail"]?.string ?? ""
    #expect(daemon["result"] == "ok")
    #expect(
      detail.wholeMatch(
        of: /gnome-keyring, process \d+, (\/.*gnome-keyring-daemon|whose .* not show)/)
        != nil, "\(detail)")
    return checks.filter { $0["check"] != "daemon" }
  }

  @Test func keyringIsTriedAndLeftAsItWas() async throws {
    try await Sandbox.with { box in
      let shop = try Shop(box, try await box.api().url)
      try await shop.signIn()
      let before = try await box.items()
      let run = try await box.run("store", "test", "--json")
      #expect(run.stderr == "" && run.status == 0)
      #expect(try JSON(parsing: run.stdout)["ok"] == true)
      #expect(
        try withoutDaemon(run) == [
          Self.check("store", "ok", "secret-service"), Self.check("bus", "ok", box.busSocket),
          Self.check("collection", "ok", "\"Login\" is unlocked, no dialog needed"),
          Self.check("session", "ok", "encrypted (dh-ietf1024-sha256-aes128-cbc-pkcs7)"),
          Self.probe,
        ])
      #expect(try await box.items() == before)
      let text = try await box.run("store", "test")
      #expect(text.stdout.hasPrefix("ok    store      secret-service\n"), "\(text.stdout)")
      #expect(
        text.stdout.hasSuffix("\nok    probe      written, read and deleted\nNo problems found.\n"))
      #expect(text.stderr == "" && text.status == 0)
      #expect(try await box.items() == before)
    }
  }

  @Test func lockedKeyringStaysLockedAndUnwritten() async throws {
    try await Sandbox.with { box in
      try await box.lockKeyring()
      let run = try await box.run("store", "test", "--json")
      #expect(run.stderr == "" && run.status == 1)
      #expect(try JSON(parsing: run.stdout)["ok"] == false)
      #expect(
        try withoutDaemon(run).suffix(3) == [
          Self.check(
            "collection", "fail", "\"Login\" is locked: its password is required",
            hint: "authctl store unlock --password-stdin"),
          Self.check("session", "ok", "encrypted (dh-ietf1024-sha256-aes128-cbc-pkcs7)"),
          Self.check("probe", "skipped", "not written: the keyring is locked"),
        ])
      // No dialog on a terminal either: without a prompter it would end at once with a message.
      let terminal = try await box.terminal(["store", "test"])
      #expect(
        terminal.screen.contains(
          "FAIL  collection \"Login\" is locked: its password is required\n"
            + "                 fix: authctl store unlock\n"), "\(terminal.screen)")
      #expect(terminal.status == 1)
    }
  }

  @Test func whatIsMissingIsNamed() async throws {
    try await Sandbox.with(.busOnly) { box in
      let service = try await box.run("store", "test")
      #expect(
        service.stdout == """
          ok    store     secret-service
          ok    bus       \(box.busSocket)
          FAIL  daemon    no Secret Service on this bus (org.freedesktop.secrets)
                          fix: apt install gnome-keyring,
                               or use AUTHCTL_STORE=file (see authctl help ci)
          1 failed, 0 warnings.

          """)
      #expect(service.stderr == "" && service.status == 1)
      let far = try box.recorder()
      for (address, message) in [
        ("unix:path=/nowhere", "no D-Bus session at unix:path=/nowhere"),
        ("tcp:host=127.0.0.1,port=\(far.port)", "refused the D-Bus session at tcp:"),
      ] {
        let run = try await box.run(
          "store", "test", "--json", env: ["DBUS_SESSION_BUS_ADDRESS": address])
        let checks = try #require(try JSON(parsing: run.stdout)["checks"]).elements
        #expect(checks.map { $0["check"] } == ["store", "bus"])
        #expect(checks.last?["detail"]?.string?.hasPrefix(message) == true, "\(run.stdout)")
        #expect(run.stderr == "" && run.status == 1)
      }
      #expect(far.connections.isEmpty)
    }
  }

  /// Without a way to ask for the password of a first keyring, the hint is not the command that has
  /// just failed.
  @Test func keyringThatWasNeverUsed() async throws {
    try await Sandbox.with(.busOnly) { box in
      _ = try box.spawn(
        Launch(
          command: [
            "/usr/bin/gnome-keyring-daemon", "--foreground", "--components=secrets",
            "--control-directory=\(box.root)/keyring/control",
          ], environment: box.environment(), directory: box.root, limit: nil, isSampled: false),
        isDaemon: true)
      let wait = ["wait", "--session", "--timeout", "20", "org.freedesktop.secrets"]
      try await box.expect(0, "", wait, program: "/usr/bin/gdbus")
      let missing = "the keyring (gnome-keyring) has no default collection"
      let command = #"tr -d '\n' <FILE | gnome-keyring-daemon -r --unlock -c secrets"#
      for words in [["--password-stdin"], ["--no-input"]] {
        let unlock = try await box.run(["store", "unlock"] + words, stdin: "pw\n")
        #expect(unlock.stderr == "authctl: \(missing)\nhint: \(command)\n")
        #expect(unlock.stdout == "" && unlock.status == 12)
      }
      let test = try await box.run("store", "test", "--json")
      #expect(
        try withoutDaemon(test).last == Self.check("collection", "fail", missing, hint: command))
      #expect(test.stderr == "" && test.status == 1)
      // On a terminal the hint is `store unlock`, which reports if no dialog can be shown.
      let told = try await box.terminal(["store", "test"])
      #expect(
        told.screen.hasSuffix(
          "\n                 fix: to create one, run: authctl store unlock\n1 failed, 0 warnings.\n"
        ),
        "\(told.screen)")
      let asked = try await box.terminal(["store", "unlock"])
      #expect(asked.screen == "authctl: \(missing)\nhint: \(command)\n")
      #expect(asked.status == 12)
    }
  }

  @Test func keyringThatSaysNothingIsWaitedForNoLongerThanSaid() async throws {
    try await Sandbox.with { box in
      box.stopKeyring()
      let run = try await box.run("store", "test", "--json", "--store-timeout", "0.5")
      let last = try #require(try JSON(parsing: run.stdout)["checks"]).elements.last
      #expect(last?["result"] == "fail")
      #expect(last?["detail"] == "the keyring did not answer within 0.5 s")
      #expect(run.stderr == "" && run.status == 1)
      box.continueKeyring()
      #expect(try await box.items().isEmpty)
    }
  }

  /// A probe left by a killed run is not a session.
  @Test func probesAreNoSessions() async throws {
    try await Sandbox.with { box in
      try await box.store(
        attributes: ["xdg:schema": "io.github.authctl.Probe", "probe": "00"], secret: "x")
      let status = try await box.run("status")
      #expect(status.stderr == "No sessions.\nhint: authctl login URL\n")
      #expect(status.stdout == "" && status.status == 0)
    }
  }

  // MARK: Files

  @Test(arguments: ["file", "plaintext"])
  func filesAreTriedAndLeftAsTheyWere(_ store: String) async throws {
    try await FileShop.with(store) { files in
      try await files.signIn()
      let before = list(files.sessions)
      let run = try await files.run("store", "test", "--json")
      let key =
        store == "file"
        ? Self.check(
          "key", "ok", "AUTHCTL_STORE_KEY_FILE: \(files.box.root)/key, mode 0600")
        : Self.check(
          "key", "warn",
          "the store plaintext does not encrypt: anyone who can read \(files.sessions) "
            + "can use the session")
      #expect(
        try JSON(parsing: run.stdout) == [
          "ok": true,
          "checks": [
            Self.check("store", "ok", store),
            Self.check("folder", "ok", "\(files.sessions), mode 0700"), key,
            Self.check("sessions", "ok", "1 file, mode 0600"), Self.probe,
          ],
        ])
      #expect(run.stderr == "" && run.status == 0)
      #expect(list(files.sessions) == before)
      #expect(try await files.run("get", "/me").stdout == Shop.me)
    }
  }

  @Test func keyIsToldByItsSourceAlone() async throws {
    try await FileShop.with { files in
      let phrase = files.box.canary.make("phrase")
      struct Row {
        var env: [String: String?]
        var result: String
        var detail: String
      }
      let credentials = files.box.root + "/credentials"
      try files.box.write("credentials/authctl-store-key", String(repeating: "k", count: 32))
      let none: [String: String?] = ["AUTHCTL_STORE_KEY_FILE": nil]
      let rows = [
        Row(
          env: none.merging(["AUTHCTL_STORE_PASSPHRASE": phrase]) { $1 }, result: "ok",
          detail: "AUTHCTL_STORE_PASSPHRASE"),
        Row(
          env: none.merging(["AUTHCTL_STORE_PASSPHRASE": "short"]) { $1 }, result: "warn",
          detail: "AUTHCTL_STORE_PASSPHRASE has fewer than 12 bytes: anyone with the sealed files "
            + "can find it by trying all"),
        Row(
          env: none.merging(["CREDENTIALS_DIRECTORY": credentials]) { $1 }, result: "ok",
          detail: "CREDENTIALS_DIRECTORY: \(credentials)/authctl-store-key, mode 0600"),
        Row(
          env: none, result: "fail",
          detail:
            "no key for the sealed files: set AUTHCTL_STORE_KEY_FILE or AUTHCTL_STORE_PASSPHRASE"),
        Row(
          env: ["AUTHCTL_STORE_PASSPHRASE": phrase], result: "fail",
          detail: "AUTHCTL_STORE_KEY_FILE and AUTHCTL_STORE_PASSPHRASE cannot be used together"),
        Row(
          env: ["AUTHCTL_STORE_KEY_FILE": "/nowhere"], result: "fail",
          detail: "AUTHCTL_STORE_KEY_FILE: /nowhere: no such file or directory"),
      ]
      for row in rows {
        let run = try await files.run("store", "test", "--json", env: row.env)
        let checks = try #require(try JSON(parsing: run.stdout)["checks"]).elements
        let key = checks.first { $0["check"] == "key" }
        #expect(key?["result"]?.string == row.result, "\(run.stdout)")
        #expect(key?["detail"]?.string == row.detail)
        let probe = row.result == "fail" ? "skipped" : "ok"
        #expect(checks.last?["check"] == "probe" && checks.last?["result"]?.string == probe)
        #expect(run.stderr == "" && run.status == (row.result == "fail" ? 1 : 0))
      }
    }
  }

  @Test func damageIsNamedWithItsMend() async throws {
    try await FileShop.with { files in
      try await files.signIn()
      let path = try files.onlyFile()
      func sessions() async throws -> JSON? {
        let run = try await files.run("store", "test", "--json")
        #expect(run.stderr == "" && run.status == 1)
        return try JSON(parsing: run.stdout)["checks"]?.elements.first { $0["check"] == "sessions" }
      }
      chmod(path, 0o644)
      #expect(
        try await sessions()
          == Self.check(
            "sessions", "fail", "\(path) is accessible to other users", hint: "chmod 600 \(path)"))
      chmod(path, 0o600)
      let moved = files.sessions + "/" + String(repeating: "0", count: 64) + ".sealed"
      #expect(rename(path, moved) == 0)
      #expect(
        try await sessions()
          == Self.check(
            "sessions", "fail", "\(moved) belongs to another profile or account: it was moved"))
      try files.overwrite(moved, [1, 2, 3])
      #expect(
        try await sessions() == Self.check("sessions", "fail", "\(moved) is not a sealed file"))
      #expect(files.files.count == 1)
    }
  }

  @Test func folderThatCannotServe() async throws {
    try await FileShop.with { files in
      let sessions = files.sessions
      #expect(try await files.run("store", "test").status == 0)
      chmod(sessions, 0o755)
      let seen = try await files.run("store", "test")
      #expect(seen.stdout.contains("\nwarn  folder    \(sessions), mode 0755:"), "\(seen.stdout)")
      #expect(seen.stdout.contains("                fix: chmod 700 \(sessions)\n"))
      #expect(seen.stderr == "" && seen.status == 0)
      chmod(sessions, 0o777)
      let open = try await files.run("store", "test", "--json")
      #expect(
        try JSON(parsing: open.stdout)["checks"]?.elements.last
          == Self.check(
            "folder", "fail", "\(sessions) is writable by other users",
            hint: "chmod 700 \(sessions)")
      )
      #expect(open.status == 1)
      let nowhere = try await files.run("store", "test", env: ["AUTHCTL_STATE_DIR": "/dev/null/x"])
      #expect(
        nowhere.stdout == """
          ok    store     file
          FAIL  folder    cannot use /dev/null/x: not a directory
                          fix: set AUTHCTL_STATE_DIR to another folder
          1 failed, 0 warnings.

          """)
      #expect(nowhere.stderr == "" && nowhere.status == 1)
    }
  }
}
