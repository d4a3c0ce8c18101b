import Glibc
import Testing

/// Certificates: rule B13. The servers are `openssl s_server` (package openssl).
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the package openssl"))
struct TLSTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token"]

  /// A next page over plain HTTP is refused, although the profile allows its origin (rule A12).
  @Test func nextPageInClear() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let server = try await box.tlsServer(own)
      let plain = try box.recorder()
      try box.write(
        "www/page",
        "HTTP/1.0 200 OK\r\nLink: <\(plain.url)/b>; rel=next\r\n\r\nfirst page\n")
      try box.profile(
        "shop",
        "url = \"\(server.url)\"\n[network]\nca_file = \"\(own).pem\"\n"
          + "allow_origins = [\"\(plain.url)\"]\n")
      let run = try await box.run("get", "/page", "--paginate", env: Self.env)
      #expect(run.status == 13 && run.stdout == "first page\n", "\(run)")
      #expect(
        run.stderr
          == "authctl: refused to continue after page 1: \(plain.url)/b does not use https\n"
      )
      #expect(plain.connections.isEmpty)
    }
  }

  /// Whether the request carries a credential or not, and although the profile allows the origin
  /// (rule A6).
  @Test func redirectToPlainHTTPIsNotFollowed() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let server = try await box.tlsServer(own)
      let plain = try box.recorder()
      try box.write("www/page", "HTTP/1.0 302 Found\r\nLocation: \(plain.url)/b\r\n\r\n")
      try box.profile(
        "shop",
        "url = \"\(server.url)\"\n[network]\nca_file = \"\(own).pem\"\n"
          + "allow_origins = [\"\(plain.url)\"]\n")
      for more in [[], ["-L"], ["--anonymous"]] {
        let run = try await box.run(["get", "-p", "shop", "/page"] + more, env: Self.env)
        #expect(
          run.stderr == "authctl: refused to follow a redirect from https to \(plain.url)/b\n")
        #expect(run.stdout == "" && run.status == 13, "\(more)")
      }
      #expect(plain.connections.isEmpty)
    }
  }

  @Test func certificateIsVerified() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let other = try await box.certificate("other")
      let server = try await box.tlsServer(own)
      try box.profile("shop", "url = \"\(server.url)\"\n")
      try box.profile("pinned", "url = \"\(server.url)\"\n[network]\nca_file = \"\(own).pem\"\n")
      try box.profile("name", "url = \"https://localhost:\(server.port)\"\n")
      struct Row {
        var words: [String]
        var env: [String: String] = [:]
        var status: Int32
      }
      let rows = [
        Row(words: ["-p", "shop"], status: 8),
        Row(words: ["-p", "shop", "--cacert", own + ".pem"], status: 0),
        Row(words: ["-p", "shop", "--cacert", other + ".pem"], status: 8),
        Row(words: ["-p", "shop", "--cacert", "/nowhere"], status: 8),
        Row(words: ["-p", "shop"], env: ["CURL_CA_BUNDLE": own + ".pem"], status: 0),
        Row(words: ["-p", "shop"], env: ["SSL_CERT_FILE": own + ".pem"], status: 0),
        Row(
          words: ["-p", "shop"],
          env: ["CURL_CA_BUNDLE": other + ".pem", "SSL_CERT_FILE": own + ".pem"],
          status: 8),
        Row(
          words: ["-p", "shop"], env: ["CURL_CA_BUNDLE": "", "SSL_CERT_FILE": own + ".pem"],
          status: 0),
        Row(words: ["-p", "pinned"], status: 0),
        // The environment does not override the profile's private authority; the command line does.
        Row(words: ["-p", "pinned"], env: ["CURL_CA_BUNDLE": other + ".pem"], status: 0),
        Row(words: ["-p", "pinned", "--cacert", other + ".pem"], status: 8),
        // A certificate for another host.
        Row(words: ["-p", "name", "--cacert", own + ".pem"], status: 8),
      ]
      for row in rows {
        var env = Self.env
        for (name, value) in row.env { env[name] = value }
        env["SSLKEYLOGFILE"] = box.root + "/keys"
        let run = try await box.run(["get", "/page"] + row.words, env: env)
        #expect(run.status == row.status, "\(row.words) \(row.env): \(run.stderr)")
        #expect(run.stdout == (row.status == 0 ? "secret page\n" : ""))
        #expect(run.stderr.isEmpty == (row.status == 0), "\(run.stderr)")
      }
      #expect(!box.files().contains("keys"))
    }
  }

  /// An authority that the administrator has added to the system's bundle but not to the hashed
  /// folder, which is searched first.
  @Test func authorityOfTheBundleAlone() async throws {
    try await Sandbox.with(.none) { box in
      let bundle = "/etc/ssl/certs/ca-certificates.crt"
      // A private mount namespace, so that no other process sees the changed bundle.
      let place = [
        "-rm", "sh", "-ec", "mount --bind \"$1\" \(bundle); shift; exec \"$@\"", "sh",
        box.root + "/bundle.pem",
      ]
      let own = try await box.certificate("own")
      let authorities = try #require(readFile(bundle))
      try box.write(
        "bundle.pem",
        String(decoding: authorities, as: UTF8.self) + (box.read("own.pem") ?? ""))
      guard try await box.run(place + ["true"], program: "/usr/bin/unshare").status == 0 else {
        print("Not tried here: no mount namespaces")
        return
      }
      let server = try await box.tlsServer(own)
      try box.profile("shop", "url = \"\(server.url)\"\n")
      let command = place + [try Built.authctl()]
      for _ in 0..<2 {
        let run = try await box.run(
          command + ["get", "/page"], env: Self.env, program: "/usr/bin/unshare")
        #expect(run.status == 0 && run.stdout == TLSServer.page && run.stderr.isEmpty, "\(run)")
      }
      let batch = try await box.run(
        // The server takes one connection after the other.
        command + ["batch", "--unordered", "--connect-timeout", "60"],
        stdin: (1...9).map { "{\"id\":\($0),\"url\":\"/page\"}\n" }.joined(), env: Self.env,
        program: "/usr/bin/unshare")
      #expect(batch.status == 0 && batch.stderr.isEmpty, "\(batch)")
      #expect(batch.stdout.split(separator: "\n").count == 9)
    }
  }

  @Test func portThatBreaksOffTheHandshake() async throws {
    try await Sandbox.with(.none) { box in
      let listening = try Sockets.listen(at: "127.0.0.1", port: 0)
      startThread {
        // The first connection reads the whole request; the second reads one byte, so that closing
        // it sends a reset.
        for most in [65_536, 1] {
          let peer = accept(listening.socket, nil, nil)
          var bytes = [UInt8](repeating: 0, count: most)
          recv(peer, &bytes, most, 0)
          close(peer)
        }
        close(listening.socket)
      }
      let url = "https://127.0.0.1:\(listening.port)"
      for _ in 1...2 {
        let run = try await box.run("get", "--anonymous", url)
        let said = run.stderr.wholeMatch(
          of:
            /authctl: TLS with (\S+) failed: (?:.*\S)\nhint: the port may not use TLS, or .*\n/)
        #expect(said?.1 == Substring(url), "\(run.stderr.debugDescription)")
        #expect(run.stdout == "" && run.status == 8)
      }
    }
  }

  @Test func insecureWarnsEachTimeAndIsForThatRequestAlone() async throws {
    try await Sandbox.with(.none) { box in
      let server = try await box.tlsServer(try await box.certificate("own"))
      try box.profile("shop", "url = \"\(server.url)\"\n")
      for more in [[], ["-q"], ["--errors", "json"]] {
        let run = try await box.run(["get", "-k", "/page"] + more, env: Self.env)
        #expect(run.status == 0)
        #expect(run.stdout == "secret page\n")
        #expect(
          run.stderr
            == "authctl: warning: -k: the certificate of \(server.url) is not verified\n")
      }
      #expect(try await box.run("get", "/page", env: Self.env).status == 8)
      for words in [
        ["login", "-k"], ["refresh", "-k"], ["logout", "-k"], ["whoami", "--insecure"],
      ] {
        #expect(try await box.run(words).status == 2, "\(words)")
      }
      try box.profile("loose", "url = \"\(server.url)\"\n[network]\ninsecure = true\n")
      #expect(try await box.run("get", "-p", "loose", "/page", env: Self.env).status == 2)
    }
  }

  @Test func renewalNeverRidesOnInsecure() async throws {
    try await Sandbox.with { box in
      let refresh = box.canary.make("refresh")
      let server = try await box.tlsServer(try await box.certificate("own"))
      try box.profile("shop", Scene.profile(server.url))
      // {"alg":"none"} . {"exp":1000000000} . x: an expired token.
      let token = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.eA"
      let login = try await box.run(
        "login", "-p", "shop", "-u", "ada", "--token-stdin", "--refresh-token-stdin",
        stdin: "\(token)\n\(refresh)\n")
      #expect(login.status == 0, "\(login.stderr)")
      let run = try await box.run("get", "-k", "-p", "shop", "/page")
      #expect(run.status == 8, "\(run.stderr)")
      #expect(run.stdout == "")
      #expect(!server.log.contains("FILE:"), "\(server.log)")
      #expect(try await box.storedTokens() == [token])
    }
  }

  @Test func oldProtocolsAreRefused() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      for (option, status) in [("-tls1_1", 8), ("-tls1_2", 0)] as [(String, Int32)] {
        let server = try await box.tlsServer(own, option, "-cipher", "ALL:@SECLEVEL=0")
        try box.profile("shop", "url = \"\(server.url)\"\n")
        let run = try await box.run("get", "/page", "--cacert", own + ".pem", env: Self.env)
        #expect(run.status == status, "\(option): \(run.stderr)")
      }
    }
  }

  // MARK: Output of doctor

  @Test(arguments: [(10, "warn", "9 days"), (16, "ok", "15 days"), (1, "warn", "23 h")])
  func certificateThatEnds(_ days: Int, _ result: String, _ left: String) async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own", days: "\(days)")
      let server = try await box.tlsServer(own)
      try box.profile("shop", "url = \"\(server.url)/page\"\n[network]\nca_file = \"\(own).pem\"\n")
      let text = try await DoctorTests.text(box, status: 1)
      let end = Shop.date(Shop.now() + Double(days * 86_400), "%Y-%m-%d")
      #expect(
        text.contains(
          """

          ok    shop      \(server.url): TCP N ms, TLS1.3 N ms
          \(result)\(result == "ok" ? "  " : "")  shop      certificate expires in \(left) (\(end))

          """), "\(text)")
      // The profile's authority is the only one (rule B13); without it the certificate is not
      // trusted.
      let other = try await DoctorTests.text(box, env: ["CURL_CA_BUNDLE": own + ".key"], status: 1)
      #expect(other.contains("certificate expires in \(left)"))
      try box.profile("shop", "url = \"\(server.url)\"\n")
      let unknown = try await DoctorTests.text(box, status: 1)
      #expect(
        unknown.contains(
          """

          FAIL  shop      TLS with \(server.url) failed: SSL certificate problem: self-signed certificate
                          fix: to trust its authority, set network.ca_file in the profile

          """), "\(unknown)")
      #expect(!unknown.contains("certificate expires"))
    }
  }

  @Test func certificateThatHasEnded() async throws {
    try await Sandbox.with(.none) { box in
      let base = box.root + "/own"
      try box.write("names", "subjectAltName=IP:127.0.0.1\n")
      for words in [
        "req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=own -keyout "
          + "\(base).key -out \(base).csr",
        "x509 -req -in \(base).csr -signkey \(base).key -days -1 -extfile \(box.root)/names -out "
          + "\(base).pem",
      ] {
        let run = try await box.run(
          words.split(separator: " ").map(String.init), program: "/usr/bin/openssl")
        try #require(run.status == 0, "\(run.stderr)")
      }
      let server = try await box.tlsServer(base)
      try box.profile(
        "shop", "url = \"\(server.url)/page\"\n[network]\nca_file = \"\(base).pem\"\n")
      let text = try await DoctorTests.text(box, status: 1)
      #expect(
        text.contains(
          """

          FAIL  shop      TLS with \(server.url) failed: SSL certificate problem: certificate has expired
                          fix: renew the certificate, or correct this machine's clock

          """), "\(text)")
      #expect(!server.log.contains("FILE:"))
    }
  }

  @Test func clientCertificateStaysWithTheRequestOrigins() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let client = try await box.certificate("client")
      let a = try await box.tlsServer(own, "-verify", "1")
      let b = try await box.tlsServer(own, "-verify", "1")
      try box.write("www/go", "HTTP/1.0 302 Found\r\nLocation: \(b.url)/page\r\n\r\n")
      try box.profile(
        "shop",
        """
        url = "\(a.url)"
        [network]
        ca_file = "\(own).pem"
        client_cert = "\(client).pem"
        client_key = "\(client).key"

        """)
      let run = try await box.run("get", "/go", env: Self.env)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(run.stdout == "secret page\n")
      await a.child.until { find(Array("FILE:go".utf8), in: $0.out + $0.err) != nil }
      await b.child.until { find(Array("FILE:page".utf8), in: $0.out + $0.err) != nil }
      #expect(a.log.contains("CN = client"), "\(a.log)")
      #expect(!b.log.contains("CN = client"), "\(b.log)")
    }
  }
}
