import Glibc
import Testing

/// A user's folder of profiles at `~/.config/authctl`, so that messages show the usual paths.
struct ProfileDesk: Sendable {
  static let folder = "home/.config/authctl/"
  static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  /// The path of a profile as messages show it.
  static func shown(_ name: String) -> String { "~/.config/authctl/profiles/\(name).toml" }

  let box: Sandbox

  /// Runs `body` with a desk in its own sandbox.
  static func with(
    _ kind: Sandbox.Kind = .none, _ body: (ProfileDesk) async throws -> Void
  ) async throws {
    try await Sandbox.with(kind) { try await body(ProfileDesk(box: $0)) }
  }

  func run(
    _ words: String..., stdin: String? = nil, env: [String: String?] = [:],
    directory: String? = nil
  ) async throws -> Run { try await run(words, stdin: stdin, env: env, directory: directory) }

  func run(
    _ words: [String], stdin: String? = nil, env: [String: String?] = [:],
    directory: String? = nil
  ) async throws -> Run {
    try await box.run(
      words, stdin: stdin, env: Self.home.merging(env) { $1 }, directory: directory)
  }

  @discardableResult
  func write(_ name: String, _ text: String, mode: mode_t = 0o600) throws -> String {
    try box.write(Self.folder + "profiles/\(name).toml", text, mode: mode)
  }

  func read(_ name: String) -> String? { box.read(Self.folder + "profiles/\(name).toml") }

  var names: [String] { list(box.root + "/" + Self.folder + "profiles") }

  /// Mode and inode of every folder and file below the configuration folder, and the modification
  /// time and content of every file.
  var everything: [String] {
    func below(_ path: String) -> [String] {
      var info = stat()
      guard lstat(path, &info) == 0 else { return [] }
      let about = "\(path) \(String(info.st_mode, radix: 8)) \(info.st_ino)"
      if info.st_mode & S_IFMT == S_IFDIR {
        return [about] + list(path).flatMap { below(path + "/" + $0) }
      }
      let time = "\(info.st_mtim.tv_sec).\(info.st_mtim.tv_nsec)"
      return [about, time, String(decoding: readFile(path) ?? [], as: UTF8.self)]
    }
    return below(box.home + "/.config")
  }

  /// Expects that the command is a usage error with this message, and changes nothing on disk.
  /// - Parameter mend: a part of its hint; empty: any hint.
  func expectRefusal(
    _ words: [String], _ says: String, mend: String? = nil, stdin: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    let before = everything
    let run = try await run(words, stdin: stdin)
    let note: Comment = "\(words): \(run.stderr)"
    #expect(run.status == 2 && run.stdout == "", note, sourceLocation: sourceLocation)
    #expect(run.hasErrorForm, note, sourceLocation: sourceLocation)
    #expect(says.isEmpty || run.stderr.contains(says), note, sourceLocation: sourceLocation)
    if let mend {
      let hint = run.stderr.split(separator: "\n").first { $0.hasPrefix("hint: ") }
      let isThere = mend.isEmpty ? hint != nil : hint?.contains(mend) == true
      #expect(isThere, note, sourceLocation: sourceLocation)
    }
    #expect(everything == before, note, sourceLocation: sourceLocation)
  }
}

/// `authctl profile add`, `set`, `remove` and `export`: profiles that people copy, change and
/// share.
@Suite struct ProfileSharingTests {
  private static let shop = """
    # The shop's API.
    url = "https://api.shop.example"   # its address
    account = "ada@shop.example"       # mine
    public = ["apikey"]

    # How to sign in.
    [login]
    path = "/api/login"
    body = { email = "{username}", password = "{password}" }   # two fields
    headers = { apikey = "anon" }

    [session]   # places
    access_token = [
      "/jwt",   # new servers
      "/token", # old ones
    ]
    # the end

    """
  private static let shared = shop.replacing(
    "account = \"ada@shop.example\"       # mine\n", with: "")

  // MARK: add

