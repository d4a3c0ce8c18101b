import Glibc
import Testing

/// The listener that the browser comes back to: rule A14. The browser does first what an attacker
/// would do, and then brings the honest answer, which still counts.
@Suite struct OAuthRedirectTests {
  /// Runs a sign-in whose browser runs `script` before it brings the answer in `$to`; `$back` is the
  /// redirect URI, `$port` its port.
  private func attack(
    _ script: String, statuses: [Int], oauth: String? = nil,
    sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    try await OAuthShop.with(
      oauth: oauth ?? "client_id = \"demo-public\"\nscope = \"openid read\"",
      sourceLocation: sourceLocation
    ) { shop in
      try shop.browser(
        """
        to=$(target "$1"); back=${to%%\\?*}; port=${back#http://*:}; port=${port%%/*}
        \(script)
        get "$to"
        """)
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)", sourceLocation: sourceLocation)
      #expect(
        shop.shown(run) == OAuthShop.opening + OAuthShop.signedIn(),
        sourceLocation: sourceLocation)
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == statuses + [200], sourceLocation: sourceLocation)
      // Only the honest code was redeemed.
      let codes = try await shop.forms("/token").map { $0["code"] ?? "" }
      #expect(codes.count == 1 && codes[0].count == 32, sourceLocation: sourceLocation)
    }
  }

  /// Answers without the state, or elsewhere, and what browsers ask for by themselves.
  @Test func whatIsNoAnswerIsRefused() async throws {
    try await attack(
      """
      get "$back"
      get "$back?code=evil"
      get "$back?code=evil&state=x"
      get "$back?error=access_denied&state=x"
      get "$back?code=evil&state=x&$(echo "$to" | sed 's/.*\\(state=[^&]*\\).*/\\1/')"
      get "http://127.0.0.1:$port/favicon.ico"
      get "http://127.0.0.1:$port/other?${to#*\\?}"
      get "$back/?${to#*\\?}"
      get -I "$to"
      get -X POST -d '' "$to"
      get -H 'Host: evil.example' "$to"
      get -H "Host: localhost:$port" "$to"
      get -H 'Host:' "$to"
      get --request-target "$to" "$to"
      """, statuses: [Int](repeating: 404, count: 14))
  }

  /// Bytes that are no request, and heads that never end.
  @Test func junkBeforeTheAnswer() async throws {
    try await attack(
      """
      send() { bash -c 'exec 3<>/dev/tcp/127.0.0.1/'"$port"'; cat >&3; timeout 20 cat <&3' 2>&1; }
      head -c 9000 /dev/urandom | send >/dev/null
      printf '\\026\\003\\001\\002\\n\\n' | send >/dev/null
      get -H "X: $(printf %9000d 1)" "$to"
      """, statuses: [000])
  }

  /// Seventeen connections that send nothing: the browser waits until there is room.
  @Test func slowConnections() async throws {
    try await attack(
      """
      for n in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17; do
        bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; exec sleep 60" &
      done
      while [ "$(grep -c ":$(printf %04X "$port") 0100007F:.* 01 " /proc/net/tcp)" -lt 17 ]; do :; done
      """, statuses: [])
  }

  @Test(arguments: ["[::1]", "localhost"])
  func otherHosts(host: String) async throws {
    try await attack(
      "get -g \"http://127.0.0.1:$port/other\"", statuses: [host == "[::1]" ? 0 : 404],
      oauth: "client_id = \"demo-public\"\nscope = \"openid read\"\nredirect_host = \"\(host)\"")
  }

  /// With `localhost` the browser may go to [::1]: who holds that gets nothing.
  @Test func squattedIPv6() async throws {
    try await OAuthShop.with { shop in
      let squatter = try shop.box.recorder(at: "::1")
      try shop.profile(
        "client_id = \"demo-public\"\nredirect_host = \"localhost\"\n"
          + "redirect_port = \(squatter.port)")
      let run = try await shop.run("login")
      #expect(run.status == 1 && run.stdout == "")
      #expect(
        run.stderr == """
          authctl: cannot listen on localhost:\(squatter.port) for the browser (address already in use)
          hint: use --no-browser to sign in without a port

          """)
      #expect(squatter.connections.isEmpty && shop.visited == nil)
    }
  }

  @Test func takenPort() async throws {
    try await OAuthShop.with { shop in
      let squatter = try shop.box.recorder()
      try shop.profile("client_id = \"demo-public\"\nredirect_port = \(squatter.port)")
      let run = try await shop.run("login")
      #expect(run.status == 1 && run.stdout == "" && shop.visited == nil)
      #expect(run.stderr.contains("cannot listen on 127.0.0.1:\(squatter.port)"), "\(run.stderr)")
    }
  }

  /// The port is not free for others while the answer is used.
  @Test func codeServesOnce() async throws {
    try await OAuthShop.with { shop in
      try shop.browser("to=$(target \"$1\"); get \"$to\"; printf %s \"$to\" >'\(shop.box.root)/to'")
      try await shop.signIn()
      let to = try await shop.wait(for: "to")
      let again = try await shop.box.run(
        "-s", "-o", "/dev/null", "-w", "%{http_code}", to, program: "/usr/bin/curl")
      #expect(again.status == 7, "nobody listens any more")
      // The same answer in the next sign-in is another's.
      try shop.browser(
        "get \"$(target \"$1\" | sed 's/?.*//')?\(to.split(separator: "?")[1])\"; visit \"$1\"")
      try await shop.signIn()
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses.suffix(2) == [404, 200])
    }
  }

  @Test(
    arguments: [
      (["iss": "https://evil.example"], "the response in the browser is from another server"),
      (["iss": nil], "the response in the browser does not name its server (iss)"),
      (
        ["iss": ["{issuer}", "https://evil.example"]],
        "the response in the browser is from another server"
      ),
      (["code": ["{value}", "evil"]], "the response in the browser has no code"),
      (["code": nil], "the response in the browser has no code"),
    ] as [(JSON, String)])
  func wrongAnswers(authorize: JSON, says: String) async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["authorize": authorize])
      let run = try await shop.run("login")
      #expect(run.status == 15 && run.stdout == "")
      #expect(
        shop.shown(run).hasPrefix(OAuthShop.opening + "authctl: shop: \(says)\n"), "\(run.stderr)")
      #expect(try await shop.forms("/token").isEmpty)
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == [400])
    }
  }

  /// A wrong state, or none, is somebody else's: 404, and the wait goes on.
  @Test func wrongStateIsWaitedOut() async throws {
    try await OAuthShop.with { shop in
      try await shop.set(["authorize": ["state": "x"]])
      try shop.browser(
        "visit \"$1\"; curl -s -H 'Content-Type: application/json' -d '{\"authorize\":{}}' "
          + "\(shop.api.url)/oauth-settings >/dev/null; visit \"$1\"")
      let run = try await shop.run("login")
      #expect(run.status == 0, "\(run.stderr)")
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == [404, 200])
    }
  }

  /// Some servers lose the state of an error, but any web page could have sent it: it is told once,
  /// and the wait goes on.
  @Test func errorWithoutAState() async throws {
    try await OAuthShop.with { shop in
      try shop.browser(
        """
        to=$(target "$1")
        back=${to%%\\?*}
        get "$back?error=access_denied&error_description=No"
        get "$back?error=access_denied"
        get "$to"
        """)
      let run = try await shop.run("login")
      #expect(run.status == 0 && run.stdout == "")
      #expect(
        shop.shown(run) == OAuthShop.opening + """
          authctl: warning: shop: the sign-in was denied in the browser, but the response does not \
          say for which sign-in. Still waiting; press Ctrl-C to cancel.

          """ + OAuthShop.signedIn())
      _ = try await shop.wait(for: "browser.done")
      #expect(shop.statuses == [404, 404, 200])
    }
  }

  /// What is sent to the page holds nothing of the request.
  @Test func closingPage() async throws {
    try await OAuthShop.with { shop in
      try shop.browser("curl -s -i \"$(target \"$1\")\" >'\(shop.box.root)/page'; get \"$1\"")
      try await shop.signIn()
      let page = try await shop.wait(for: "page")
      #expect(
        page == """
          HTTP/1.1 200 OK\r
          Content-Type: text/html; charset=utf-8\r
          Content-Length: 96\r
          Cache-Control: no-store\r
          Referrer-Policy: no-referrer\r
          Content-Security-Policy: default-src 'none'\r
          Connection: close\r
          \r
          <!DOCTYPE html><title>authctl</title><p>You can close this page and return to the terminal.</p>

          """)
    }
  }
}

