import Testing

@testable import AuthKit

private let base = "url = \"https://api.shop.example\"\n"

private func mistakes(_ text: String) -> [Failure] {
  ProfileReader.mistakes(text: text, name: "shop", file: "/etc/x/shop.toml", label: "shop.toml")
}

private func messages(_ text: String) -> [String] { mistakes(text).map(\.message) }

/// All mistakes of a file are reported at once: each of them once, in file order.
@Suite struct AllMistakesTests {
  /// A file and the start of each message about it, without `shop.toml:`.
  struct File: Sendable, CustomTestStringConvertible {
    var name: String
    var text: String
    var told: [String]
    var testDescription: String { name }

    func check() {
      let found = messages(text)
      #expect(found.count == told.count, "\(found.joined(separator: "\n"))")
      for (message, start) in zip(found, told) {
        #expect(message.utf8.starts(with: "shop.toml:\(start)".utf8), "\(message)")
      }
    }
  }

  /// Ten independent mistakes.
  static let ten = File(
    name: "ten",
    text: """
      acount = "ada"
      url = "https://api.shop.example#top"
      [vars]
      api_key = "s3cr3t"   # a comment = "x"

      [login]
      path = "/login"
      methd = "POST"
      encoding = "jsn"
      headers = { Host = "evil.example", Accept = "{nope}" }
      body = { a = { b = ["{usrname}"] }, "c.d" = "{username}", token = "abc" }

      [session]
      refused = [401, 200]
      access_token = ["token"]
      [request]
      cookies = "yes"
      write_headers = { X = "{taken.csrf}" }
      [network]
      connect_timeout = 0
      allow_origins = ["https://*.shop.example"]
      """,
    told: [
      "1:1: unknown key acount", "2:1: url: must have no fragment",
      "4:1: vars.api_key: a fixed api_key looks like a secret", "8:1: unknown key login.methd",
      "9:1: login.encoding: must be one of json, form, multipart, none",
      "10:13: login.headers.Host: a recipe may not set this header",
      "10:36: login.headers.Accept: unknown placeholder {nope}",
      "11:10: login.body.a: unknown placeholder {usrname}",
      "11:59: login.body.token: a fixed token looks like a secret",
      "14:1: session.refused: 200 cannot stand here",
      "15:1: session.access_token: \"token\" is not a place",
      "17:1: request.cookies: must be true or false",
      "18:19: request.write_headers.X: nothing fills {taken.csrf}",
      "20:1: network.connect_timeout: must be more than 0",
      "21:1: network.allow_origins: https://*.shop.example: no wildcard",
    ])

  /// One mistake must neither cause others nor hide those after it.
  static let files = [
    ten,
    File(name: "nothing wrong", text: base + "[login]\npath = \"/x\"", told: []),
    File(name: "no url", text: "account = \"ada\"", told: [" has no url"]),
    File(
      name: "not TOML, and nothing is said of the rest",
      text: base + "[login\nacount = \"x\"\nz = ", told: ["2:"]),
    File(
      name: "unknown tables and keys",
      text: base + "[logn]\npath = \"/x\"\nbdy = {}\n[login]\npath = \"/x\"\npth = \"/y\"\n",
      told: ["2:1: unknown key logn", "7:1: unknown key login.pth"]),
    File(
      name: "a table that is none",
      text: base + "login = \"/x\"\nsession = 3\nrequest = []\n",
      told: [
        "2:1: login: must be a table", "3:1: session: must be a table",
        "4:1: request: must be a table",
      ]),
    File(
      name: "members of a table of its own",
      text: base + "[login]\npath = \"/x\"\n[login.body]\na = \"{nope}\"\nb = 1\nc = \"{none}\"\n",
      told: [
        "5:1: login.body.a: unknown placeholder {nope}",
        "7:1: login.body.c: unknown placeholder {none}",
      ]),
    File(
      name: "members of an inline table",
      text: base + "login = { path = \"/x\", bdy = {}, method = \"G T\" }\n",
      told: ["2:24: unknown key login.bdy", "2:34: login.method: is not an HTTP method"]),
    File(
      name: "dotted keys",
      text: base + "login.path = \"/x\"\nlogin.bdy = {}\nsession.refused = [200]\n",
      told: ["3:1: unknown key login.bdy", "4:1: session.refused: 200 cannot"]),
    File(
      name: "a path that is none",
      text: base
        + "[login]\npath = 3\nmethod = \"G T\"\nbody = { a = \"{nope}\" }\n[refresh]\npath = \"x\"",
      told: [
        "3:1: login.path: must be text", "4:1: login.method: is not an HTTP method",
        "5:10: login.body.a: unknown placeholder {nope}", "7:1: refresh.path: must begin with /",
      ]),
    File(
      name: "a path alone", text: base + "[whoami]\npath = \"me\"",
      told: ["3:1: whoami.path: must begin with /"]),
    File(
      name: "a value that others stand on: keep",
      text: base
        + "[session]\nkeep = { client = \"clent\" }\n[request]\nheaders = { c = \"{session.client}\" }",
      told: ["3:10: session.keep.client: \"clent\" is not a place"]),
    File(
      name: "a value that others stand on: all of keep",
      text: base + "[session]\nkeep = 3\n[request]\nheaders = { c = \"{session.client}\" }",
      told: ["3:1: session.keep: must be a table"]),
    File(
      name: "a value that others stand on: take",
      text: base + "[prefetch]\npath = \"/c\"\ntake = { csrf = \"token\" }\n"
        + "[login]\npath = \"/x\"\nbody = { c = \"{taken.csrf}\" }",
      told: ["4:10: prefetch.take.csrf: \"token\" is not a place"]),
    File(
      name: "a value that others stand on: vars",
      text: base + "[vars]\ntenant = 3\n[login]\npath = \"/{vars.tenant}/x\"",
      told: ["3:1: vars.tenant: must be text"]),
    File(
      name: "a value that others stand on: public",
      text: base + "public = 3\n[request]\nheaders = { apikey = \"anon\" }",
      told: ["2:1: public: must be a list of texts"]),
    File(
      name: "a value that others stand on: preset",
      text: base + "preset = \"devise-token-aut\"\n[login]\nencoding = \"form\"\n"
        + "[request]\nheaders = { X-Client = \"{session.client}\" }",
      told: ["2:1: preset: unknown preset devise-token-aut"]),
    File(
      name: "a value that others stand on: keep_password",
      text: base + "[session]\nkeep_password = 1\n[request]\nheaders = { A = \"{password}\" }",
      told: ["3:1: session.keep_password: must be true or false"]),
    File(
      name: "otp with a wrong status",
      text: base + "[login]\npath = \"/x\"\nbody = { o = \"{otp}\" }\n[otp]\nstatus = \"x\"\n",
      told: ["6:1: otp.status: must be a list of numbers"]),
  ]

