import Glibc
import Testing

/// Every command without desktop, home folder and terminal, as root and as a user without a passwd
/// entry, and with read-only folders: it works, or prints one line that says what to set.
@Suite struct HeadlessTests {
  private typealias Row = Headless.Row
  private typealias Outcome = Headless.Outcome

  private static let isRoot = geteuid() == 0

  /// Every command, in an order in which each finds what it needs.
  private static func table(_ place: Headless) -> [(name: String, row: Row)] {
    let url = place.api.url
    let index = "sparse+\(url)/"
    let request =
      #"{"v":1,"registry":{"index-url":"\#(index)"},"kind":"get","operation":"read","args":[]}"#
    let program = ["--", "/bin/echo", "done"]
    let rows: [(String, [String], String?)] = [
      ("login", ["login", "--password-stdin"], Shop.password + "\n"),
      ("login asking", ["login"], nil),
      ("register", ["register", "-u", "zoe@example.com", "--password-stdin"], "a password\n"),
      ("whoami", ["whoami"], nil),
      ("whoami --offline", ["whoami", "--offline"], nil),
      ("status", ["status"], nil),
      ("status --check", ["status", "--check"], nil),
      ("token", ["token"], nil),
      ("get", ["get", "/me"], nil),
      ("post", ["post", "/echo", "--json", "{}"], nil),
      ("exec", ["exec"] + program, nil),
      (
        "exec --login",
        ["exec", "--login", "-p", place.profile, "-u", Shop.ada, "--password-stdin"] + program,
        Shop.password + "\n"
      ),
      (
        "helper git", ["helper", "git", "get"],
        "protocol=http\nhost=\(url.dropFirst("http://".count))\n\n"
      ),
      ("helper docker", ["helper", "docker", "get"], url + "\n"),
      ("helper bazel", ["helper", "bazel", "get"], #"{"uri":"\#(url)/"}"#),
      ("helper cargo", ["helper", "cargo", "--cargo-plugin"], request + "\n"),
      ("helper kubectl", ["helper", "kubectl", "-p", "shop"], nil),
      ("helper curl-config", ["helper", "curl-config", "-p", "shop", "/me"], nil),
      ("helper netrc", ["helper", "netrc", "-p", "shop"], nil),
      ("refresh", ["refresh"], nil),
      ("profile list", ["profile", "list"], nil),
      ("profile show", ["profile", "show", "shop"], nil),
      ("profile presets", ["profile", "presets"], nil),
      ("profile default", ["profile", "default", "shop"], nil),
      ("profile add", ["profile", "add", "new", url, "--preset", "json"], nil),
      (
        "login URL",
        ["login", url, "-p", "other", "--preset", "json", "-u", Shop.ada, "--password-stdin"], "x\n"
      ),
      ("store unlock", ["store", "unlock"], nil),
      ("jwt decode", ["jwt", "decode"], nil),
      ("jwt decode -", ["jwt", "decode", "-"], "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxIn0.\n"),
      ("authctl", [], nil),
      ("logout", ["logout", "-p", "shop"], nil),
      ("logout --all", ["logout", "--all"], nil),
      ("--version", ["--version"], nil),
      ("help", ["help", "ci"], nil),
    ]
    return rows.map { ($0.0, Row(words: $0.1, stdin: $0.2)) }
  }

  /// Runs the whole table.
  private static func check(
    _ place: Headless, env: [String: String], before: [String] = [],
    _ expected: [String: Outcome], others: Outcome,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    var open = Set(expected.keys)
    for (name, row) in table(place) {
      let run = try await place.run(row, env: env, before: before)
      let wanted = expected[name] ?? common[name] ?? others
      open.remove(name)
      #expect(run.status == wanted.status, "\(name): \(run)", sourceLocation: sourceLocation)
      if let out = wanted.out {
        #expect(run.stdout == out, "\(name)", sourceLocation: sourceLocation)
      } else {
        #expect(!run.stdout.isEmpty, "\(name)", sourceLocation: sourceLocation)
      }
      if let err = wanted.err {
        #expect(run.stderr == err, "\(name)", sourceLocation: sourceLocation)
      } else {
        #expect(!run.stderr.isEmpty, "\(name)", sourceLocation: sourceLocation)
      }
    }
    #expect(open.isEmpty, sourceLocation: sourceLocation)
  }

  // MARK: Outcomes

  private static let unverified =
    "authctl: warning: the signature was not verified\n"

  /// Commands that need neither store nor folder have the same outcome everywhere.
  private static let common: [String: Outcome] = [
    "exec --login": .works("done\n"), "profile presets": .works,
    "jwt decode -": .works(nil, err: unverified), "--version": .works, "help": .works,
  ]

  private static let noBus = Outcome.says(
    12, "no D-Bus session: DBUS_SESSION_BUS_ADDRESS is not set",
    hint: "use AUTHCTL_TOKEN or AUTHCTL_STORE=file (see authctl help ci)")
  private static let otherState = "set AUTHCTL_STATE_DIR to another folder"
  private static let nothingForgotten = Outcome.works(
    "", err: "No sessions.\n")
  private static let noPassword = Outcome.says(
    10, "a password is required, but authctl cannot ask here",
    hint: "use --password-stdin, --password-file F, --password-command C or AUTHCTL_PASSWORD")

  /// The protocols' own responses for an unknown host.
  private static let noCredential: [String: Outcome] = [
    "helper git": .works(""),
    "helper docker": Outcome(
      status: 1, out: "credentials not found in native keychain\n", err: ""),
    "helper bazel": .works("{\"headers\":{}}\n"),
    "helper cargo": .works("{\"v\":[1]}\n{\"Err\":{\"kind\":\"not-found\"}}\n"),
  ]

  private static func list(_ place: Headless, _ accounts: String, _ state: String) -> String {
    let gap = String(repeating: " ", count: max(0, state.count - "STATE".count))
    return "  NAME  PRESET  ACCOUNTS  STATE\(gap)  URL\n"
      + "* shop  -       \(accounts)         \(state)  \(place.api.url)\n"
  }

  /// The configuration folder is read-only.
  private static func unwritable(_ place: Headless, _ why: String) -> [String: Outcome] {
    func says(_ folder: String) -> Outcome {
      .says(
        1, "cannot write to \(folder): \(why)", hint: "set AUTHCTL_CONFIG_DIR to another folder")
    }
    let profiles = says(place.config + "/profiles")
    return [
      "profile show": .works, "profile default": says(place.config), "profile add": profiles,
      "login URL": profiles,
    ]
  }

  /// There is no bus, and no store that works without one.
  private static func busless(_ place: Headless) -> [String: Outcome] {
    [
      "status --check": Outcome(status: 12, out: "", err: ""), "exec": noBus.with(status: 125),
      "helper cargo": noBus.with(out: "{\"v\":[1]}\n"),
      "profile list": .works(
        list(place, "?", "unknown"),
        err: "authctl: warning: cannot list the sessions: no D-Bus session: "
          + "DBUS_SESSION_BUS_ADDRESS is not set\n"),
    ]
  }

  /// The store of files is empty, readable and read-only.
  private static func unwritableStore(
    _ place: Headless, _ why: String, locks: String
  ) -> [String: Outcome] {
    let says = Outcome.says(12, why, hint: otherState)
    return [
      "login": says, "login asking": says, "register": says, "store unlock": says,
      "status": .works("", err: "No sessions.\nhint: authctl login URL\n"),
      "status --check": Outcome(status: 10, out: "", err: ""),
      "exec": notSignedIn(place).with(status: 125),
      "profile list": .works(list(place, "0", "signed out")), "authctl": .works,
      "logout": .says(12, "cannot write to the state folder: \(locks)", hint: otherState),
      "logout --all": nothingForgotten,
    ].merging(noCredential) { $1 }
  }

  private static func notSignedIn(_ place: Headless) -> Outcome {
    .says(10, "not signed in to shop (\(place.api.url))", hint: "authctl login -p shop")
  }

  /// Everything is available.
  private static func signedIn(_ place: Headless) -> [String: Outcome] {
    [
      "login": .works("", err: nil), "login asking": noPassword, "register": .works("", err: nil),
      "whoami": .works(Shop.ada + "\n"), "whoami --offline": .works(Shop.ada + "\n"),
      "status --check": .works(""), "get": .works(Shop.me), "exec": .works("done\n"),
      "refresh": .works(
        "", err: "Renewed shop as ada@example.com. Valid for 15 min; renewed automatically.\n"),
      "store unlock": .works("", err: nil), "jwt decode": .works(nil, err: unverified),
      "logout": .works(
        "",
        err: "Signed out of shop as ada@example.com, at the server and on this machine.\n"),
      "logout --all": nothingForgotten,
    ]
  }

  // MARK: Places

  @Test func rootWithoutHomeAndBus() async throws {
    try await Headless.with { place in
      try await Self.check(
        place,
        env: ["AUTHCTL_CONFIG_DIR": place.config, "AUTHCTL_STATE_DIR": place.box.stateHome],
        Self.busless(place).merging([
          "profile show": .works, "profile default": .works(""),
          "profile add": .works(
            "",
            err: "Created the profile new: \(place.config)/profiles/new.toml\n"
              + "Next: authctl login -p new\n"),
        ]) { $1 }, others: Self.noBus)
    }
  }

  @Test(.enabled(if: isRoot, "only root can become another user"))
  func strangerWithNothing() async throws {
    try await Headless.with { place in
      let homeless = "HOME is not set: set HOME or AUTHCTL_CONFIG_DIR, or use -p FILE"
      let nowhere = Outcome.says(10, "not signed in to any API", hint: homeless)
      let noProfile = Outcome.says(2, "no profile called shop", hint: homeless)
      let elsewhere = "set AUTHCTL_CONFIG_DIR to another folder"
      try await Self.check(
        place, env: [:], before: Headless.asStranger,
        [
          "status": Self.noBus, "status --check": Outcome(status: 12, out: "", err: ""),
          "store unlock": Self.noBus, "logout --all": Self.noBus,
          "exec": nowhere.with(status: 125), "helper kubectl": noProfile,
          "helper curl-config": noProfile, "helper netrc": noProfile, "profile show": noProfile,
          "profile default": noProfile, "logout": noProfile,
          "profile list": .works("", err: "No profiles.\nhint: authctl login URL\n"),
          "profile add": .says(
            1, "cannot create the folder /.config: permission denied", hint: elsewhere),
          "login URL": .says(1, "cannot write to /: permission denied", hint: elsewhere),
          "authctl": .works,
        ].merging(Self.noCredential) { $1 }, others: nowhere)
    }
  }

  @Test(.enabled(if: isRoot, "only root can become another user"))
  func strangerWhoseStoreHasNoPlace() async throws {
    try await Headless.with { place in
      try await Self.check(
        place, env: ["AUTHCTL_CONFIG_DIR": place.config, "AUTHCTL_STORE": "plaintext"],
        before: Headless.asStranger,
        Self.unwritable(place, "permission denied").merging(
          Self.unwritableStore(
            place, "cannot use /.local: permission denied",
            locks: "/.local/state/authctl/locks")
        ) { $1 }, others: Self.notSignedIn(place))
    }
  }

  @Test(.enabled(if: isRoot, "only root can become another user"))
  func strangerWithAToken() async throws {
    try await Headless.with { place in
      let answer = try await place.api.ask(
        "POST", "/login", ["email": .string(Shop.ada), "password": .string(Shop.password)])
      let token = try #require(answer["access_token"]?.string)
      func serves(_ name: String) -> Outcome {
        .works("", err: "Nothing was stored: AUTHCTL_TOKEN is set and is used for \(name).\n")
      }
      var logout = Outcome.says(
        12, "cannot write to the state folder: /.local/state/authctl/locks",
        hint: Self.otherState)
      logout.err =
        "authctl: warning: AUTHCTL_TOKEN is still set and is used for shop\n" + (logout.err ?? "")
      try await Self.check(
        place, env: ["AUTHCTL_CONFIG_DIR": place.config, "AUTHCTL_TOKEN": token],
        before: Headless.asStranger,
        Self.busless(place).merging(Self.unwritable(place, "permission denied")) { $1 }.merging([
          "login": serves("shop"), "login asking": serves("shop"), "login URL": serves("other"),
          "register": Self.noBus, "status": Self.noBus, "store unlock": Self.noBus,
          "authctl": Self.noBus, "logout --all": Self.noBus, "logout": logout,
          "whoami": .works(Shop.ada + "\n"),
          "whoami --offline": .says(
            1, "shop: a token from a variable has no account",
            hint: "leave out --offline to ask the server"),
          "token": .works(token + "\n"), "get": .works(Shop.me), "exec": .works("done\n"),
          "helper cargo": .works,
          "refresh": .says(
            2, "AUTHCTL_TOKEN is set: a token from a variable cannot be renewed",
            hint: "unset AUTHCTL_TOKEN to renew the stored session"),
          "jwt decode": .works(nil, err: Self.unverified),
        ]) { $1 }, others: .works)
    }
  }

  /// Neither a home folder nor a profile, as in a minimal container.
  @Test(.enabled(if: isRoot, "only root can become another user"))
  func strangerWithAnAddressAndATokenAlone() async throws {
    try await Headless.with { place in
      let answer = try await place.api.ask(
        "POST", "/login", ["email": .string(Shop.ada), "password": .string(Shop.password)])
      let env = [
        "AUTHCTL_URL": place.api.url, "AUTHCTL_TOKEN": answer["access_token"]?.string ?? "",
      ]
      for (words, out) in [
        (["get", "/me"], Shop.me), (["exec", "--", "/bin/echo", "done"], "done\n"),
      ] {
        let run = try await place.run(
          Row(words: words), env: env, before: Headless.asStranger)
        #expect(run.stdout == out && run.stderr == "" && run.status == 0)
      }
    }
  }

  @Test(.enabled(if: isRoot, "only root can become another user"))
  func strangerWithFoldersAndAKey() async throws {
    try await Headless.with { place in
      let config = place.folder("own", owner: Headless.stranger)
      _ = place.folder("own/profiles", owner: Headless.stranger)
      let text = try #require(place.box.read("config/authctl/profiles/shop.toml"))
      try place.box.write("own/profiles/shop.toml", text, mode: 0o644)
      let key = try place.box.write("key", String(repeating: "4b", count: 32))
      chown(key, uid_t(Headless.stranger), gid_t(Headless.stranger))
      try await Self.check(
        place,
        env: [
          "AUTHCTL_CONFIG_DIR": config, "AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key,
          "AUTHCTL_STATE_DIR": place.folder("sessions", owner: Headless.stranger),
        ], before: Headless.asStranger,
        Self.signedIn(place).merging([
          "profile default": .works(""), "profile list": .works(Self.list(place, "1", "valid")),
          "profile add": .works(
            "",
            err:
              "Created the profile new: \(config)/profiles/new.toml\nNext: authctl login -p new\n"),
          "login URL": Outcome(
            status: 14, out: "",
            err: """
              authctl: other refused this name and password (HTTP 401)
              server: Wrong e-mail address or password.
              hint: authctl login \(place.api.url) -p other -u \(Shop.ada) --preset json --password-stdin

              """),
        ]) { $1 }, others: .works)
    }
  }

  @Test(.enabled(if: isRoot, "only root can make a file system read-only"))
  func nothingCanBeWritten() async throws {
    try await Headless.with { place in
      guard try await place.mayMount() else { return }
      let state = place.box.stateHome
      let env = [
        "AUTHCTL_CONFIG_DIR": place.config, "AUTHCTL_STORE": "plaintext",
        "AUTHCTL_STATE_DIR": state,
      ]
      let why = "cannot use \(state)/sessions: read-only file system"
      try await Self.check(
        place, env: env, before: place.readOnly(),
        Self.unwritable(place, "read-only file system").merging(
          Self.unwritableStore(place, why, locks: state + "/locks")
        ) { $1 }, others: Self.notSignedIn(place))

      // An existing session works, and a renewal that cannot be stored does not lose it.
      let login = Row(words: ["login", "--password-stdin"], stdin: Shop.password + "\n")
      #expect(try await place.run(login, env: env).status == 0)
      try await place.api.reset()
      let get = try await place.run(Row(words: ["get", "/me"]), env: env, before: place.readOnly())
      #expect(get.stdout == Shop.me && get.stderr == "" && get.status == 0)
      for (writable, why) in [
        ("", "cannot write to the state folder: \(state)/locks"),
        // Locks are writable, the store is not.
        (state + "/locks", why),
      ] {
        let refresh = try await place.run(
          Row(words: ["refresh"]), env: env, before: place.readOnly(writable: writable))
        #expect(refresh.stderr == "authctl: \(why)\nhint: \(Self.otherState)\n")
        #expect(refresh.stdout == "" && refresh.status == 12)
      }
      #expect(try await place.api.counts() == ["GET /me": 1])
      #expect(try await place.run(Row(words: ["refresh"]), env: env).status == 0)
    }
  }

  @Test(.enabled(if: isRoot, "only root can make a file system read-only"))
  func nothingCanBeWrittenButTheStateFolder() async throws {
    try await Headless.with { place in
      guard try await place.mayMount() else { return }
      let state = place.box.stateHome
      var asking = Self.noPassword
      asking.err =
        "authctl: warning: the store plaintext does not encrypt: anyone who can read "
        + "\(state)/sessions can use the session\n" + (asking.err ?? "")
      try await Self.check(
        place,
        env: [
          "AUTHCTL_CONFIG_DIR": place.config, "AUTHCTL_STORE": "plaintext",
          "AUTHCTL_STATE_DIR": state,
        ], before: place.readOnly(writable: state),
        Self.signedIn(place).merging(Self.unwritable(place, "read-only file system")) { $1 }
          .merging([
            "login asking": asking, "profile list": .works(Self.list(place, "1", "valid")),
          ]) { $1 }, others: .works)
    }
  }
}
