import Glibc
import Testing

/// curl's TLS options on requests: rules B7, B10 and B13.
@Suite(.enabled(if: access("/usr/bin/openssl", X_OK) == 0, "needs the package openssl"))
struct TLSOptionTests {
  private static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token"]

  private struct Row {
    var words: [String]
    var env: [String: String] = [:]
    var status: Int32 = 8
    /// The whole of stderr; SERVER is replaced by the server's URL.
    var says = ""
  }

  private func check(
    _ box: Sandbox, _ server: TLSServer, _ rows: [Row],
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try box.profile("shop", "url = \"\(server.url)\"\n")
    for row in rows {
      var env = Self.env
      for (name, value) in row.env { env[name] = value }
      let run = try await box.run(["get", "/page"] + row.words, stdin: "", env: env)
      #expect(run.status == row.status, "\(row.words) \(row.env)", sourceLocation: sourceLocation)
      #expect(
        run.stdout == (row.status == 0 ? TLSServer.page : ""), sourceLocation: sourceLocation)
      let says = row.says.replacing("SERVER", with: server.url)
      #expect(run.stderr == says, "\(row.words) \(row.env)", sourceLocation: sourceLocation)
    }
  }

  private static let unknown = """
    authctl: TLS with SERVER failed: SSL certificate problem: self-signed certificate
    hint: use --cacert FILE to trust the authority that signed the server's certificate

    """

  private static func noAuthorities(_ path: String, _ why: String, _ source: String) -> String {
    """
    authctl: certificate authorities: \(path): \(why)
    hint: \(source) sets it; no other authorities are used instead

    """
  }

  @Test func authorities() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let other = try await box.certificate("other")
      let (folder, empty) = (box.root + "/authorities", box.root + "/empty")
      try box.write("authorities/own.pem", try #require(box.read("own.pem")))
      #expect(mkdir(empty, 0o700) == 0)
      let hash = try await box.run("rehash", folder, program: "/usr/bin/openssl")
      #expect(hash.status == 0, "\(hash.stderr)")
      let none = "no such file or directory"
      try await check(
        box, try await box.tlsServer(own),
        [
          Row(words: [], says: Self.unknown), Row(words: ["--capath", folder], status: 0),
          Row(words: ["--capath", folder, "--cacert", other + ".pem"], status: 0),
          Row(words: ["--cacert", other + ".pem"], says: Self.unknown),
          Row(words: ["--cacert", "/none"], says: Self.noAuthorities("/none", none, "--cacert")),
          Row(
            words: ["--cacert", empty],
            says: Self.noAuthorities(empty, "is a directory", "--cacert")),
          Row(words: ["--capath", empty], says: Self.noAuthorities(empty, "is empty", "--capath")),
          Row(words: ["--capath", "/none"], says: Self.noAuthorities("/none", none, "--capath")),
          Row(words: [], env: ["SSL_CERT_DIR": folder], status: 0),
          Row(
            words: [], env: ["SSL_CERT_DIR": folder, "SSL_CERT_FILE": other + ".pem"], status: 0),
          Row(
            words: [], env: ["SSL_CERT_DIR": empty, "SSL_CERT_FILE": ""],
            says: Self.noAuthorities(empty, "is empty", "SSL_CERT_DIR")),
          Row(
            words: [], env: ["SSL_CERT_DIR": "", "SSL_CERT_FILE": "", "CURL_CA_BUNDLE": ""],
            says: Self.unknown),
          Row(
            words: [], env: ["CURL_CA_BUNDLE": "/none", "SSL_CERT_FILE": own + ".pem"],
            says: Self.noAuthorities("/none", none, "CURL_CA_BUNDLE")),
          Row(
            words: ["--cacert", own + ".pem"], env: ["CURL_CA_BUNDLE": "/none"], status: 0),
        ])
    }
  }

  /// Each cause has its own hint.
  @Test func reasons() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let old = try await box.certificate("old", days: "-1")
      try await check(
        box, try await box.tlsServer(old),
        [
          Row(
            words: ["--cacert", old + ".pem"],
            says: """
              authctl: TLS with SERVER failed: SSL certificate problem: certificate has expired
              hint: the server's owner must renew the certificate, unless this machine's clock is wrong

              """)
        ])
      let server = try await box.tlsServer(own, "-no_tls1_3")
      try await check(
        box, server,
        [
          Row(words: ["--cacert", own + ".pem", "--tlsv1.2"], status: 0),
          Row(words: ["--cacert", own + ".pem", "--tlsv1.2", "--http1.1", "-4"], status: 0),
        ])
      let new = try await box.run(
        "get", "/page", "--cacert", own + ".pem", "--tlsv1.3", env: Self.env)
      #expect(new.status == 8 && new.stdout == "")
      #expect(new.stderr.hasPrefix("authctl: TLS with \(server.url) failed: "), "\(new.stderr)")
      #expect(
        new.stderr.hasSuffix(
          "\nhint: the port may not use TLS, or only an old version\n"), "\(new.stderr)")
      let name = try await box.run(
        "get", "/page", "--cacert", own + ".pem",
        env: ["AUTHCTL_TOKEN": "t", "AUTHCTL_URL": "https://localhost:\(server.port)"])
      #expect(name.status == 8)
      #expect(
        name.stderr == """
          authctl: TLS with https://localhost:\(server.port) failed: SSL: no alternative certificate \
          subject name matches target host name 'localhost'
          hint: use the host name in the certificate; --connect-to can send it to another machine

          """)
    }
  }

  @Test func pinnedKey() async throws {
    try await Sandbox.with { box in
      let own = try await box.certificate("own")
      let other = try await box.certificate("other")
      for name in [own, other] {
        let key = try await box.run(
          "x509", "-in", name + ".pem", "-noout", "-pubkey", "-out", name + ".pub",
          program: "/usr/bin/openssl")
        #expect(key.status == 0, "\(key.stderr)")
      }
      let server = try await box.tlsServer(own)
      let wrong = """
        authctl: TLS with SERVER failed: SSL: public key does not match pinned public key
        hint: the server's key does not match --pinnedpubkey; ask its owner whether it has changed

        """
      let warning = "authctl: warning: -k: the certificate of SERVER is not verified\n"
      let trust = ["--cacert", own + ".pem", "--pinnedpubkey"]
      let zero = "sha256//47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
      try await check(
        box, server,
        [
          Row(words: trust + [own + ".pub"], status: 0),
          Row(words: trust + [other + ".pub"], says: wrong),
          Row(words: trust + [zero], says: wrong),
          Row(words: ["-k", "--pinnedpubkey", own + ".pub"], status: 0, says: warning),
          Row(words: ["-k", "--pinnedpubkey", zero], says: warning + wrong),
          Row(
            words: trust + ["/none"], status: 1,
            says: """
              authctl: --pinnedpubkey: cannot read /none: no such file or directory
              hint: write sha256//BASE64 or the name of a PEM or DER file

              """),
        ])
      // A renewal that the request needs does not accept another key either.
      try box.profile("renew", Scene.profile(server.url))
      let token = "eyJhbGciOiJub25lIn0.eyJleHAiOjEwMDAwMDAwMDB9.eA"
      let refresh = box.canary.make("refresh")
      let login = try await box.run(
        "login", "-p", "renew", "-u", "ada", "--token-stdin", "--refresh-token-stdin",
        stdin: "\(token)\n\(refresh)\n")
      #expect(login.status == 0, "\(login.stderr)")
      let before = server.log
      let run = try await box.run(["get", "-p", "renew", "/page"] + trust + [zero])
      #expect(run.status == 8 && run.stderr == wrong.replacing("SERVER", with: server.url))
      #expect(!server.log.dropFirst(before.count).contains("FILE:"))
    }
  }

  @Test func clientCertificate() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let client = try await box.certificate("client")
      let other = try await box.certificate("other")
      let passphrase = box.canary.make("passphrase")
      try box.write("home/pass", passphrase + "\n")
      let lock = try await box.run(
        "ec", "-in", client + ".key", "-aes128", "-passout", "file:" + box.home + "/pass", "-out",
        client + ".locked", program: "/usr/bin/openssl")
      #expect(lock.status == 0, "\(lock.stderr)")
      let pair = [try #require(box.read("client.pem")), try #require(box.read("client.locked"))]
      let both = try box.write("both.pem", pair.joined())
      try box.write("loose.key", try #require(box.read("client.key")), mode: 0o644)
      let server = try await box.tlsServer(
        own, "-Verify", "1", "-verify_return_error",
        "-CAfile", client + ".pem")
      let trust = ["--cacert", own + ".pem"]
      let cert = trust + ["--cert", client + ".pem"]
      func local(_ file: String) -> String {
        """
        authctl: TLS with SERVER failed: unable to set private key file: '\(file)' type PEM
        hint: give a client certificate with --cert FILE and --key FILE (passphrase: --pass-file FILE)

        """
      }
      try await check(
        box, server,
        [
          Row(words: cert + ["--key", client + ".key"], status: 0),
          Row(words: cert + ["--key", client + ".locked", "--pass-file", "pass"], status: 0),
          Row(words: trust + ["--cert", both, "--pass-command", "cat pass"], status: 0),
          Row(words: cert + ["--key", client + ".locked"], says: local(client + ".locked")),
          Row(words: cert + ["--key", other + ".key"], says: local(other + ".key")),
          Row(
            words: trust + ["--cert", both + ":x"], status: 2,
            says: """
              authctl: --cert takes only a file: other users could read a passphrase there
              hint: use --cert FILE with --pass-file FILE or --pass-command CMD

              """),
          Row(
            words: trust + ["--cert", "/none"], status: 1,
            says: "authctl: --cert: cannot read /none: no such file or directory\n"),
          Row(
            words: cert + ["--key", box.root + "/loose.key"], status: 2,
            says: """
              authctl: --key: \(box.root)/loose.key is accessible to other users (mode 0644)
              hint: chmod 600 \(box.root)/loose.key

              """),
        ])
      let bare = try await box.run(["get", "/page"] + trust, env: Self.env)
      #expect(bare.status == 8 && bare.stdout == "", "\(bare.stderr)")
      #expect(
        bare.stderr.hasSuffix(
          "\nhint: give a client certificate with --cert FILE and --key FILE "
            + "(passphrase: --pass-file FILE)\n"), "\(bare.stderr)")
    }
  }

  /// Rule B13: a redirect to another origin does not present the certificate.
  @Test func clientCertificateStaysAtHome() async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let client = try await box.certificate("client")
      let a = try await box.tlsServer(own, "-verify", "1")
      let b = try await box.tlsServer(own, "-verify", "1")
      try box.write("www/go", "HTTP/1.0 302 Found\r\nLocation: \(b.url)/page\r\n\r\n")
      try box.profile("shop", "url = \"\(a.url)\"\n")
      let words = [
        "--cacert", own + ".pem", "--cert", client + ".pem", "--key", client + ".key",
      ]
      for target in [["/go"], ["--anonymous", a.url + "/go"]] {
        let run = try await box.run(["get"] + target + words, env: Self.env)
        #expect(run.status == 0 && run.stdout == TLSServer.page, "\(run.stderr)")
      }
      await b.child.until { view in
        let log = String(decoding: view.out + view.err, as: UTF8.self)
        return log.split(separator: "FILE:page", omittingEmptySubsequences: false).count == 3
      }
      let seen = a.log.split(separator: "depth=0 CN = client", omittingEmptySubsequences: false)
      #expect(seen.count >= 3, "\(a.log)")
      #expect(!b.log.contains("CN = client"), "\(b.log)")
    }
  }
}
