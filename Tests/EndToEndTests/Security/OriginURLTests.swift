import Testing

/// Which socket receives a request, by the spelling of its URL: rules A8 and T2. `P` in a target is
/// replaced by the port, which is the same on all addresses.
@Suite struct OriginURLTests {
  struct Row {
    var target: String
    var status: Int32
    /// The only address that receives a connection.
    var goesTo: String?
    init(_ target: String, _ status: Int32, _ goesTo: String? = nil) {
      self.target = target
      self.status = status
      self.goesTo = goesTo
    }
  }

  private static let home = "127.0.0.1"

  /// With a credential for http://127.0.0.1:P.
  static let withCredential: [Row] = [
    // Spellings of the origin itself.
    Row("http://127.0.0.1:P/x", 0, home), Row("hTtp://127.0.0.1:P/x", 0, home),
    Row("hTTp://127.0.0.1:P/x", 0, home), Row("http://127.0.0.1:P", 0, home),
    Row("http://127.0.0.1:P?x=1", 0, home), Row("http://127.0.0.1:P#f", 0, home),
    Row("http://127.0.0.1:0P/x", 0, home), Row("/x", 0, home), Row("/", 0, home),
    Row("/a/../x", 0, home), Row("/%2e%2e/x", 0, home), Row("/x@127.0.0.2:P/", 0, home),
    Row("/http://127.0.0.2:P/", 0, home), Row("/x?u=http://127.0.0.2:P/", 0, home),
    Row("/x:P@127.0.0.2/", 0, home), Row("/a//b", 0, home),
    Row("http://127.0.0.1:P/@127.0.0.2:P/", 0, home),
    Row("http://127.0.0.1:P/\\\\127.0.0.2:P/", 0, home),
    Row("http://127.0.0.1:P?@127.0.0.2:P/", 0, home),
    Row("http://127.0.0.1:P#@127.0.0.2:P/", 0, home),
    // Other origins.
    Row("http://127.0.0.2:P/x", 13), Row("http://localhost:P/x", 13), Row("http://[::1]:P/x", 13),
    Row("http://127.0.0.1/x", 13), Row("http://127.0.0.1:1/x", 13),
    Row("https://127.0.0.1:P/x", 13), Row("http://127.0.0.11:P/x", 13),
    Row("http://127.0.0.1.evil.invalid:P/x", 13), Row("http://evil127.0.0.1:P/x", 13),
    Row("http://x.127.0.0.1.invalid:P/", 13), Row("http://LocalHost:P/x", 13),
    Row("http://[0:0:0:0:0:0:0:1]:P/x", 13), Row("http://[::ffff:127.0.0.1]:P/x", 13),
    Row("http://\u{430}pi.invalid:P/", 13), Row("http://xn--pi-6kc.invalid:P/", 13),
    // Refused from any source.
    Row("http://127.0.0.1.:P/x", 2), Row("http://localhost.:P/", 2), Row("http://:P/x", 2),
    Row("http:///127.0.0.1:P/x", 2), Row("http:/127.0.0.1:P/x", 2), Row("http:127.0.0.1:P/x", 2),
    Row("http:////127.0.0.1:P/x", 2), Row("http:\\\\127.0.0.1:P/x", 2),
    Row("http://127.0.0.2:P\\@127.0.0.1:P/x", 2), Row("http://127.0.0.1:P\\@127.0.0.2:P/x", 2),
    Row("http://127.0.0.1:P@127.0.0.2:P/x", 2), Row("http://u@127.0.0.1:P/x", 2),
    Row("http://u:p@127.0.0.1:P/x", 2), Row("http://@127.0.0.1:P/x", 2),
    Row("http://:@127.0.0.1:P/x", 2), Row("http://127.0.0.1%2eevil.invalid:P/", 2),
    Row("http://127.0.0.1%00:P/", 2), Row("http://%31%32%37.0.0.1:P/", 2),
    Row("http://127.0.0.1%40127.0.0.2:P/", 2), Row("http://[::1%25lo]:P/", 2),
    Row("http://[::1%lo]:P/", 2), Row("http://127.0.0.1 :P/", 2), Row("http:// 127.0.0.1:P/", 2),
    Row("http://127.0.0.1\t:P/", 2), Row("http://127.0.0.1\n:P/", 2),
    Row("http://127.0.0.1:P\r\n/", 2), Row("http://127.0.0.1:0/", 2),
    Row("http://127.0.0.1:65536/", 2), Row("http://127.0.0.1:-1/", 2),
    Row("http://127.0.0.1:P:P/", 2), Row("http://127.0.0.1:abc/", 2), Row("http://", 2),
    Row("http:///", 2), Row("http://[::1/", 2), Row("http://[]:P/", 2), Row("http://?x", 2),
    Row("http://#x", 2), Row("http://[127.0.0.1]:P/", 2), Row("http://127.0.0.1]:P/", 2),
    // Neither a path nor a URL.
    Row("//127.0.0.2:P/x", 2), Row("///127.0.0.2:P/x", 2), Row("\\\\127.0.0.2:P/x", 2),
    Row("/\\127.0.0.2:P/x", 0, home), Row("\\/127.0.0.2:P/x", 2), Row("x", 2), Row("", 2),
    Row("?x=1", 2), Row("@127.0.0.2:P/", 2), Row(":P/", 2), Row(".127.0.0.2:P/", 2),
    Row("file:///etc/passwd", 2), Row("FiLE:///etc/passwd", 2), Row("file:/etc/passwd", 2),
    Row("scp://127.0.0.1:P/x", 2), Row("ftp://127.0.0.1:P/x", 2), Row("dict://127.0.0.1:P/x", 2),
    Row("gopher://127.0.0.1:P/x", 2), Row("javascript:alert(1)", 2), Row("data:,x", 2),
    Row("ws://127.0.0.1:P/", 2), Row("httpx://127.0.0.1:P/", 2), Row("view-source:http://h/", 2),
    Row("/x\ny", 2), Row("/x\r\nHost: evil", 2), Row("/x\u{7F}", 2), Row("/\u{1B}[2J", 2),
    Row(" http://127.0.0.1:P/x", 2), Row("\thttp://127.0.0.1:P/x", 2),
    Row("http\u{17F}://127.0.0.1:P/", 2), Row("\u{FF48}ttp://127.0.0.1:P/", 2),
  ]

