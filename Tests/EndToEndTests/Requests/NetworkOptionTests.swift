import Glibc
import Testing

/// How a request reaches its server: proxies, addresses, sockets (design 8; rules A7, B7).
@Suite struct NetworkOptionTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  private func with(_ body: (Sandbox, _ api: Recorder, _ other: Recorder) async throws -> Void)
    async throws
  {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: Recorder.ok)
      let other = try box.recorder(at: "127.0.0.2", answering: Recorder.ok)
      try box.profile("shop", "url = \"\(api.url)\"\n")
      box.canary.watch("a-token-of-ours")
      try await body(box, api, other)
    }
  }

  private func head(_ recorder: Recorder) throws -> [String] {
    String(decoding: try #require(recorder.connections.last), as: UTF8.self)
      .split(separator: "\r\n").map(String.init)
  }

  // MARK: Proxies

  /// Over plain HTTP, a credential passes only a proxy on this machine that the user names.
  @Test func proxiesAndCredentials() async throws {
    try await with { box, api, proxy in
      for env in [
        ["http_proxy": proxy.url], ["ALL_PROXY": proxy.url], ["all_proxy": proxy.url],
        ["http_proxy": "", "ALL_PROXY": ""],
      ] {
        let run = try await box.run(
          ["get", "/x"], env: env.merging(["AUTHCTL_TOKEN": "a-token-of-ours"]) { $1 })
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
      }
      let none = try await box.run("get", "/x", "-x", "", env: Self.env)
      #expect(none.status == 0 && none.stderr == "", "\(none.stderr)")
      #expect(api.connections.count == 5 && proxy.connections.isEmpty)
      let far = try await box.run("get", "/x", "-x", "http://192.0.2.1:9", env: Self.env)
      #expect(far.status == 13 && far.stdout == "")
      #expect(
        far.stderr == """
          authctl: refused to send a credential over plain HTTP to \(api.url) through the proxy of -x
          hint: use https, or -x '' for no proxy

          """)
      for words in [["-x", proxy.url], ["-x" + proxy.authority], ["--proxy=" + proxy.url]] {
        let run = try await box.run(["get", "/x"] + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        let head = try head(proxy)
        #expect(head.first == "GET \(api.url)/x HTTP/1.1")
        #expect(head.contains("Authorization: Bearer a-token-of-ours"))
      }
      #expect(api.connections.count == 5)
    }
  }

  /// Without a credential, the environment selects the proxy.
  @Test func proxiesOfTheEnvironment() async throws {
    try await with { box, _, proxy in
      let away = "http://api.invalid/x"
      let rows: [(words: [String], env: [String: String?], isAsked: Bool)] = [
        ([], ["http_proxy": proxy.url], true), ([], ["ALL_PROXY": proxy.url], true),
        // curl ignores the upper-case name: in CGI programs it comes from a request header.
        ([], ["HTTP_PROXY": proxy.url], false), ([], ["HTTPS_PROXY": proxy.url], false),
        ([], ["http_proxy": "", "ALL_PROXY": proxy.url], true),
        ([], ["http_proxy": proxy.url, "NO_PROXY": "api.invalid"], false),
        ([], ["http_proxy": proxy.url, "NO_PROXY": "", "no_proxy": ""], true),
        (["--noproxy", "*"], ["http_proxy": proxy.url], false),
        (["--noproxy", "other.invalid"], ["http_proxy": proxy.url, "NO_PROXY": "*"], true),
        (["-x", proxy.url], ["http_proxy": "http://127.0.0.1:1"], true),
      ]
      for row in rows {
        let before = proxy.connections.count
        let run = try await box.run(
          ["get", "--anonymous", away] + row.words, env: row.env)
        #expect(run.status == (row.isAsked ? 0 : 7), "\(row.words) \(row.env): \(run.stderr)")
        #expect(proxy.connections.count == before + (row.isAsked ? 1 : 0), "\(row.env)")
        if row.isAsked { #expect(try head(proxy).first == "GET \(away) HTTP/1.1") }
      }
    }
  }

  /// For https the proxy sees only CONNECT, and nothing of the request.
  @Test func tunnels() async throws {
    try await Sandbox.with(.none) { box in
      let proxy = try box.recorder(answering: { _, _ in .http(407, "") })
      try box.profile("shop", "url = \"https://api.invalid\"\n")
      box.canary.watch("a-token-of-ours")
      let user = box.canary.make("proxy")
      let expected = """
        authctl: the proxy refused to connect to https://api.invalid: \
        CONNECT tunnel failed, response 407
        hint: set AUTHCTL_PROXY_USER=NAME:PASSWORD to sign in to the proxy

        """
      for (words, env) in [
        (["-x", proxy.url], [:]), ([], ["HTTPS_PROXY": proxy.url]), ([], ["ALL_PROXY": proxy.url]),
        (["-v", "-v", "-x", proxy.url], ["AUTHCTL_PROXY_USER": "me:%41 \(user)"]),
        (["-vv"], ["HTTPS_PROXY": "http://me:\(user)@\(proxy.authority)"]),
        (["-x", proxy.url, "--proxy-user-file", "user"], [:]),
      ] as [([String], [String: String?])] {
        try box.write("home/user", "me:\(user)\n")
        let run = try await box.run(
          ["get", "/x"] + words, env: env.merging(Self.env) { $1 })
        #expect(run.status == 7 && run.stdout == "", "\(run.stderr)")
        #expect(run.stderr.hasSuffix(expected), "\(run.stderr)")
        let head = try head(proxy)
        #expect(head.first == "CONNECT api.invalid:443 HTTP/1.1")
        #expect(!head.contains { $0.lowercased().hasPrefix("authorization") })
        let isNamed = words.contains("--proxy-user-file") || words.contains { $0.hasPrefix("-v") }
        let name = env["AUTHCTL_PROXY_USER"] == nil ? "me:\(user)" : "me:%41 \(user)"
        let basic = String(decoding: Canary.base64(Array(name.utf8)), as: UTF8.self)
        let isSent = head.contains { $0.hasPrefix("Proxy-Authorization: Basic " + basic) }
        #expect(isSent == isNamed, "\(head)")
      }
    }
  }

  /// Not Kerberos (RFC 1961, method 1), whose library is not loaded.
  @Test func socksProxyIsOfferedNoKerberos() async throws {
    try await Sandbox.with(.none) { box in
      let proxy = try box.recorder(answering: { _, _ in .close })
      for (user, methods) in [(nil, [0]), ("me:secret", [0, 2])] as [(String?, [UInt8])] {
        let run = try await box.run(
          [
            "get", "--anonymous", "http://127.0.0.1:9/x", "-x", "socks5h://\(proxy.authority)",
            "-m", "1",
          ], env: ["AUTHCTL_PROXY_USER": user])
        #expect(run.status == 9 && run.stdout == "", "\(run.stderr)")
        // Version 5, the number of methods, the methods (RFC 1928, 3).
        #expect(proxy.connections.last == [5, UInt8(methods.count)] + methods)
      }
    }
  }

  // MARK: Addresses

  /// These options change the address of the connection, never the origin.
  @Test func otherAddresses() async throws {
    try await with { box, api, other in
      let local = "http://localhost:\(other.port)"
      let rows: [(words: [String], url: String?, host: String, atOther: Bool)] = [
        (
          ["--resolve", "localhost:\(other.port):127.0.0.2"], local, "localhost:\(other.port)", true
        ),
        (["--connect-to", "::\(other.authority)"], nil, api.authority, true),
        (["--connect-to", "\(api.authority):\(other.authority)"], nil, api.authority, true),
        (["--connect-to", "api.invalid:80:\(other.authority)"], nil, api.authority, false),
        (["-4", "--http1.1"], nil, api.authority, false),
      ]
      for row in rows {
        let (before, beforeOther) = (api.connections.count, other.connections.count)
        var env = Self.env
        env["AUTHCTL_URL"] = row.url
        let run = try await box.run(["get", "/x"] + row.words, env: env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        #expect(api.connections.count == before + (row.atOther ? 0 : 1), "\(row.words)")
        #expect(other.connections.count == beforeOther + (row.atOther ? 1 : 0), "\(row.words)")
        let head = try head(row.atOther ? other : api)
        #expect(head.contains("Host: " + row.host), "\(head)")
        #expect(head.contains("Authorization: Bearer a-token-of-ours"))
      }
      let plain = try await box.run(
        "get", "--anonymous", "http://api.invalid/y", "--resolve", "api.invalid:80:127.0.0.2",
        "--connect-to", "api.invalid:80:api.invalid:\(other.port)", "--resolve",
        "api.invalid:\(other.port):127.0.0.2")
      #expect(plain.status == 0 && plain.stdout == "{}", "\(plain.stderr)")
      #expect(try head(other).contains("Host: api.invalid"))
    }
  }

  /// This machine's first non-loopback address.
  private static let ownAddress: String? = {
    var list: UnsafeMutablePointer<ifaddrs>?
    guard getifaddrs(&list) == 0 else { return nil }
    defer { freeifaddrs(list) }
    var next = list
    while let entry = next {
      next = entry.pointee.ifa_next
      guard let address = entry.pointee.ifa_addr, address.pointee.sa_family == AF_INET else {
        continue
      }
      let bytes = UnsafeRawPointer(address).loadUnaligned(fromByteOffset: 4, as: UInt32.self)
      let parts = withUnsafeBytes(of: bytes) { $0.map { String($0) } }
      if parts[0] != "127" { return parts.joined(separator: ".") }
    }
    return nil
  }()

  /// Rule A7: the name localhost must mean this machine.
  @Test(.enabled(if: ownAddress != nil, "needs an address that is not loopback"))
  func notThisMachine() async throws {
    try await with { box, api, _ in
      let address = try #require(Self.ownAddress)
      let far = try box.recorder(at: address, answering: Recorder.ok)
      let refused = """
        authctl: refused to send a credential over plain HTTP to \(address), which is not this machine
        hint: use https, or set network.allow_http = true in the profile

        """
      for (words, url) in [
        (["--connect-to", "::\(far.authority)"], nil),
        (["--resolve", "localhost:\(far.port):\(address)"], "http://localhost:\(far.port)"),
      ] as [([String], String?)] {
        var env = Self.env
        env["AUTHCTL_URL"] = url
        let run = try await box.run(["get", "/x"] + words, env: env)
        #expect(run.status == 13 && run.stdout == "" && run.stderr == refused, "\(run.stderr)")
      }
      #expect(far.bytes.isEmpty)
      let plain = try await box.run(
        "get", "--anonymous", api.url + "/x", "--connect-to", "::\(far.authority)")
      #expect(plain.status == 0 && plain.stdout == "{}", "\(plain.stderr)")
    }
  }

  @Test func families() async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(at: "::1", answering: Recorder.ok)
      try box.profile("shop", "url = \"http://localhost:\(api.port)\"\n")
      for (option, status) in [("-6", 0), ("--ipv6", 0), ("-4", 7)] as [(String, Int32)] {
        let run = try await box.run("get", "/x", option, env: Self.env)
        #expect(run.status == status, "\(option): \(run.stderr)")
      }
      #expect(api.connections.count == 2)
    }
  }

  @Test func versions() async throws {
    try await with { box, api, _ in
      for (option, upgrades) in [("--http1.1", false), ("--http2", true)] {
        let run = try await box.run("get", "/x", option, env: Self.env)
        #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
        #expect(try head(api).contains("Upgrade: h2c") == upgrades, "\(option)")
      }
    }
  }

  @Test func unixSockets() async throws {
    try await with { box, api, other in
      let path = box.root + "/socket"
      let listener = try Self.listen(at: path)
      defer { close(listener) }
      let seen = Mutable<[String]>([])
      startThread {
        while true {
          let socket = GNU.accept4(listener, nil, nil, Int32(SOCK_CLOEXEC.rawValue))
          guard socket >= 0 else { return }
          let bytes = Sockets.receive(from: socket) ?? []
          seen.value.append(String(decoding: bytes, as: UTF8.self))
          Sockets.send(
            Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nunix".utf8),
            to: socket)
          close(socket)
        }
      }
      for words in [[], ["-x", other.url]] {
        let run = try await box.run(["get", "/x", "--unix-socket", path] + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == "unix" && run.stderr == "", "\(run.stderr)")
      }
      #expect(seen.value.count == 2)
      for text in seen.value {
        #expect(text.contains("Host: \(api.authority)\r\n"), "\(text)")
        #expect(text.contains("Authorization: Bearer a-token-of-ours\r\n"), "\(text)")
      }
      // The origin decides, not the socket.
      let away = try await box.run(
        "get", "/x", "--unix-socket", path,
        env: ["AUTHCTL_TOKEN": "a-token-of-ours", "AUTHCTL_URL": "http://api.invalid"])
      #expect(away.status == 13 && seen.value.count == 2, "\(away.stderr)")
      let none = try await box.run("get", "/x", "--unix-socket", "/none", env: Self.env)
      #expect(none.status == 7)
      #expect(
        none.stderr
          == "authctl: cannot reach \(api.url) through /none: no such file or directory\n")
      #expect(api.connections.isEmpty && other.connections.isEmpty)
    }
  }

  private static func listen(at path: String) throws -> Int32 {
    let socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8)) }
    let bound = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(socket, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
      }
    }
    guard bound == 0, Glibc.listen(socket, 8) == 0 else {
      throw HarnessError("cannot listen at \(path): errno \(errno)")
    }
    return socket
  }

  // MARK: A renewal uses the same connection options

  @Test func renewalsGoTheSameWay() async throws {
    try await Sandbox.with { box in
      let script = Script()
      script["POST /login"] = Script.tokens()
      script["POST /refresh"] = Script.tokens(["access_token": "access-2", "expires_in": 900])
      script["GET /x"] = .http(200, "{}")
      let api = try box.recorder(answering: script.answering)
      let other = try box.recorder(at: "127.0.0.2", answering: script.answering)
      let shop = try Shop(box, api.url)
      try await shop.signIn()
      try await shop.age(ended: 10)
      let before = api.connections.count
      let run = try await box.run("get", "/x", "--connect-to", "::\(other.authority)")
      #expect(run.status == 0 && run.stdout == "{}" && run.stderr == "", "\(run.stderr)")
      #expect(api.connections.count == before)
      #expect(other.texts.map { $0.prefix { $0 != " " } } == ["POST", "GET"])
    }
  }

  // MARK: Mistakes

  @Test func mistakes() async throws {
    try await with { box, api, other in
      let rows: [(words: [String], says: String)] = [
        (
          ["-x", "http://me:secret@127.0.0.1:1"],
          """
          -x: a proxy address cannot have a name and password, which other users could read
          hint: use AUTHCTL_PROXY_USER=NAME:PASSWORD or --proxy-user-file FILE
          """
        ),
        (
          ["-x", "ftp://127.0.0.1"],
          """
          -x: ftp://127.0.0.1 is not a proxy address
          hint: write [SCHEME://]HOST:PORT; SCHEME is http, https, socks4, socks4a, socks5, socks5h
          """
        ),
        (["--resolve", "api.invalid"], "--resolve api.invalid: write HOST:PORT:ADDRESS"),
        (["--connect-to", "a:1:b"], "--connect-to a:1:b: write HOST:PORT:HOST:PORT"),
        (["--unix-socket", ""], "--unix-socket: the path must have 1 to 107 bytes"),
        (["-4", "-6"], "-4 and -6 cannot be used together"),
        (["--http2", "--http1.1"], "--http1.1 and --http2 cannot be used together"),
      ]
      for row in rows {
        let run = try await box.run(["get", "/x"] + row.words, env: Self.env)
        #expect(run.status == 2 && run.stdout == "", "\(row.words)")
        #expect(run.stderr == "authctl: \(row.says)\n", "\(row.words)")
      }
      #expect(api.connections.isEmpty && other.connections.isEmpty)
    }
  }
}