  @Test(arguments: files)
  func everyMistakeOnce(_ file: File) { file.check() }

  @Test func noMistakeIsToldTwice() {
    for file in Self.files {
      let found = messages(file.text)
      #expect(Set(found).count == found.count, "\(found.joined(separator: "\n"))")
      for mistake in mistakes(file.text) { #expect(mistake.kind == .usage) }
    }
  }

  /// Missing keys are reported along with wrong ones.
  @Test func whatIsMissingIsToldToo() {
    let found = messages(
      base + "[login]\npath = \"/x\"\nbody = { o = \"{otp}\" }\n[otp]\nwhen = [\"mfa\"]\n"
        + "[whoami]\npath = \"me\"\n[logout]\nmethd = \"DELETE\"\n")
    let starts = [
      "6:1: otp.when: \"mfa\" is not a place", "8:1: whoami.path: must begin with /",
      "10:1: unknown key logout.methd",
    ]
    for start in starts {
      #expect(found.contains { $0.hasPrefix("shop.toml:\(start)") }, "\(start)")
    }
    #expect(found.contains { $0.contains(/^shop\.toml:[56]:1: .*has no status/) }, "\(found)")
    #expect(found.contains { $0.contains(/^shop\.toml:(9|10):1: .*has no path/) }, "\(found)")
    #expect(found.count == 5, "\(found.joined(separator: "\n"))")
  }

  /// Reading stops at one of these mistakes; the reader chooses which.
  @Test func theMistakesAreThoseOfReading() {
    for file in Self.files {
      let all = messages(file.text)
      do {
        _ = try ProfileReader.read(
          text: file.text, name: "shop", file: "/etc/x/shop.toml", label: "shop.toml")
        #expect(all.isEmpty, "\(file.name)")
      } catch {
        #expect(all.contains(error.message), "\(file.name): \(error.message)")
      }
    }
  }

  @Test func everyOneHasItsMend() {
    let found = mistakes(Self.ten.text)
    let hints = [
      "did you mean account?", "public = [\"api_key\"]", "did you mean method?",
      "did you mean json?", "{username}", "JSON Pointer", "in [prefetch]",
    ]
    for hint in hints {
      #expect(found.contains { $0.hint?.contains(hint) == true }, "\(hint)")
    }
  }

  /// Whatever is removed from a preset, every reported mistake points into the text.
  @Test(arguments: ["aspnet-identity", "devise-token-auth", "gitea", "pocketbase", "simplejwt"])
  func everyPlaceIsInTheFile(preset: String) {
    let whole = Array((base + (Presets.text(preset) ?? "")).utf8.split(separator: 10))
    for index in whole.indices {
      var lines = whole.map { String(decoding: $0, as: UTF8.self) }
      guard let equals = lines[index].firstIndex(of: "=") else { continue }
      lines[index] = String(lines[index][..<equals]) + "= 1979-05-27"
      let text = lines.joined(separator: "\n")
      for message in messages(text) {
        #expect(
          message.contains(/^shop\.toml:[0-9]+:[0-9]+:/) || message == "shop.toml: has no url",
          "\(preset): \(message)")
      }
    }
  }
}
