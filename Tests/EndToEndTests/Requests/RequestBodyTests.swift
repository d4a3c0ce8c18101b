import Testing

/// Methods and bodies of requests (design 8), byte for byte.
@Suite struct RequestBodyTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// Runs `body` with a profile for a recorder that always answers with success.
  private func with(_ body: (Sandbox, Recorder) async throws -> Void) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Recorder.ok)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      try await body(box, api)
    }
  }

  private func request(_ text: String?) -> (line: String, head: [String], body: String) {
    let parts = (text ?? "").components(separatedBy: "\r\n\r\n")
    let lines = parts[0].components(separatedBy: "\r\n")
    return (lines[0], Array(lines.dropFirst()), parts.dropFirst().joined(separator: "\r\n\r\n"))
  }

  @Test func methods() async throws {
    try await with { box, api in
      let calls: [([String], String)] = [
        (["post", "/x"], "POST"), (["put", "/x"], "PUT"), (["patch", "/x"], "PATCH"),
        (["delete", "/x"], "DELETE"), (["head", "/x"], "HEAD"), (["get", "/x"], "GET"),
        (["request", "PROPFIND", "/x"], "PROPFIND"), (["request", "put", "/x"], "PUT"),
        (["request", "pUrGe", "/x"], "pUrGe"),
      ]
      for (index, (words, method)) in calls.enumerated() {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == 0 && run.stderr == "", "\(words): \(run.stderr)")
        let sent = request(api.texts[index])
        #expect(sent.line == "\(method) /x HTTP/1.1" && sent.body == "", "\(sent)")
        #expect(sent.head.contains("Authorization: Bearer a-token-of-ours"))
        let says = sent.head.contains("Content-Length: 0")
        #expect(says == ["POST", "PUT", "PATCH"].contains(method), "\(method): \(sent.head)")
        #expect(!sent.head.contains { $0.hasPrefix("Content-Type") })
        if method == "HEAD" { #expect(run.stdout.hasPrefix("HTTP/1.1 200 Recorded\r\n")) }
      }
    }
  }

  @Test func bodies() async throws {
    try await with { box, api in
      try box.write("home/lines", "one=1\r\n&two=2\n")
      try box.write("home/doc.json", "{\n \"a\": [1]\n}\n")
      let file = box.home + "/lines"
      let document = box.home + "/doc.json"
      let form = "application/x-www-form-urlencoded"
      let calls: [([String], String?, String, String)] = [
        (["-d", "a=1", "-d", "b=2 3"], nil, form, "a=1&b=2 3"),
        (["-da=1"], nil, form, "a=1"),
        (["-d", "@" + file], nil, form, "one=1&two=2"),
        (["-d@-"], "x=1\ny=2\n", form, "x=1y=2"),
        (["--data-raw", "@" + file], nil, form, "@" + file),
        (["--data-binary", "@" + file], nil, form, "one=1\r\n&two=2\n"),
        (["--data-urlencode", "n=a b&c/é"], nil, form, "n=a+b%26c%2F%C3%A9"),
        (["--data-urlencode", "=a=b"], nil, form, "a%3Db"),
        (["--data-urlencode", "n@" + file], nil, form, "n=one%3D1%0D%0A%26two%3D2%0A"),
        (["--json", #"{"a": 1}"#], nil, "application/json", #"{"a": 1}"#),
        (["--json", "@" + document], nil, "application/json", "{\n \"a\": [1]\n}\n"),
        (["--json", "@-"], "[true]", "application/json", "[true]"),
        (["--input", file], nil, "application/json", "one=1\r\n&two=2\n"),
        (["-d", "x", "-H", "Content-Type: text/plain"], nil, "text/plain", "x"),
        (["-dx=y=z"], nil, form, "x=y=z"), (["-d", ""], nil, form, ""),
      ]
      for (index, (words, stdin, type, body)) in calls.enumerated() {
        let run = try await box.run(["post", "/x"] + words, stdin: stdin, env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        guard api.texts.count > index else { return }
        let sent = request(api.texts[index])
        #expect(sent.body == body, "\(words)")
        #expect(sent.head.contains("Content-Type: \(type)"), "\(words): \(sent.head)")
        #expect(sent.head.contains("Content-Length: \(body.utf8.count)"), "\(words)")
        let isJSON = words.contains("--json")
        #expect(sent.head.contains("Accept: application/json") == isJSON, "\(words)")
      }
    }
  }

  @Test func queries() async throws {
    try await with { box, api in
      let calls: [([String], String)] = [
        (["get", "/x", "-G", "-d", "a=1", "--data-urlencode", "b=c d"], "/x?a=1&b=c+d"),
        (["get", "/x?z=0", "--url-query", "n=é"], "/x?z=0&n=%C3%A9"),
        (["delete", "/x", "-G", "-d", "a=1"], "/x?a=1"),
      ]
      for (index, (words, target)) in calls.enumerated() {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == 0, "\(run.stderr)")
        let sent = request(api.texts[index])
        #expect(sent.line.split(separator: " ")[1] == target && sent.body == "", "\(sent.line)")
      }
    }
  }

  /// Refused before anything is sent.
  @Test func whatIsNotSent() async throws {
    try await with { box, api in
      let calls: [([String], Int32, String)] = [
        (
          ["get", "/x", "-d", "a=1"], 2,
          "a GET request cannot have a body\nhint: use -G to send the data"
        ),
        (["head", "/x", "--json", "{}"], 2, "a HEAD request cannot have a body"),
        (["post", "/x", "--json", "{bad"], 2, "--json is not JSON"),
        (["post", "/x", "--json", ""], 2, "--json is not JSON"),
        (["post", "/x", "--json", "{}", "-d", "a=1"], 2, "cannot be used together"),
        (["post", "/x", "-X", "PUT"], 2, "-X cannot be used with this command"),
        (["post", "/x", "-d", "@" + box.home + "/none"], 1, "-d: cannot read"),
        (["post", "/x", "-G", "--json", "{}"], 2, "-G and --json cannot be used together"),
        (["request", "GET / HTTP/1.1\r\nX-Evil: 1", "/x"], 2, "is not a method (RFC 9110)"),
        (["post", "x"], 2, "is neither a path nor a URL"),
        (["post", "/x", "-H", "authorization: mine"], 2, "sends its credential in that header"),
      ]
      for (words, status, said) in calls {
        let run = try await box.run(words, env: Self.env)
        #expect(run.status == status && run.stdout == "", "\(words)")
        #expect(run.stderr.hasPrefix("authctl: ") && run.stderr.contains(said), "\(run.stderr)")
      }
      #expect(api.connections.isEmpty)
    }
  }

  /// A body is sent again after a renewal, and never to another origin.
  @Test func bodiesAndRenewalAndRedirects() async throws {
    try await Shop.with("--token-ttl", "3600") { shop, api in
      let box = shop.box
      try await api.misbehave(["path": "/register", "status": .number(401)])
      let account = #"{"email":"linus@example.com","password":"password-of-linus"}"#
      let run = try await box.run(
        "post", "-p", "shop", "/register", "--json", "@-", stdin: account)
      #expect(run.status == 0 && run.stderr == "", "\(run.stderr)")
      #expect(run.stdout.contains("linus@example.com"), "\(run.stdout)")
      #expect(try await api.count("POST /refresh") == 1)
      #expect(try await api.count("POST /register") == 2)

      let other = try box.recorder(at: "127.0.0.2", answering: Recorder.ok)
      let redirect = "/redirect?status=307&to=" + other.url
      let plain = try await box.run("post", "-p", "shop", redirect, "-d", "a=planted-body")
      #expect(plain.status == 3, "redirects of a POST are not followed: \(plain.stderr)")
      let followed = try await box.run("post", "-p", "shop", "-L", redirect, "-d", "a=planted-body")
      #expect(followed.status == 13 && followed.stdout == "", "\(followed.stderr)")
      #expect(other.connections.isEmpty)
    }
  }
}

extension String {
  /// Splits the text at `mark`, as Foundation's method of this name does.
  fileprivate func components(separatedBy mark: String) -> [String] {
    var parts: [String] = []
    var rest = Array(utf8)
    let wanted = Array(mark.utf8)
    while let place = find(wanted, in: rest) {
      parts.append(String(decoding: rest[..<place], as: UTF8.self))
      rest.removeFirst(place + wanted.count)
    }
    return parts + [String(decoding: rest, as: UTF8.self)]
  }
}
