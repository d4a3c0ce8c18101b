import Testing

/// What is handed to a browser, and shown to a person to visit: rules A11 and B16.
@Suite struct OAuthBrowserTests {
  @Test(arguments: [
    "-x", "--config=/tmp/x", "file:///etc/passwd", "javascript:alert(1)", "$(id)", "`id`",
    "https://id.example/a b", "https://id.example/\nx", "https://id.example/\\x",
    "https://a:b@id.example/", "http://id.example/authorize", "https://id.example/#x",
    "https://id.example/\"x", "data:text/html,x", "//id.example/", "https://id.example/\u{202E}x",
  ])
  func noSuchURLIsOpened(endpoint: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["metadata": ["authorization_endpoint": .string(endpoint)]])
      let run = try await shop.run("login")
      #expect(run.status == 15 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(
        run.stderr.hasPrefix("authctl: authorization_endpoint is not an https URL: "),
        "\(run.stderr)")
      #expect(shop.visited == nil)
    }
  }

  /// One argument, without a shell, of the characters of a URL; and no secret in its environment.
  @Test func oneArgumentWithoutAShell() async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "metadata": ["authorization_endpoint": "{origin}/authorize?x=$(id);'`id`"]
      ])
      let bad = try await shop.run("login")
      #expect(bad.status == 15 && shop.visited == nil, "\(bad.stderr)")
      try await shop.set([
        "metadata": ["authorization_endpoint": "{origin}/authorize?x=$(id);'&y=*"]
      ])
      let run = try await shop.run(
        "login", "--param", "login_hint=a b'\"$(id)",
        env: ["AUTHCTL_PASSWORD": shop.box.canary.make("password")])
      #expect(run.status == 0, "\(run.stderr)")
      let words = shop.box.read("browser.words") ?? ""
      #expect(words.hasPrefix("1\n\(shop.api.url)/authorize?x=$(id);'&y=*&response_type=code&"))
      #expect(words.contains("&login_hint=a%20b%27%22%24%28id%29"), "\(words)")
      let environment = shop.box.read("browser.environment") ?? ""
      #expect(environment.contains("BROWSER=") && !environment.contains("AUTHCTL_PASSWORD"))
    }
  }

  /// A browser that cannot be started is said; the address is shown, and the wait goes on.
  @Test func browserThatIsNotThere() async throws {
    try await OAuthShop.with { shop in
      let child = try shop.box.start(
        ["login"], env: shop.environment(["BROWSER": "/nowhere/browser"]))
      let view = await child.until { find(Array("Waiting for".utf8), in: $0.err) != nil }
      let text = String(decoding: view.err, as: UTF8.self)
      #expect(text.hasPrefix("Cannot open a browser. Visit:\n  http://127.0.0.1:"), "\(text)")
      let url = try #require(text.firstMatch(of: /http:\S+/)).0
      _ = try await shop.box.run("-sL", "-o", "/dev/null", String(url), program: "/usr/bin/curl")
      #expect(try await child.finish().status == 0)
    }
  }

  @Test(
    arguments: [
      ["verification_uri": "http://evil.example/device"],
      ["verification_uri": "file:///etc/passwd"],
      ["verification_uri": "https://evil.example/ enter your bank PIN"],
      ["verification_uri": "https://a:b@evil.example/"], ["verification_uri": nil],
      ["verification_uri": "https://evil.example/\nhint: x"], ["user_code": "enter your PIN"],
      ["user_code": "\u{1B}]0;x\u{7}"], ["user_code": ""], ["user_code": nil],
      ["user_code": "AAAAAAAA-AAAAAAAA-AAAAAAAA-AAAAAAAA"], ["device_code": nil],
    ] as [JSON])
  func hostileDeviceAnswer(device: JSON) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["device": device])
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == 15 && run.stdout == "" && run.hasErrorForm, "\(run.stderr)")
      #expect(!run.stderr.contains("evil") && !run.stderr.contains("PIN"), "\(run.stderr)")
      #expect(try await shop.forms("/token").isEmpty)
    }
  }

  /// A page whose host looks like another, and further words of the server, are not shown.
  @Test func pageOfAnotherHost() async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "device": [
          "verification_uri": "https://b\u{FC}cher.example/d", "message": "Call 0900-EVIL",
          "expires_in": 1e9, "interval": 1, "user_code": "AB-12",
        ], "device_auto_approve": .string(OAuthShop.ada),
      ])
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == 15 && run.stdout == "", "\(run.stderr)")
      #expect(!run.stderr.contains("EVIL") && !run.stderr.contains("\u{FC}"), "\(run.stderr)")
    }
  }

  /// The pause is a second at least, and grows for good when the server asks for it.
  @Test func pausesOfADevice() async throws {
    try await OAuthShop.with { shop in
      try await shop.set([
        "device": ["interval": 0], "device_polls": ["authorization_pending", "slow_down"],
        "device_auto_approve": .string(OAuthShop.ada),
      ])
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == 0, "\(run.stderr)")
      // The server would answer slow_down to a poll less than five seconds after its own.
      #expect(try await shop.forms("/token").count == 3)
    }
  }

  @Test(
    arguments: [
      (["expired_token"], 9, "the sign-in timed out (expired_token)"),
      (["access_denied"], 14, "shop refused the sign-in (access_denied)"),
      (["invalid_grant"], 14, "shop refused the sign-in (invalid_grant)"),
    ] as [(JSON, Int32, String)])
  func endOfADevice(polls: JSON, status: Int32, says: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["device": ["interval": 1], "device_polls": polls])
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == status && run.stdout == "", "\(run.stderr)")
      #expect(run.stderr.contains(says), "\(run.stderr)")
    }
  }

  /// The wait ends with the life of the code.
  @Test func lifeOfACode() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["device": ["interval": 1, "expires_in": 2]])
      try await shop.set([
        "device_polls": .array([JSON](repeating: "authorization_pending", count: 9))
      ])
      let run = try await shop.run("login", "--no-browser")
      #expect(run.status == 9 && run.stdout == "", "\(run.stderr)")
    }
  }
}
