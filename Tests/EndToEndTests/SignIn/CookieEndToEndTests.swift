import Testing

/// Cookies that a recipe stores: rule A10.
@Suite struct CookieEndToEndTests {
  private static let keeps = #"""
    cookies = true
    headers = { Authorization = "Bearer {access_token}" }
    """#

  /// The Cookie header of the last request, without its name.
  private static func sent(_ api: Recorder) -> String? {
    (api.texts.last ?? "").split(separator: "\r\n").first { $0.hasPrefix("Cookie: ") }
      .map { String($0.dropFirst("Cookie: ".count)) }
  }

  private static func login(setting lines: [String]) -> Recorder.Answer {
    .http(200, #"{"access_token":"good"}"#, headers: lines.map { ("Set-Cookie", $0) })
  }

  /// The cookies of a sign-in (N: a name unique to the row), and those then sent to /app/x.
  static let rows: [(set: [String], sent: String?)] = [
    (["N=1"], "N=1"), (["N=1; Path=/"], "N=1"), (["N=1; Path=/app"], "N=1"),
    (["N=1; Path=/ap"], nil), (["N=1; Path=/app/x/y"], nil), (["N=1; Path=/other"], nil),
    (["N=1; Path=/app/"], "N=1"), (["N=1; Path=relative"], "N=1"),
    (["N=1; Domain=.shop.example"], "N=1"), (["N=1; Domain=evil.example"], "N=1"),
    (["N=1; Secure"], nil), (["__Host-N=1; Path=/"], nil), (["__Secure-N=1"], nil),
    (["N=1; Max-Age=0"], nil), (["N=1; Max-Age=-5"], nil), (["N=1; Max-Age=600"], "N=1"),
    (["N=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT"], nil),
    (["N=1; Expires=Thu, 01 Jan 1970 00:00:00 GMT; Max-Age=60"], "N=1"),
    (["N=1; HttpOnly; SameSite=Strict"], "N=1"), (["N=1", "N=2"], "N=2"),
    (["N=1", "N=x; Max-Age=0"], nil), (["=1"], nil), (["N"], nil),
  ]

  @Test func cookiesGoWhereTheyBelong() async throws {
    func named(_ text: String, _ index: Int) -> String {
      let name = Array("c\(index)".utf8)
      return String(decoding: text.utf8.flatMap { $0 == 0x4E ? name : [$0] }, as: UTF8.self)
    }
    try await Sandbox.with { box in
      let lines = Self.rows.enumerated().flatMap { index, row in
        row.set.map { line in
          // Do not rename in the attributes.
          let parts = line.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
          return named(String(parts[0]), index) + (parts.count > 1 ? ";" + parts[1] : "")
        }
      }
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login" ? Self.login(setting: lines) : .http(200, "{}")
      }
      try box.profile("shop", Scene.profile(api.url, request: Self.keeps))
      try await box.signIn("shop")
      let run = try await box.run("get", "-p", "shop", "/app/x")
      #expect(run.status == 0, "\(run.stderr)")
      let sent = (Self.sent(api) ?? "").split(separator: "; ").map(String.init)
      let wanted = Self.rows.enumerated().compactMap { index, row in
        row.sent.map { named($0, index) }
      }
      #expect(sent.sorted() == wanted.sorted())
    }
  }

  @Test func anotherPortOrNameIsAnotherOrigin() async throws {
    try await Sandbox.with { box in
      let (access, cookie) = (box.canary.make("access"), box.canary.make("cookie"))
      let a = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login"
          ? .http(
            200, #"{"access_token":"\#(access)"}"#,
            headers: [("Set-Cookie", "sid=\(cookie); Path=/; Domain=127.0.0.1")])
          : .http(200, "{}")
      }
      // B may receive the token, but cookies are not shared.
      let b = try box.recorder { _, _ in
        .http(200, "{}", headers: [("Set-Cookie", "sid=planted; Path=/")])
      }
      try box.profile(
        "shop",
        Scene.profile(a.url, request: Self.keeps, network: "allow_origins = [\"\(b.url)\"]"))
      try await box.signIn("shop")
      for _ in 0..<2 {
        #expect(try await box.run("get", "-p", "shop", b.url + "/").status == 0)
      }
      #expect(Scene.holds(b, [access, cookie]) == [access])
      // B's cookie is sent only to B.
      #expect(Self.sent(b) == "sid=planted")
      #expect(try await box.run("get", "-p", "shop", "/").status == 0)
      #expect(Self.sent(a) == "sid=\(cookie)")
    }
  }

  @Test func answersOfRequestsRenewAndEndCookies() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder { _, request in
        switch Scene.route(of: request) {
        case "POST /login": Self.login(setting: ["sid=1; Path=/", "keep=2; Path=/"])
        case "GET /renew": .http(200, "{}", headers: [("Set-Cookie", "sid=3; Path=/")])
        case "GET /end": .http(404, "{}", headers: [("Set-Cookie", "sid=; Path=/; Max-Age=0")])
        default: .http(200, "{}")
        }
      }
      try box.profile("shop", Scene.profile(api.url, request: Self.keeps))
      try await box.signIn("shop")
      for (path, sent) in [
        ("/renew", "sid=1; keep=2"), ("/end", "sid=3; keep=2"), ("/x", "keep=2"),
      ] {
        _ = try await box.run("get", "-p", "shop", path)
        let got = (Self.sent(api) ?? "").split(separator: "; ").sorted()
        #expect(got == sent.split(separator: "; ").sorted(), "\(path)")
      }
    }
  }

  @Test func nothingIsKeptUnlessTheRecipeSaysSo() async throws {
    try await Sandbox.with { box in
      let cookie = box.canary.make("cookie")
      let api = try box.recorder { _, request in
        .http(
          200, #"{"access_token":"good","expires_in":900}"#,
          headers: [("Set-Cookie", "sid=\(cookie); Path=/")])
      }
      try box.profile("shop", Scene.profile(api.url))
      try await box.signIn("shop")
      for _ in 0..<2 { #expect(try await box.run("get", "-p", "shop", "/").status == 0) }
      #expect(Scene.holds(api, [cookie]) == [])
      #expect(try await box.items().allSatisfy { $0.secret?.contains(cookie) == false })
    }
  }

  @Test func jarIsBounded() async throws {
    try await Sandbox.with { box in
      let latest = Mutable<[String]>([])
      let api = try box.recorder { _, request in
        Scene.route(of: request) == "POST /login"
          ? Self.login(setting: latest.value)
          : .http(200, "{}", headers: [("Set-Cookie", "late=1; Path=/")])
      }
      try box.profile("shop", Scene.profile(api.url, request: Self.keeps))
      let fifty = (1...50).map { "c\($0)=1; Path=/" }
      for tooMany in [
        fifty + ["c51=1; Path=/"], ["big=\(String(repeating: "x", count: 4097)); Path=/"],
        (1...17).map { "c\($0)=\(String(repeating: "x", count: 4000)); Path=/" },
      ] {
        latest.value = tooMany
        let run = try await box.run(
          "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "a password")
        #expect(run.status == 15, "\(tooMany.count): \(run.stderr)")
        #expect(try await box.items().isEmpty)
      }
      latest.value = fifty
      try await box.signIn("shop")
      let late = try await box.run("get", "-p", "shop", "/")
      #expect(late.status == 0)
      #expect(late.stderr.hasPrefix("authctl: warning: "), "\(late.stderr)")
      _ = try await box.run("get", "-p", "shop", "/")
      #expect(Self.sent(api)?.contains("late") == false)
      #expect(Self.sent(api)?.split(separator: "; ").count == 50)
    }
  }
}
