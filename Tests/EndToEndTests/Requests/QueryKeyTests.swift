import Testing

/// `request.query`: an API key in the URL is added when a request is sent, and shown nowhere.
@Suite struct QueryKeyTests {
  /// Too short to be masked by its value: only its place hides it.
  private static let short = "k7"
  private static let home: [String: String?] = ["XDG_CONFIG_HOME": nil]
  private static let file = "home/.config/authctl/profiles/shop.toml"

  /// A profile by `login --preset api-key`, with the key in the parameter `appid`.
  private func with(
    _ key: String, _ box: Sandbox, _ url: String, more: String = ""
  ) async throws {
    let run = try await box.run(
      [
        "login", url, "-p", "shop", "--preset", "api-key", "--token-stdin", "-q",
        "--set", #"request.query={"appid":"{access_token}","v":"2"}"#,
      ], stdin: key + "\n", env: Self.home)
    try #require(run.status == 0, "\(run.stderr)")
    if !more.isEmpty { try box.write(Self.file, (box.read(Self.file) ?? "") + more) }
  }

  private func run(_ box: Sandbox, _ words: String...) async throws -> Run {
    try await box.run(words, env: Self.home)
  }

  /// No stream shows the key, by value or by place.
  private func expectHidden(
    _ run: Run, _ key: String, sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for text in [run.stdout, run.stderr] {
      #expect(!text.contains("appid=\(key)"), "\(text)", sourceLocation: sourceLocation)
    }
  }