  @Test func addLikeAnotherProfile() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", Self.shop, mode: 0o640)
      let plain = try await desk.run(
        "profile", "add", "shop-test", "https://test.shop.example", "--like", "shop")
      #expect(plain.status == 0 && plain.stdout == "")
      #expect(
        plain.stderr == """
          Created the profile shop-test: \(ProfileDesk.shown("shop-test"))
          Next: authctl login -p shop-test

          """)
      let moved = Self.shared.replacing(
        "https://api.shop.example", with: "https://test.shop.example")
      #expect(desk.read("shop-test") == moved)
      let set = try await desk.run(
        "profile", "add", "v2", "--like", "shop", "--set", "login.path=/v2/login", "--token-at",
        "/data/jwt", "--set", "account=bob", "--json")
      #expect(set.status == 0, "\(set.stderr)")
      let text = desk.read("v2") ?? ""
      #expect(text.contains("\npath = \"/v2/login\"\nbody = { email"))
      #expect(text.contains("\naccess_token = [\"/data/jwt\"]\n# the end\n"))
      #expect(text.contains("account = \"bob\"\n") && !text.contains("ada@"))
      #expect(text.hasPrefix("# The shop's API.\nurl = \"https://api.shop.example\"   # its"))
      #expect(try JSON(parsing: set.stdout)["name"] == "v2")
      #expect(desk.read("shop") == Self.shop)
      #expect(desk.names == ["shop-test.toml", "shop.toml", "v2.toml"])
    }
  }

  @Test func addLikeWhatCannotBe() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", Self.shop)
      try desk.write("broken", "url = \"https://h.example\"\nacount = \"x\"\n")
      let url = "https://test.shop.example"
      let rows: [(words: [String], says: String, mend: String?)] = [
        (["x", url, "--like", "shpo"], "no profile called shpo; did you mean shop?", "list"),
        (["x", url, "--like", "../shop"], "is not a profile name", "letters"),
        (["x", url, "--like", "broken"], "x.toml:2:1: unknown key acount", "account?"),
        (["x", url, "--like", "shop", "--preset", "json"], "cannot be used together", nil),
        (["x", url, "--like", "shop", "--from-curl", "-"], "cannot be used together", nil),
        (["x", url, "--like", "shop", "--set", "login.pth=/x"], "unknown key login.pth", "path?"),
        (["shop", url, "--like", "shop"], "shop.toml already exists", "--replace"),
        (["x.toml", url, "--like", "shop"], "is not a profile name", "letters"),
      ]
      for (words, says, mend) in rows {
        try await desk.expectRefusal(["profile", "add"] + words, says, mend: mend)
      }
    }
  }

  @Test func addReplacesOnlyWhenToldTo() async throws {
    try await ProfileDesk.with { desk in
      let path = try desk.write("shop", Self.shop, mode: 0o640)
      let words = ["profile", "add", "shop", "https://new.shop.example", "--preset", "simplejwt"]
      try await desk.expectRefusal(
        words, "authctl: \(ProfileDesk.shown("shop")) already exists\n", mend: "--replace")
      // A wrong profile does not replace a valid one.
      for (wrong, says) in [
        (["--preset", "simplejtw"], "unknown preset simplejtw"),
        (["--set", "session.refused=[200]"], "shop.toml:"),
      ] {
        try await desk.expectRefusal(
          ["profile", "add", "shop", "https://new.shop.example", "--replace"] + wrong, says)
      }
      let run = try await desk.run(words + ["--replace"])
      #expect(run.status == 0 && run.stdout == "", "\(run.stderr)")
      #expect(
        desk.read("shop") == "url = \"https://new.shop.example\"\npreset = \"simplejwt\"\n")
      var info = stat()
      #expect(stat(path, &info) == 0 && info.st_mode & 0o022 == 0)
      #expect(desk.names == ["shop.toml"])
      // A profile may replace itself, and --replace works without an old one.
      let again = try await desk.run("profile", "add", "shop", "--like", "shop", "--replace")
      #expect(again.status == 0, "\(again.stderr)")
      #expect(
        desk.read("shop") == "url = \"https://new.shop.example\"\npreset = \"simplejwt\"\n")
      #expect(
        try await desk.run("profile", "add", "b", "https://b.example", "--replace").status == 0)
      #expect(desk.names == ["b.toml", "shop.toml"])
    }
  }

  /// URLs that cannot be an API's, and the message for each.
  static let wrongURLs: [(url: String, says: String)] = [
    ("shop.example", "begin with http:// or https://"),
    ("//shop.example", "begin with http:// or https://"),
    ("ftp://shop.example", "begin with http:// or https://"),
    ("https:shop.example", "begin with http:// or https://"),
    ("https:/shop.example", "begin with http:// or https://"),
    ("", "begin with http:// or https://"), ("https://", "no host"), ("https:///v2", "no host"),
    ("https://:443", "no host"), ("https://[::1", "no host"),
    ("https://ada:s3cr3t-word@shop.example", "a user name or password"),
    ("https://ada@shop.example/v2", "a user name or password"),
    ("https://good\\@evil.example", ""), ("https://%65vil.example", "host"),
    ("https://shop example", "host"), ("https://shop.example.", "dot at the end"),
    ("https://shop.example:0", "port"), ("https://shop.example:65536", "port"),
    ("https://shop.example#top", "not have a fragment"),
    ("https://shop.example/v2#", "not have a fragment"),
    ("https://shop.example/v2?x=1", "not have a query"),
    ("https://shop.example?", "not have a query"),
  ]

  @Test func addTakesNoWrongURL() async throws {
    try await ProfileDesk.with { desk in
      for (url, says) in Self.wrongURLs {
        // Nothing exists yet, not even the folder, and nothing is created.
        try await desk.expectRefusal(["profile", "add", "x", url], says, mend: "")
      }
      #expect(desk.everything.isEmpty)
      try desk.write("shop", Self.shop)
      for (url, says) in Self.wrongURLs {
        try await desk.expectRefusal(
          ["profile", "add", "x", url, "--like", "shop"], url.isEmpty ? "must not be empty" : says)
        try await desk.expectRefusal(["profile", "add", "shop", url, "--replace"], says)
        let set = ["profile", "set", "shop", "url=\(url)"]
        try await desk.expectRefusal(set, "shop.toml:2:1: url")
      }
      let said = desk.box.runs.map { String(decoding: $0.child.view.err, as: UTF8.self) }
      #expect(!said.contains { $0.contains("s3cr3t-word") })
    }
  }

  @Test func addNamesTheNearestPreset() async throws {
    try await ProfileDesk.with { desk in
      let presets: [(given: String, mend: String)] = [
        ("exprss-jwt", "did you mean express-jwt?"), ("simplejtw", "did you mean simplejwt?"),
        ("gitae", "did you mean gitea?"), ("GITEA", "did you mean gitea?"),
        ("devise_jwt", "did you mean devise-jwt?"), ("zzzzzzzzzz", "authctl profile presets"),
        ("defaults", "authctl profile presets"), ("../gitea", ""), ("gitea.toml", ""),
      ]
      for (given, mend) in presets {
        try await desk.expectRefusal(
          ["profile", "add", "x", "https://h.example", "--preset", given],
          "authctl: unknown preset \(given)\n", mend: mend)
        // A part of a name lists those that have it.
        if given == "GITEA" { continue }
        try await desk.expectRefusal(["profile", "presets", given], "unknown preset", mend: mend)
      }
      #expect(desk.everything.isEmpty)
    }
  }

  @Test func addTakesNoWrongRecipe() async throws {
    try await ProfileDesk.with { desk in
      let rows: [(words: [String], says: String, mend: String)] = [
        (
          ["--set", "vars.api_key=sk"], ":5:1: vars.api_key: a fixed value for api_key", "public = "
        ),
        (["--set", "login.path=/{vars.t}"], "login.path: {vars.t} has no value", "--set vars.t="),
        (["--set", #"login.body={"a":"{nope}"}"#], "unknown placeholder {nope}", "{username}"),
        (["--body", #"{"a":"{taken.csrf}"}"#], "{taken.csrf} has no value", "[prefetch]"),
        (["--token-at", "token"], "\"token\" is not a place", "JSON Pointer"),
        (["--set", "session.expired_when=[\"x\"]"], "\"x\" is not a place", "JSON Pointer"),
        (["--send", "Host: evil.example"], "a profile cannot set this header", ""),
        (["--send", "X-API-Key: sk"], "looks like a secret", "{app_key}"),
        (["--set", "otp.when=[\"/x\"]"], "[otp] has no status", "status = [401]"),
        (
          ["--preset", "basic-token", "--set", "detect.path=/x"],
          "[detect] has nothing to look for", "when or text"
        ),
        (["--set", "vars=x"], "unknown key vars", ""),
        (["--set", "varz.a=x"], "unknown key varz.a", ""),
        (["--preset", "parse"], "{vars.app_id} has no value", "--set vars.app_id=VALUE"),
      ]
      for (words, says, mend) in rows {
        let mend = mend.isEmpty ? nil : mend
        try await desk.expectRefusal(
          ["profile", "add", "x", "https://h.example"] + words, says, mend: mend)
      }
      #expect(desk.everything.isEmpty)
      let good = try await desk.run(
        "profile", "add", "x", "https://h.example", "--preset", "parse", "--set", "vars.app_id=a1")
      #expect(good.status == 0, "\(good.stderr)")
    }
  }

  // MARK: set

  @Test func setChangesAllOrNothing() async throws {
    try await ProfileDesk.with { desk in
      let path = try desk.write("shop", Self.shop, mode: 0o640)
      let changes = ["account=bob", "login.method=PUT", "vars.tenant=acme"]
      let wrong: [(setting: String, says: String)] = [
        ("session.refused=[200]", "shop.toml:"), ("session.refused=x", "session.refused: must be"),
        ("login.pth=/x", "unknown key login.pth"), ("preset=jsom", "unknown preset jsom"),
        ("login.body={\"a\":\"{nope}\"}", "shop.toml:9:10: login.body.a"),
        ("vars.token=x", "shop.toml:"), ("noequals", "write KEY=VALUE"), ("=x", "write KEY=VALUE"),
        ("account=a\u{1B}b", "control characters"),
      ]
      for (setting, says) in wrong {
        try await desk.expectRefusal(["profile", "set", "shop"] + changes + [setting], says)
        try await desk.expectRefusal(
          ["profile", "set", "shop", setting] + changes.dropFirst(), says)
      }
      for words in [["--unset", "url"], ["--unset", "acount"], [], ["--unset", "login.path"]] {
        try await desk.expectRefusal(["profile", "set", "shop"] + words, "")
      }
      try await desk.expectRefusal(
        ["profile", "set", "shpo", "account=x"], "no profile called shpo; did you mean shop?")
      func inode() -> ino_t {
        var info = stat()
        return stat(path, &info) == 0 && info.st_mode & 0o7777 == 0o640 ? info.st_ino : 0
      }
      let before = inode()
      let run = try await desk.run(["profile", "set", "shop"] + changes)
      #expect(run.status == 0 && run.stdout == "" && run.stderr == "")
      let text = Self.shop
        .replacing("account = \"ada@shop.example\"", with: "account = \"bob\"")
        .replacing("\"anon\" }\n", with: "\"anon\" }\nmethod = \"PUT\"\n")
      #expect(desk.read("shop") == text + "\n[vars]\ntenant = \"acme\"\n")
      #expect(inode() != before && inode() != 0, "a new file by rename, its mode kept")
      #expect(desk.names == ["shop.toml"])
      let unset = try await desk.run(
        "profile", "set", "shop", "--unset", "login.method", "--unset", "account", "--unset",
        "vars.tenant", "--unset", "network.proxy")
      #expect(unset.status == 0 && unset.stdout == "")
      #expect(unset.stderr == "shop does not set network.proxy.\n")
      #expect(desk.read("shop")?.hasPrefix(Self.shared) == true)
    }
  }

  /// While others write, a reader sees either the whole old file or the whole new one.
  @Test func setIsNeverSeenHalfDone() async throws {
    try await ProfileDesk.with { desk in
      let path = try desk.write("shop", Self.shop)
      let allowed = Set(
        ["ada@shop.example", "b", String(repeating: "c", count: 250)].map { account in
          Array(Self.shop.replacing("ada@shop.example", with: account).utf8)
        })
      let isDone = Mutable(false)
      let reads = Mutable(0)
      async let seen: [[UInt8]?] = onThread {
        var wrong: [[UInt8]?] = []
        while !isDone.value {
          let bytes = readFile(path)
          if !(bytes.map(allowed.contains) ?? false) { wrong.append(bytes) }
          reads.increase()
        }
        return wrong
      }
      for round in 0..<12 {
        let account = round % 2 == 0 ? String(repeating: "c", count: 250) : "b"
        let run = try await desk.run("profile", "set", "shop", "account=\(account)")
        #expect(run.status == 0, "\(run.stderr)")
      }
      isDone.value = true
      #expect(try await seen.isEmpty)
      #expect(reads.value > 0)
    }
  }

  @Test func setMendsWhatIsWrong() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", "url = \"https://h.example\"\n[session]\nrefused = [200] # no\n")
      try await desk.expectRefusal(
        ["profile", "set", "shop", "account=x"],
        "authctl: \(ProfileDesk.shown("shop")):4:1: session.refused: 200 is not allowed")
      let run = try await desk.run("profile", "set", "shop", "session.refused=401")
      #expect(run.status == 0, "\(run.stderr)")
      #expect(
        desk.read("shop") == "url = \"https://h.example\"\n[session]\nrefused = [401] # no\n")
    }
  }

  // MARK: export

  @Test func exportLeavesOutTheAccountAlone() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", Self.shop)
      let before = desk.everything
      let run = try await desk.run("profile", "export", "shop")
      #expect(run.status == 0 && run.stderr == "")
      #expect(run.stdout == Self.shared)
      #expect(desk.everything == before)
      // Import accepts the output of export, from a pipe and from a file.
      let piped = try await desk.run("profile", "import", "a", "-", stdin: run.stdout)
      #expect(piped.status == 0, "\(piped.stderr)")
      let file = try desk.box.write("team.toml", run.stdout)
      let filed = try await desk.run("profile", "import", "b", file)
      #expect(filed.status == 0, "\(filed.stderr)")
      #expect(desk.read("a") == Self.shared && desk.read("b") == Self.shared)
      #expect(try await desk.run("profile", "export", "a").stdout == Self.shared)
      // The account may be anywhere above the tables, or missing.
      for line in ["account = \"ada\"", "account='a' # account", "  \"account\" = 'a'"] {
        let text = line + "\nurl = \"https://h.example\"\n"
        try desk.write("c", text)
        let told = try await desk.run("profile", "export", "c").stdout
        #expect(told.hasPrefix("url") && !told.contains("account"))
      }
    }
  }

  @Test func exportGivesAwayNothingWrong() async throws {
    try await ProfileDesk.with { desk in
      try desk.write("shop", Self.shop)
      try desk.write("broken", "url = \"https://h.example\"\naccount = \"a\"\n\nacount = \"x\"\n")
      try await desk.expectRefusal(
        ["profile", "export", "broken"], "broken.toml:4:1: unknown key acount", mend: "account?")
      try await desk.expectRefusal(
        ["profile", "export", "shpo"], "no profile called shpo; did you mean shop?", mend: "list")
      try await desk.expectRefusal(["profile", "export", "../shop"], "is not a profile name")
    }
  }
}
