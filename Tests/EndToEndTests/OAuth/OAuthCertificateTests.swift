import Testing

/// A client that proves who it is by a certificate (RFC 8705).
@Suite struct OAuthCertificateTests {
  /// An authorization server of which one port takes only clients with a certificate. It prints
  /// each request with the common name of its client.
  private static let server = """
    import http.server, json, ssl, sys, threading

    own, client = sys.argv[1:]

    class Handler(http.server.BaseHTTPRequestHandler):
        def answer(self):
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode()
            subject = dict(part[0] for part in (self.connection.getpeercert() or {}).get("subject", ()))
            print(self.command, self.path, subject.get("commonName"), body, flush=True)
            base = f"https://127.0.0.1:{ports[0]}"
            members = {"access_token": "a-1", "token_type": "bearer", "expires_in": 900}
            if self.path.startswith("/.well-known/"):
                members = {
                    "issuer": base, "token_endpoint": base + "/token",
                    "revocation_endpoint": base + "/revoke",
                    "mtls_endpoint_aliases": {
                        "token_endpoint": f"https://127.0.0.1:{ports[1]}/token",
                        "revocation_endpoint": f"https://127.0.0.1:{ports[1]}/revoke"}}
            data = json.dumps(members).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_GET = do_POST = answer

        def log_message(self, *_):
            pass

    ports = []
    for requires in (False, True):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(own + ".pem", own + ".key")
        context.load_verify_locations(client + ".pem")
        context.verify_mode = ssl.CERT_REQUIRED if requires else ssl.CERT_OPTIONAL
        listener = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        listener.socket = context.wrap_socket(listener.socket, server_side=True)
        ports.append(listener.server_port)
        threading.Thread(target=listener.serve_forever).start()
    print("PORT", ports[0], "", flush=True)
    """

  @Test(arguments: ["tls_client_auth", "self_signed_tls_client_auth"])
  func certificateInsteadOfASecret(method: String) async throws {
    try await Sandbox.with(.none) { box in
      let own = try await box.certificate("own")
      let client = try await box.certificate("client")
      let script = try box.write("server.py", Self.server)
      let child = try box.spawn(
        Launch(
          command: ["/usr/bin/python3", script, own, client], environment: box.environment(),
          directory: box.root, stdin: [], keepInputOpen: true, limit: nil, isSampled: false),
        isDaemon: true)
      try await child.waitFor("PORT ")
      let port = String(decoding: child.view.out, as: UTF8.self).split(separator: " ")[1]
      let api = try box.recorder()
      let key = try box.write("key", String(repeating: "0f", count: 32) + "\n")
      let environment = ["AUTHCTL_STORE": "file", "AUTHCTL_STORE_KEY_FILE": key]
      func profile(_ network: String) throws {
        try box.profile(
          "shop",
          """
          url = "\(api.url)"
          [oauth]
          issuer = "https://127.0.0.1:\(port)"
          client_id = "robot"
          grant = "client-credentials"
          client_auth = "\(method)"
          [network]
          ca_file = "\(own).pem"
          \(network)

          """)
      }
      try profile("")
      let none = try await box.run("login", env: environment)
      #expect(none.status == 2)
      #expect(
        none.stderr == """
          authctl: shop: \(method) requires a client certificate
          hint: set network.client_cert and network.client_key

          """)
      try profile("client_cert = \"\(client).pem\"\nclient_key = \"\(client).key\"")
      let run = try await box.run("login", env: environment)
      #expect(run.status == 0, "\(run.stderr)")
      #expect(try await box.run("refresh", env: environment).status == 0)
      #expect(try await box.run("logout", env: environment).status == 0)
      let lines = String(decoding: child.view.out, as: UTF8.self).split(separator: "\n")
        .filter { $0.hasPrefix("POST ") }
      let token = "POST /token client grant_type=client_credentials&client_id=robot"
      #expect(lines.prefix(2) == [token[...], token[...]], "\(lines)")
      #expect(lines.dropFirst(2).allSatisfy { $0.hasPrefix("POST /revoke client token=a-1") })
    }
  }
}