  @Test func isSentInTheQueryAndInNoHeader() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key", suffix: " &+%=#/?\u{E9}")
      let api = try box.recorder(answering: Recorder.ok)
      try await with(key, box, api.url)
      for target in ["/items", "/items?q=a%20b&v=3", "/items?"] {
        #expect(try await run(box, "get", target).status == 0)
      }
      let encoded = api.texts.compactMap { $0.split(separator: " ").dropFirst().first }
      let value = encoded.first?.split(separator: "&").first?.split(separator: "=").last ?? ""
      #expect(value.hasSuffix("%20%26%2B%25%3D%23%2F%3F%C3%A9"), "\(encoded)")
      #expect(
        encoded == [
          "/items?appid=\(value)&v=2", "/items?q=a%20b&v=3&appid=\(value)",
          "/items?appid=\(value)&v=2",
        ])
      #expect(api.texts.allSatisfy { !$0.contains("X-API-Key") && !$0.contains("Authorization") })
      // The recipe's own requests carry it too.
      try box.write(
        Self.file,
        (box.read(Self.file) ?? "") + "\n[whoami]\npath = \"/me\"\n"
          + "[logout]\npath = \"/out\"\nmethod = \"DELETE\"\nencoding = \"none\"\n")
      _ = try await run(box, "whoami")
      _ = try await run(box, "logout")
      let last = api.texts.suffix(2).compactMap { $0.split(separator: " HTTP").first }
      #expect(
        last == ["GET /me?appid=\(value)&v=2", "DELETE /out?appid=\(value)&v=2"], "\(last)")
    }
  }

  @Test(arguments: ["k7", nil]) func isShownNowhere(_ given: String?) async throws {
    try await Sandbox.with { box in
      let key = given ?? box.canary.make("key")
      let api = try box.recorder(
        answering: Scene.routes([
          "GET /items": .http(
            200, "{}", headers: [("Link", "</next?appid=\(key)>; rel=\"prev\"")]),
          "GET /moved": .redirect(to: "/items?appid=\(key)&b=1"),
        ]))
      try await with(key, box, api.url)
      for words in [
        ["get", "/items?a=1", "-v", "-i"], ["get", "/items", "--trace", "-", "-D", "-"],
        ["get", "/moved", "-v", "-w", "%{json}%{url}%{url_effective}%{header_json}"],
        ["get", "/moved", "--max-redirs", "0", "-i", "-w", "%{redirect_url}%header{location}"],
        ["get", "/missing"], ["get", "/items?a=1", "--dry-run"], ["get", "/items", "--as-curl"],
        ["get", "/items", "--errors", "json", "--pointer", "/x"], ["profile", "show", "shop"],
        ["helper", "curl-config", "-p", "shop", "/items"], ["doctor", "-p", "shop"],
      ] {
        expectHidden(try await box.run(words, env: Self.home), key)
      }
      let dry = try await run(box, "get", "/items?a=1", "--dry-run")
      #expect(
        dry.stdout.hasPrefix("GET \(api.url)/items?a=1&v=2&appid=***\n"), "\(dry.stdout)")
      let shown = try await run(box, "get", "/moved", "-v")
      #expect(shown.stderr.contains("> GET /moved?appid=***&v=2 HTTP/1.1\n"), "\(shown.stderr)")
      #expect(shown.stderr.contains("< Location: /items?appid=***&b=1\n"), "\(shown.stderr)")
      #expect(shown.stderr.contains("* redirect to \(api.url)/items?b=1\n"), "\(shown.stderr)")
      let curl = try await run(box, "get", "/items", "--as-curl")
      #expect(curl.status == 2 && curl.stdout == "")
      #expect(
        curl.stderr == """
          authctl: --as-curl does not support the session of shop: it is in a parameter of the URL
          hint: use --dry-run to print the request

          """)
      let batch = try await box.run(
        "batch", stdin: "{\"url\":\"/items\"}\n{\"url\":\"/missing\"}\n", env: Self.home)
      expectHidden(batch, key)
      #expect(batch.stdout.contains("appid=***"), "\(batch.stdout)")
    }
  }

  /// It goes to the origins of the session only, and what a server puts into a URL does not
  /// take it elsewhere.
  @Test func staysWithItsOrigin() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let other = try box.recorder(answering: Recorder.ok)
      let api = try box.recorder(
        answering: Scene.routes([
          "GET /away": .redirect(to: "\(other.url)/x?appid=\(key)&b=1&copy=\(key)"),
          "GET /home": .redirect(to: "/items?b=1&appid=\(key)"),
          "GET /items": .http(200, "{}"),
        ]))
      try await with(key, box, api.url)
      #expect(try await run(box, "get", "/away").status == 0)
      #expect(Look.asked(other) == ["GET /x?b=1"])
      #expect(Scene.holds(other, [key]) == [])
      #expect(try await run(box, "get", "/home").status == 0)
      #expect(Look.asked(api).last == "GET /items?b=1&appid=\(key)&v=2")
      #expect((other.texts + api.texts).allSatisfy { !$0.contains("Referer") })
      let elsewhere = try await run(box, "get", "-p", "shop", other.url + "/y")
      #expect(elsewhere.status == 13 && other.connections.count == 1)
      let anonymous = try await run(box, "get", "-p", "shop", "--anonymous", "/items?appid=own")
      #expect(anonymous.status == 0 && Look.asked(api).last == "GET /items?appid=own")
    }
  }

  @Test func nextPagesHaveItOnce() async throws {
    try await Sandbox.with { box in
      let key = box.canary.make("key")
      let api = try box.recorder { index, _ in
        .http(
          200, "[\(index)]",
          headers: index == 0 ? [("Link", "</items?page=2&appid=\(key)>; rel=\"next\"")] : [])
      }
      try await with(key, box, api.url)
      let run = try await run(box, "get", "/items", "--paginate", "--each", "", "-v")
      #expect(run.status == 0 && run.stdout == "0\n1\n", "\(run.stderr)")
      #expect(
        Look.asked(api) == ["GET /items?appid=\(key)&v=2", "GET /items?page=2&appid=\(key)&v=2"])
    }
  }

  /// Rule B2: a parameter of yours does not replace the credential.
  @Test func parameterOfTheCredentialIsNotTheUsers() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(answering: Recorder.ok)
      try await with(Self.short, box, api.url)
      let expected = """
        authctl: shop sends its credential in the parameter appid
        hint: use --anonymous to send your own

        """
      for words in [
        ["/items?a=1&appid=x"], ["/items?%61ppid="], ["/items", "-G", "-d", "appid=x"],
      ] {
        let run = try await box.run(["get"] + words, env: Self.home)
        #expect(run.status == 2 && run.stdout == "" && run.stderr == expected, "\(run.stderr)")
      }
      let batch = try await box.run("batch", stdin: "{\"url\":\"/x?appid=1\"}\n", env: Self.home)
      #expect(batch.status == 2 && batch.stdout.contains("in the parameter appid"))
      #expect(api.connections.isEmpty)
    }
  }

  /// The profile's own request.headers stay beside it; a preset's give way.
  @Test func headersOfTheFileStay() async throws {
    try await Sandbox.with { box in
      let api = try box.recorder(answering: Recorder.ok)
      try await with(Self.short, box, api.url)
      let text = try #require(box.read(Self.file))
      try box.write(
        Self.file,
        text.replacing("[request]\n", with: "[request]\nheaders = { X-K = \"{access_token}\" }\n"))
      #expect(try await run(box, "get", "/a").status == 0)
      #expect(api.texts.last?.contains("\r\nX-K: k7\r\n") == true)
      #expect(Look.asked(api) == ["GET /a?appid=k7&v=2"])
    }
  }
}