  @Test func credentialGoesToItsOriginAlone() async throws {
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      let sockets = try Self.sockets(box)
      try box.profile("shop", "url = \"\(sockets[0].url)\"\n")
      var seen = 0
      for row in Self.withCredential {
        let target = Self.filled(row.target, sockets[0].port)
        let run = try await box.run("get", "--", target, env: ["AUTHCTL_TOKEN": token])
        let note: Comment = "\(target.debugDescription): \(run.stderr)"
        #expect(run.status == row.status, note)
        if row.goesTo != nil { seen += 1 }
        #expect(sockets[0].connections.count == seen, note)
        seen = sockets[0].connections.count
        if let request = sockets[0].texts.last, row.goesTo != nil {
          #expect(request.contains("\r\nAuthorization: Bearer \(token)\r\n"), note)
          #expect(request.contains("\r\nHost: 127.0.0.1:\(sockets[0].port)\r\n"), note)
        }
      }
      for other in sockets.dropFirst() { #expect(other.texts == [], "\(other.address)") }
    }
  }

  /// Without a credential any URL may be requested: the connection must go to the address in the
  /// URL.
  static let anonymous: [Row] = [
    Row("http://127.0.0.1:P/x", 0, home), Row("http://127.0.0.2:P/x", 0, "127.0.0.2"),
    Row("http://[::1]:P/x", 0, "::1"), Row("http://[0:0::0:1]:P/x", 0, "::1"),
    Row("http://127.0.0.2:P/@127.0.0.1:P/", 0, "127.0.0.2"),
    Row("http://127.0.0.2:P?@127.0.0.1:P/", 0, "127.0.0.2"),
    Row("http://127.0.0.2:P/\\@127.0.0.1:P/", 0, "127.0.0.2"),
    Row("http://127.0.0.2:P@127.0.0.1:P/", 2), Row("http://127.0.0.2:P\\@127.0.0.1:P/", 2),
    Row("http://127.0.0.2:P\\.127.0.0.1:P/", 2), Row("http://u:p@127.0.0.1:P/", 2),
    Row("http://127.0.0.2%2f@127.0.0.1:P/", 2), Row("//127.0.0.2:P/", 2),
    Row("http:///127.0.0.2:P/", 2), Row("http://127.0.0.2.:P/", 2),
  ]

