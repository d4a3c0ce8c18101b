import Glibc
import Testing

/// `authctl doctor`: design 2, rules A7, B3, B4, B13 and C12.
@Suite struct DoctorTests {
  static let closing = "This output contains no secret.\n"

  /// Runs doctor and returns its output without the first line, which must be that of versions.
  /// Wrapped lines are joined, and milliseconds replaced by `N`.
  static func text(
    _ box: Sandbox, _ words: String..., env: [String: String?] = [:], status: Int32,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws -> String {
    let run = try await box.run(["doctor"] + words, env: env)
    #expect(run.stderr == "" && run.status == status, sourceLocation: sourceLocation)
    let lines = run.stdout.split(separator: "\n", maxSplits: 1)
    #expect(
      lines.first?.wholeMatch(
        of: /authctl [\d.]+( \([0-9a-f]{7,}\))?, libcurl [\d.]+ \w+ [\w.]+, (no )?libsecret/)
        != nil, "\(run.stdout)", sourceLocation: sourceLocation)
    for line in run.stdout.split(separator: "\n") where !line.contains(" fix: ") {
      #expect(line.utf8.count < 80, "\(line)", sourceLocation: sourceLocation)
    }
    return String(lines.last ?? "").replacing(/\n {22}/, with: " ")
      .replacing(/\n {16}(?!fix: )/, with: " ")
      .replacing(/\d+ ms/, with: "N ms")
  }

  /// The lines about the machine if all is well.
  static func machine(_ box: Sandbox, profiles: String) -> String {
    """
    ok    config    \(box.configHome)/authctl: \(profiles), no mistakes
    ok    state     \(box.stateHome)/authctl, mode 0700, locks work
    ok    bus       \(box.busSocket)
    ok    store     gnome-keyring V: collection "Login", encrypted, a test entry works

    """
  }

  /// The version of gnome-keyring is not always available.
  static func withoutVersion(_ text: String) -> String {
    text.replacing(/gnome-keyring [\d.]+:/, with: "gnome-keyring V:")
      .replacing("gnome-keyring:", with: "gnome-keyring V:")
  }

  private static let noBus = """
    FAIL  bus       no D-Bus session: DBUS_SESSION_BUS_ADDRESS is not set
                    fix: use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)
    skip  store     not checked: there is no D-Bus session

    """

  // MARK: The machine