/// Another user of the machine knows the port and the state: rules A14 and T6.
@Suite(.enabled(if: HostileEnvironmentTests.isRoot, "needs root to be another user"))
struct OAuthSecondUserTests {
  private static let eve = "setpriv --reuid 65533 --regid 65533 --clear-groups"

  /// Runs a sign-in as a user who is neither root nor Eve; `attacks` are commands of Eve, for whom
  /// `$code` is the answer with a code of her own.
  private func attack(_ attacks: String, statuses: [Int]) async throws {
    try await OAuthShop.with { shop in
      // The browser is started by root here, so that it can become Eve.
      let fifo = shop.box.root + "/urls"
      mkfifo(fifo, 0o666)
      chmod(fifo, 0o666)
      chmod(shop.box.root, 0o755)
      try shop.box.write("opener", "#!/bin/sh\nprintf '%s\\n' \"$1\" >'\(fifo)'\n", mode: 0o755)
      let ada = "54323"
      for folder in ["home", "config", "state", "cache", "data", "run", "key"] {
        _ = try await shop.box.run(
          "-R", ada, shop.box.root + "/" + folder, program: "/bin/chown")
      }
      _ = try await shop.box.run(
        try Built.authctl(), shop.box.root + "/authctl", program: "/bin/cp")
      let login = try shop.box.start(
        [
          "--reuid=\(ada)", "--regid=\(ada)", "--clear-groups", "--", shop.box.root + "/authctl",
          "login",
        ], env: shop.environment(["BROWSER": shop.box.root + "/opener"]),
        program: "/usr/bin/setpriv")
      let script = """
        read -r url <'\(fifo)'
        status() { curl -s -g -o /dev/null -w '%{http_code}\\n' "$@"; }
        target() { curl -s -g -o /dev/null -w '%{redirect_url}' "$1"; }
        to=$(target "$url"); port=${to#http://*:}; port=${port%%/*}
        code=$(target "$url") pid=\(login.pid)
        \(attacks)
        setpriv --reuid \(ada) --regid \(ada) --clear-groups curl -s -o /dev/null \
          -w '%{http_code}\\n' "$to"
        """
      let browser = try await shop.box.run("-c", script, program: "/bin/bash")
      let run = try await login.finish()
      #expect(run.status == 0, "\(run.stderr) \(browser.stderr)")
      #expect(
        browser.stdout.split(separator: "\n").compactMap { Int($0) } == statuses + [200],
        "\(browser.stdout)\(browser.stderr)")
      // The honest code alone was redeemed: it is the first that the server issued.
      #expect(try await shop.forms("/token").count == 1)
      unlink(shop.box.root + "/authctl")
    }
  }

  @Test func anAnswerOfHersIsRefused() async throws {
    try await attack(
      "\(Self.eve) curl -s -o /dev/null -w '%{http_code}\\n' \"$code\"", statuses: [403])
  }

  /// From another address of this machine, and by a socket of both families.
  @Test func noWayAroundTheCheck() async throws {
    try await attack(
      """
      \(Self.eve) curl -s --interface 127.0.0.2 -o /dev/null -w '%{http_code}\\n' "$code"
      \(Self.eve) python3 - "$code" <<'PYTHON'
      import socket, sys, urllib.parse
      url = urllib.parse.urlsplit(sys.argv[1])
      s = socket.socket(socket.AF_INET6)
      s.connect(("::ffff:127.0.0.1", url.port))
      s.sendall(f"GET {url.path}?{url.query} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\n\\r\\n".encode())
      print(s.recv(100).split()[1].decode())
      PYTHON
      """, statuses: [403, 403])
  }

  /// A socket that is closed before it is looked at is shown as root's.
  @Test func closedBeforeItIsLookedAt() async throws {
    try await attack(
      """
      kill -STOP "$pid"
      \(Self.eve) python3 - "$code" <<'PYTHON'
      import socket, sys, urllib.parse
      url = urllib.parse.urlsplit(sys.argv[1])
      s = socket.create_connection(("127.0.0.1", url.port))
      s.sendall(f"GET {url.path}?{url.query} HTTP/1.1\\r\\nHost: {url.netloc}\\r\\n\\r\\n".encode())
      s.close()
      PYTHON
      kill -CONT "$pid"
      """, statuses: [])
  }

  /// Her connections make room for the browser.
  @Test func hersDoNotFillTheListener() async throws {
    try await attack(
      """
      for n in $(seq 20); do
        \(Self.eve) bash -c "exec 3<>/dev/tcp/127.0.0.1/$port; exec sleep 60" >/dev/null 2>&1 &
      done
      """, statuses: [])
  }
}