  @Test func connectionIsMadeWhereTheURLSays() async throws {
    try await Sandbox.with(.none) { box in
      let sockets = try Self.sockets(box)
      for row in Self.anonymous {
        let before = sockets.map(\.connections.count)
        let target = Self.filled(row.target, sockets[0].port)
        let run = try await box.run("get", "--anonymous", "--", target)
        #expect(run.status == row.status, "\(target): \(run.stderr)")
        let got = zip(sockets, before).filter { $0.connections.count > $1 }.map(\.0.address)
        #expect(got == [row.goesTo].compactMap { $0 }, "\(target)")
      }
    }
  }

  /// A profile accepts only plain origins in `url` and in its lists of origins.
  @Test func profileTakesOriginsThatAreNothingElse() async throws {
    let urls = [
      "http://127.0.0.1:1@h/", "https://u:p@h", "https://h?x=1", "https://h#f", "ftp://h", "//h",
      "h",
      "https://", "https:///h", "https:/h", "https://h\\@e", "https://h%2ee", "https://h.",
      "https://h:0",
      "https://h h", "https://[::1%25lo]", "https://h:99999",
    ]
    let origins = urls + ["https://*.shop.example", "https://h/", "https://h/path", "*"]
    try await Sandbox.with(.none) { box in
      for (index, url) in urls.enumerated() {
        if index % 2 == 0 {
          try box.profile("shop", "url = \(JSON.string(url).text)\n")
          let run = try await box.run("get", "/", env: ["AUTHCTL_TOKEN": "tok"])
          #expect(run.status == 2, "\(url): \(run.stderr)")
        } else {
          let add = try await box.run("profile", "add", "new", url)
          #expect(add.status == 2, "\(url): \(add.stderr)")
        }
      }
      for origin in origins {
        let key = origin.utf8.count % 2 == 0 ? "allow_origins" : "sign_in_origins"
        let quoted = JSON.string(origin).text
        try box.profile("shop", "url = \"https://h\"\n[network]\n\(key) = [\(quoted)]\n")
        let run = try await box.run("profile", "show", "shop")
        #expect(run.status == 2, "\(key) \(origin): \(run.stdout)")
        #expect(run.stderr.contains("shop.toml:3"), "\(run.stderr)")
      }
    }
  }

  @Test func hostsAreShownInPunycode() async throws {
    try await Sandbox.with { box in
      try box.profile("shop", Scene.profile("https://\u{430}pi.invalid"))
      let run = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--password-stdin", stdin: "pw")
      #expect(run.status == 7)
      #expect(run.stderr.contains("https://xn--pi-6kc.invalid"), "\(run.stderr)")
      #expect(!run.stderr.contains("\u{430}"))
    }
  }

  private static func sockets(_ box: Sandbox) throws -> [Recorder] {
    try box.recorders(at: ["127.0.0.1", "127.0.0.2", "::1"])
  }

  private static func filled(_ target: String, _ port: UInt16) -> String {
    String(
      decoding: target.utf8.flatMap { $0 == 0x50 ? Array("\(port)".utf8) : [$0] }, as: UTF8.self)
  }
}