  @Test func nothingConfigured() async throws {
    try await Sandbox.with { box in
      let text = try await Self.text(box, status: 0)
      #expect(
        Self.withoutVersion(text) == Self.machine(box, profiles: "no profiles")
          + "ok    proxy     none\nNo problems found. " + Self.closing)
      #expect(try await box.items().isEmpty)
    }
  }

  @Test func withoutBusHomeAndTerminal() async throws {
    try await Sandbox.with(.none) { box in
      try #require(access("/run/user/\(geteuid())/bus", F_OK) != 0)
      let env: [String: String?] = [
        "HOME": nil, "XDG_CONFIG_HOME": nil, "XDG_STATE_HOME": nil, "XDG_RUNTIME_DIR": nil,
        "AUTHCTL_CONFIG_DIR": box.root + "/own", "AUTHCTL_STATE_DIR": box.root + "/kept",
      ]
      let text = try await Self.text(box, env: env, status: 1)
      #expect(
        text == """
          ok    config    \(box.root)/own: no profiles, no mistakes
          ok    state     \(box.root)/kept, mode 0700, locks work
          \(Self.noBus)ok    proxy     none
          ok    variables AUTHCTL_CONFIG_DIR, AUTHCTL_STATE_DIR
          1 failed, 0 warnings. \(Self.closing)
          """)
      let files = try await Self.text(
        box, env: env.merging(["AUTHCTL_STORE": "plaintext"]) { $1 }, status: 0)
      #expect(files.contains("\nskip  bus       not needed by the store plaintext\n"), "\(files)")
      #expect(files.contains("\nwarn  store     \(box.root)/kept/sessions: the store plaintext"))
      #expect(files.hasSuffix("\n0 failed, 1 warning. " + Self.closing))
    }
  }

  @Test func lockedKeyringStaysLocked() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      try await box.lockKeyring()
      let terminal = try await box.terminal(["doctor"])
      #expect(
        Self.withoutVersion(terminal.screen).contains(
          """

          FAIL  store     gnome-keyring V: collection "Login" is locked
                          fix: authctl store unlock
          ok    shop      \(api.url): TCP
          """), "\(terminal.screen)")
      #expect(
        terminal.screen.hasSuffix(
          "skip  session   not checked: the store is locked\n1 failed, 0 warnings. "
            + Self.closing), "\(terminal.screen)")
      #expect(terminal.status == 1)
    }
  }

  @Test func keyringThatSaysNothing() async throws {
    try await Sandbox.with { box in
      box.stopKeyring()
      let text = try await Self.text(box, "--store-timeout", "0.5", status: 1)
      #expect(
        Self.withoutVersion(text).contains(
          "FAIL  store     gnome-keyring V: the keyring did not answer within 0.5 s\nok    proxy"),
        "\(text)")
      box.continueKeyring()
    }
  }

  @Test func mistakesAreLinesAndNotTheEnd() async throws {
    try await Sandbox.with(.busOnly) { box in
      try box.profile("shop", "url = \"http://127.0.0.1:1\"\nurll = \"x\"\n")
      try box.write("config/authctl/config.toml", "stoer = \"file\"\n")
      let text = try await Self.text(box, "-p", "shop", status: 1)
      #expect(text.contains("config.toml:1:1: "), "\(text)")
      #expect(text.contains("shop.toml:2:1: "), "\(text)")
      #expect(text.contains("FAIL  config    "), "\(text)")
      #expect(text.contains("skip  store     not checked: the configuration has a mistake\n"))
      #expect(text.contains("ok    proxy     none\n2 failed, 0 warnings. "), "\(text)")
      try box.write("config/authctl/config.toml", "store = \"file\"\n")
      let one = try await Self.text(box, status: 1)
      #expect(one.contains("skip  shop      not checked: its file has a mistake\n"))
      chmod(box.configHome + "/authctl/profiles", 0o777)
      let open = try await Self.text(box, status: 1)
      #expect(open.contains("fix: chmod go-w \(box.configHome)/authctl/profiles\n"), "\(open)")
    }
  }

  @Test func stateFolderThatOthersWriteTo() async throws {
    try await Sandbox.with { box in
      try #require(mkdir(box.stateHome + "/authctl", 0o700) == 0)
      chmod(box.stateHome + "/authctl", 0o777)
      let text = try await Self.text(box, status: 0)
      #expect(text.contains("fix: chmod 700 \(box.stateHome)/authctl\n"), "\(text)")
      chmod(box.stateHome + "/authctl/locks", 0o777)
      let open = try await Self.text(box, status: 1)
      #expect(
        open.contains(
          "FAIL  state     \(box.stateHome)/authctl/locks is writable by other users\n"
            + "                fix: chmod 700 \(box.stateHome)/authctl/locks\n"
        ),
        "\(open)")
    }
  }

  // MARK: Profiles

  @Test func signedIn() async throws {
    try await Shop.with { shop, api in
      let box = shop.box
      let before = try await box.items()
      let text = Self.withoutVersion(try await Self.text(box, status: 0))
      #expect(
        text.replacing(/valid, \d+ min/, with: "valid, N min")
          == Self.machine(box, profiles: "1 profile") + """
            ok    shop      \(api.url): TCP N ms
            skip  shop      the server sends no date, so the clocks cannot be compared
            ok    proxy     none
            ok    session   \(Shop.ada): valid, N min left, renewable
            No problems found. \(Self.closing)
            """, "\(text)")
      #expect(try await box.items() == before)
      try await shop.age(ended: 7200)
      #expect(
        try await Self.text(box, status: 0).contains(
          "\nok    session   \(Shop.ada): expired, renewable\n"))
    }
  }

  @Test func whichProfile() async throws {
    try await Sandbox.with { box in
      let access = box.canary.make("access")
      let one = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access)]))
      let two = try box.recorder()
      try box.profile("shop", Scene.profile(one.url))
      try box.profile("school", Scene.profile(two.url))
      let none = try await Self.text(box, status: 0)
      #expect(
        none.contains(
          "\nskip  profile   several profiles and no default: school, shop\n"
            + "                fix: use -p NAME or --all\nok    proxy     none\n"), "\(none)")
      #expect(one.connections.isEmpty && two.connections.isEmpty)
      let unknown = try await Self.text(box, "-p", "shpo", status: 1)
      #expect(
        unknown.contains(
          "\nFAIL  profile   no profile called shpo; did you mean shop?\n"
            + "                fix: authctl profile list\n"), "\(unknown)")
      let named = try await Self.text(box, env: ["AUTHCTL_PROFILE": "shop"], status: 0)
      #expect(
        named.contains(
          "\nskip  session   not signed in\n                fix: authctl login -p shop\n"))
      #expect(one.connections.count == 1 && two.connections.isEmpty)
      try await box.signIn("shop")
      let all = try await Self.text(box, "--all", status: 0)
      #expect(all.contains("\nok    school    \(two.url): TCP N ms\n"), "\(all)")
      #expect(all.contains("\nok    shop      \(one.url): TCP N ms\n"))
      #expect(all.contains("\nskip  session   school, not signed in\n"))
      #expect(
        all.contains("\nok    session   shop, \(Scene.account): valid, 14 min left\n"), "\(all)")
      let file = try await Self.text(
        box, "-p", box.configHome + "/authctl/profiles/shop.toml", status: 0)
      #expect(file.contains("\nok    shop.toml \(one.url): TCP N ms\n"), "\(file)")
      let both = try await box.run("doctor", "-p", "shop", "--all")
      #expect(
        both.stderr
          == "authctl: --all and a profile cannot be used together\nhint: authctl help doctor\n")
      #expect(both.stdout == "" && both.status == 2)
    }
  }

  @Test func asJSON() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let run = try await box.run("doctor", "--json")
      let json = try JSON(parsing: run.stdout)
      #expect(json["ok"] == false)
      let checks = try #require(json["checks"]).elements
      #expect(
        checks.map { $0["check"] } == [
          "versions", "config", "state", "bus", "store", "reach", "clock", "proxy", "session",
        ])
      #expect(
        checks.map { $0["result"] } == [
          "ok", "ok", "ok", "fail", "skipped", "ok", "skipped", "ok", "skipped",
        ])
      #expect(checks.last?["profile"] == "shop" && checks.first?["profile"] == JSON.null)
      #expect(checks[3]["hint"] == "use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)")
      #expect(run.stderr == "" && run.status == 1)
    }
  }

  // MARK: The server

  @Test func requestCarriesNothingAndIsNotRedirected() async throws {
    try await Sandbox.with { box in
      let other = try box.recorder()
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes([
          "POST /v2/login": Scene.tokens(access, refresh),
          "GET /v2": .redirect(to: other.url + "/x"),
        ]))
      try box.profile("shop", Scene.profile(api.url + "/v2"))
      try await box.signIn("shop")
      _ = try await Self.text(box, status: 0)
      #expect(
        api.texts.last?.replacing(/authctl\/[\d.]+/, with: "authctl/N") == """
          GET /v2 HTTP/1.1\r
          Host: \(api.authority)\r
          User-Agent: authctl/N\r
          Accept: application/json, */*;q=0.5\r
          \r

          """)
      #expect(other.connections.isEmpty)
      #expect(Scene.holds(api, [access, refresh]) == [])
    }
  }

  private struct Row: Sendable {
    var headers: @Sendable () -> [(String, String)]
    var line: String
    var status: Int32 = 0
  }

  private static func ago(_ seconds: Double) -> String { Shop.date(Shop.now() - seconds) }

  private static let clocks = [
    Row(
      headers: { [("Date", ago(0))] },
      line: "ok    shop      this machine's clock matches the server's"),
    Row(
      headers: { [("Date", ago(-20))] },
      line: "ok    shop      this machine's clock matches the server's"
    ),
    Row(
      headers: { [("Date", ago(-290))] },
      line: "warn  shop      this machine's clock is 4 min behind the server's: tokens expire early"
    ),
    Row(
      headers: { [("Date", ago(7300))] },
      line: "warn  shop      this machine's clock is 2 h ahead of the server's: "
        + "tokens seem to expire early"),
    Row(
      headers: { [("Date", ago(900)), ("Age", "900")] },
      line: "ok    shop      this machine's clock matches the server's"),
    Row(
      headers: { [("Date", "yesterday")] },
      line: "skip  shop      the server sends no date, so the clocks cannot be compared"),
    Row(
      headers: { [("Date", "Fri, 31 Dec 9999 23:59:59 GMT")] },
      line: "skip  shop      the server sends no date, so the clocks cannot be compared"),
  ]

  @Test(arguments: clocks.indices)
  func clocksAreCompared(_ index: Int) async throws {
    let row = Self.clocks[index]
    try await Sandbox.with(.none) { box in
      let api = try box.recorder { _, _ in .http(200, "{}", headers: row.headers()) }
      try box.profile("shop", Scene.profile(api.url))
      let text = try await Self.text(box, status: 1)
      #expect(text.contains("\n\(row.line)\n"), "\(text)")
    }
  }

  /// A name longer than the column has a line of its own.
  @Test func aLongName() async throws {
    try await Sandbox.with(.none) { box in
      let name = "a-second-profile-with-a-long-name"
      try box.profile(name, Scene.profile("http://127.0.0.1:1"))
      let run = try await box.run("doctor")
      #expect(
        run.stdout.contains(
          """

          FAIL  \(name)
                                        cannot reach http://127.0.0.1:1: connection
                                        refused

          """), "\(run.stdout)")
    }
  }

  @Test func whatCannotBeReached() async throws {
    try await Sandbox.with(.none) { box in
      let broken = try box.recorder(answering: Recorder.list(.http(503, "{}")))
      let silent = try box.recorder(answering: Recorder.list(.close))
      for (url, lines) in [
        (
          "http://127.0.0.1:1",
          "FAIL  shop      cannot reach http://127.0.0.1:1: connection refused\n"
            + "                fix: curl -sv -o /dev/null http://127.0.0.1:1/\n"
        ),
        (
          "https://nowhere.invalid",
          "FAIL  shop      cannot reach https://nowhere.invalid: host name not found\n"
            + "                fix: curl -sv -o /dev/null https://nowhere.invalid/\n"
        ),
        (
          "http://shop.invalid",
          "FAIL  shop      refused to send a credential over plain HTTP to http://shop.invalid\n"
            + "                fix: use https, or set network.allow_http = true in the profile\n"
        ),
        (
          broken.url,
          "warn  shop      HTTP 503 Recorded to GET \(broken.url)/\n"
        ),
        (
          silent.url,
          "FAIL  shop      \(silent.url) closed the connection without an answer\n"
        ),
      ] {
        try box.profile("shop", Scene.profile(url))
        let text = try await Self.text(box, status: 1)
        #expect(text.contains("\n" + lines), "\(text)")
      }
    }
  }

  @Test func proxiesAreToldByTheirHosts() async throws {
    try await Sandbox.with(.none) { box in
      let password = box.canary.make("proxy-password")
      let proxy = try box.recorder(answering: Recorder.list(.http(502)))
      let address = "http://us:\(password)/x@127.0.0.1:\(proxy.port)"
      try box.profile("shop", Scene.profile("https://shop.invalid"))
      for words in [[], ["--json"], ["-vv"]] {
        let run = try await box.run(
          ["doctor"] + words, env: ["https_proxy": address.replacing("/x@", with: "@")])
        #expect(
          run.stdout.replacing(/\n {16}/, with: " ").contains(
            ", through the proxy 127.0.0.1:\(proxy.port) (https_proxy)"), "\(run.stdout)")
        #expect(run.stdout.contains("https_proxy 127.0.0.1:\(proxy.port)"))
        #expect(run.status == 1)
      }
      // A proxy URL that libcurl cannot read may contain a password too.
      let odd = try await Self.text(box, env: ["ALL_PROXY": address, "no_proxy": "x"], status: 1)
      #expect(odd.contains("ok    proxy     ALL_PROXY 127.0.0.1:\(proxy.port), no_proxy is set\n"))
      // Plain HTTP to this machine uses no proxy (rule A7).
      let api = try box.recorder()
      try box.profile("shop", Scene.profile(api.url))
      let before = proxy.connections.count
      let clear = try await Self.text(
        box, env: ["http_proxy": proxy.url, "ALL_PROXY": proxy.url], status: 1)
      #expect(clear.contains("\nok    shop      \(api.url): TCP N ms\n"), "\(clear)")
      #expect(proxy.connections.count == before && api.connections.count == 1)
    }
  }

  // MARK: Secrets

  @Test func namesOfVariablesAndNoValues() async throws {
    try await Sandbox.with { box in
      let (access, refresh) = (box.canary.make("access"), box.canary.make("refresh"))
      let api = try box.recorder(
        answering: Scene.routes(["POST /login": Scene.tokens(access, refresh)]))
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      let names = [
        "AUTHCTL_APP_KEY", "AUTHCTL_CLIENT_SECRET", "AUTHCTL_OTP", "AUTHCTL_PASSWORD",
        "AUTHCTL_STORE_PASSPHRASE", "AUTHCTL_TOKEN", "AUTHCTL_TOKEN_FOR_SHOP", "AUTHCTL_UNKNOWN",
      ]
      var env: [String: String?] = [:]
      for name in names { env[name] = box.canary.make("value") }
      for store in ["secret-service", "file"] {
        for words in [[], ["--json"], ["-vv"], ["--all", "-v"]] {
          let run = try await box.run(["doctor", "--store", store] + words, env: env)
          #expect(run.status == 0, "\(run.stdout)")
          let text = run.stdout.replacing(/\n {16}/, with: " ")
          #expect(text.contains(names.joined(separator: ", ")), "\(text)")
          #expect(text.contains("the token is from AUTHCTL_TOKEN_FOR_SHOP"))
        }
      }
      // The canary checks all output at the end.
    }
  }
}
