import Glibc
import Testing

/// The connection that is made while the session is read (rule A17). Runs in a network and with a
/// /etc/hosts of its own, where other machines are addresses of the loopback device.
@Suite(
  .enabled(
    if: geteuid() == 0 && access("/usr/sbin/ip", X_OK) == 0,
    "a network of its own needs root and the package iproute2"))
struct ConnectionAheadTests {
  /// Says, for each connection in the order of their arrival, where it led and what was asked on it,
  /// and what was asked of the name server.
  private static let server = #"""
    import selectors, signal, socket, sys, time
    waiting, seen, ending = selectors.DefaultSelector(), [], []
    signal.signal(signal.SIGTERM, lambda *_: ending.append(time.monotonic() + 1))
    def listen(host, port, backlog=16):
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        listener = socket.socket(family)
        listener.bind((host, port)); listener.listen(backlog)
        return listener
    for host in ["127.0.0.1", "10.213.77.2", "fd00:77::2"]:
        for port in [8080, 8081]:
            waiting.register(listen(host, port), selectors.EVENT_READ, (host, port))
    # Their queues are full: they do not answer to another handshake.
    dead, full = [], []
    for last in "9abcde":
        dead.append(listen("fd00:77::" + last, 8080, 0))
        for _ in range(3):
            full.append(socket.socket(socket.AF_INET6))
            full[-1].setblocking(False)
            full[-1].connect_ex(("fd00:77::" + last, 8080))
    names = socket.socket(type=socket.SOCK_DGRAM)
    names.bind(("10.213.77.53", 53))
    waiting.register(names, selectors.EVENT_READ, None)
    open("ready", "w").close()
    def resolve():
        query, asker = names.recvfrom(512)
        kind = query[query.index(0, 12) + 2]
        seen.append(["DNS", {1: "A", 28: "AAAA"}.get(kind, str(kind))])
        time.sleep(0.2)
        answer = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + bytes([10, 213, 77, 2]) if kind == 1 else b""
        head = query[:2] + b"\x81\x80\0\1" + bytes([0, 1 if answer else 0]) + b"\0\0\0\0"
        names.sendto(head + query[12:query.index(0, 12) + 5] + answer, asker)
    while not ending or time.monotonic() < ending[0] and len(waiting.get_map()) > 7:
        for key, _ in waiting.select(0.01):
            if key.fileobj is names:
                resolve()
            elif isinstance(key.data, tuple):
                connection = key.fileobj.accept()[0]
                seen.append(["%s:%d" % key.data])
                waiting.register(connection, selectors.EVENT_READ, seen[-1])
            elif request := key.fileobj.recv(65536):
                key.data.append(request.split(b" HTTP")[0].decode())
                body = b'{"access_token":"new","refresh_token":"again","expires_in":0}'
                body = body if b"/token" in request else b"{}"
                key.fileobj.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
            else:
                waiting.unregister(key.fileobj)
                key.fileobj.close()
    open("seen", "w").write("".join(" ".join(line) + "\n" for line in seen))
    """#

  private static let script = #"""
    ip link set lo up || exit 99
    for address in 10.213.77.2/32 10.213.77.53/32; do ip addr add $address dev lo || exit 99; done
    for last in 2 9 a b c d e; do ip addr add fd00:77::$last/128 dev lo nodad || exit 99; done
    mount --bind hosts /etc/hosts && mount --bind resolv.conf /etc/resolv.conf || exit 99
    python3 far.py & server=$!
    until [ -e ready ]; do kill -0 $server || exit 98; sleep 0.01; done
    "$@"; status=$?
    kill $server; wait $server
    exit $status
    """#

  private static let hosts = """
    10.213.77.2 four.test
    fd00:77::2 six.test
    fd00:77::9 dead.test
    10.213.77.2 dead.test
    fd00:77::9 many.test
    fd00:77::a many.test
    fd00:77::b many.test
    fd00:77::c many.test
    fd00:77::d many.test
    fd00:77::e many.test
    fd00:77::2 many.test

    """

  /// Runs authctl in that network; `seen` is what its servers report.
  private func run(
    _ box: Sandbox, _ words: [String], env: [String: String?] = [:]
  ) async throws -> (run: Run, seen: [String]) {
    let folder = box.home + "/net"
    try box.write("home/net/far.py", Self.server)
    try box.write("home/net/hosts", Self.hosts)
    try box.write("home/net/resolv.conf", "nameserver 10.213.77.53\noptions timeout:5 attempts:1\n")
    _ = try await box.run("-f", folder + "/ready", folder + "/seen", program: "/bin/rm")
    let run = try await box.run(
      ["-nm", "--propagation", "private", "/bin/sh", "-c", Self.script, "sh", try Built.authctl()]
        + words,
      env: env.merging(["PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]) { $1 },
      program: "/usr/bin/unshare", directory: folder)
    try #require(run.status != 98 && run.status != 99, "no network to test in: \(run.stderr)")
    return (run, (box.read("home/net/seen") ?? "?").split(separator: "\n").map(String.init))
  }

  /// Adds the profile `far` and signs in.
  private func signIn(_ box: Sandbox, _ url: String, _ more: String = "") async throws {
    try box.profile("far", "url = \"\(url)\"\n[network]\nallow_http = true\n" + more)
    let run = try await box.run(
      ["login", "-p", "far", "-u", "ada", "--token-stdin", "-q"], stdin: box.canary.make("access"))
    #expect(run.status == 0, "\(run.stderr)")
  }

  @Test(
    arguments: [
      ("http://10.213.77.2:8080", ["10.213.77.2:8080 GET /x"]),
      ("http://four.test:8080", ["10.213.77.2:8080 GET /x"]),
      ("http://[fd00:77::2]:8080", ["fd00:77::2:8080 GET /x"]),
      ("http://six.test:8080", ["fd00:77::2:8080 GET /x"]),
      ("http://dead.test:8080", ["10.213.77.2:8080 GET /x"]),
      ("http://many.test:8080", ["fd00:77::2:8080 GET /x"]),
      ("http://slow.test:8080", ["DNS A", "DNS AAAA", "10.213.77.2:8080 GET /x"]),
    ])
  func requestUsesTheOneConnection(_ url: String, _ expected: [String]) async throws {
    try await Sandbox.with { box in
      try await signIn(box, url)
      let (run, seen) = try await run(box, ["get", "-p", "far", "/x"])
      #expect(run.stdout == "{}" && run.stderr == "" && run.status == 0, "\(run)")
      #expect(seen == expected)
    }
  }

  /// The keyring does not answer: what has arrived until then was sent without a session.
  @Test func nothingIsSentBeforeTheSessionIsRead() async throws {
    try await Sandbox.with { box in
      try await signIn(box, "http://four.test:8080")
      let place = try box.write(
        "home/far.toml", "url = \"http://four.test:8080\"\n[network]\nallow_http = true\n")
      // By an option, it would not be a usual request, whose connection begins before the options are
      // read.
      try box.write("config/authctl/config.toml", "store_timeout = 0.5\n")
      for (name, url, more) in [
        ("tls", "https://four.test:8080", ""), ("near", "http://127.0.0.1:8080", ""),
        ("proxied", "http://four.test:8080", "proxy = \"http://10.213.77.2:8081\"\n"),
      ] {
        try box.profile(name, "url = \"\(url)\"\n[network]\nallow_http = true\n" + more)
      }
      box.stopKeyring()
      let rows: [(words: [String], env: [String: String], seen: [String])] = [
        (["-p", "far"], [:], ["10.213.77.2:8080"]),
        (["-p", "far", "-H", "A: b"], [:], ["10.213.77.2:8080"]),
        (["-p", "tls"], [:], ["10.213.77.2:8080"]),
        (["-p", "near"], [:], []),
        (["-p", "proxied"], [:], []),
        (["-p", place, "--trust"], [:], []),
        (["-p", "far", "-x", "http://10.213.77.2:8081"], [:], []),
        (["-p", "far"], ["http_proxy": "http://10.213.77.2:8081"], []),
        (["-p", "far"], ["ALL_PROXY": "http://10.213.77.2:8081"], []),
        (["-p", "far", "--resolve", "four.test:8080:10.213.77.2"], [:], []),
        (["-p", "far", "--connect-to", "::10.213.77.2:8080"], [:], []),
        (["-p", "far", "--unix-socket", box.busSocket], [:], []),
        (["-p", "far", "--connect-timeout", "0"], [:], []),
      ]
      for row in rows {
        var env: [String: String?] = [:]
        for (name, value) in row.env { env[name] = value }
        let (run, seen) = try await run(
          box, ["get", "/x"] + row.words, env: env)
        #expect(seen == row.seen, "\(row.words) \(row.env): \(run.stderr)")
        #expect(run.status == 12, "\(row.words): \(run.stderr)")
      }
      box.continueKeyring()
    }
  }

  /// The connection begins before the options are read.
  @Test func noOtherProfileIsConnectedTo() async throws {
    try await Sandbox.with { box in
      try await signIn(box, "http://four.test:8080")
      try box.profile("other", "url = \"http://four.test:8081\"\n[network]\nallow_http = true\n")
      let file = try box.write(
        "home/file.toml", "url = \"http://four.test:8081\"\n[network]\nallow_http = true\n")
      let other: [String: String?] = ["AUTHCTL_PROFILE": "other"]
      let calls: [(words: [String], env: [String: String?], status: Int32, seen: [String])] = [
        (["get", "/x", "-p", "far"], other, 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "--profile", "far", "/x"], other, 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "-p", "other", "-p", "far", "/x"], [:], 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "/x"], ["AUTHCTL_PROFILE": "far"], 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "http://four.test:8080/x"], other, 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "http://four.test:8080/x", "-p", "far"], other, 0, ["10.213.77.2:8080 GET /x"]),
        (["get", "http://four.test:8081/x", "-p", "far"], [:], 13, []),
        (["get", "http://four.test:8080@six.test:8081/x", "-p", "far"], [:], 2, []),
        (["get", "//four.test:8081/x", "-p", "far"], [:], 2, []),
        (["get", "/x", "-p"], other, 2, []),
        (["get", "/x", "/y"], other, 2, []),
        (["whoami", file, "--trust"], other, 10, []),
      ]
      for call in calls {
        let (run, seen) = try await run(box, call.words, env: call.env)
        #expect(run.status == call.status && seen == call.seen, "\(call.words): \(run) \(seen)")
      }
    }
  }

  @Test func tokenOfTheEnvironmentUsesTheOneConnection() async throws {
    try await Sandbox.with(.none) { box in
      try box.profile("far", "url = \"http://four.test:8080\"\n[network]\nallow_http = true\n")
      try box.write("config/authctl/config.toml", "default_profile = \"far\"\n")
      let token: [String: String?] = ["AUTHCTL_TOKEN": box.canary.make("access")]
      let proxy = token.merging(["http_proxy": "http://10.213.77.2:8081"]) { $1 }
      let asked = "10.213.77.2:8080 GET /x"
      let calls: [(words: [String], env: [String: String?], seen: [String])] = [
        (["get", "/x"], token, [asked]),
        (["get", "http://four.test:8080/x", "-p", "far"], token, [asked]),
        (["get", "/x", "-H", "A: b"], token, [asked]),
        (["get", "/x"], proxy, ["10.213.77.2:8081 GET http://four.test:8080/x"]),
        (["get", "/x", "-H", "A: b"], proxy, ["10.213.77.2:8081 GET http://four.test:8080/x"]),
      ]
      for call in calls {
        let (run, seen) = try await run(box, call.words, env: call.env)
        #expect(run.stdout == "{}" && run.status == 0, "\(call.words): \(run)")
        #expect(seen == call.seen, "\(call.words) \(call.env.keys.sorted())")
      }
    }
  }

  @Test func sessionOfAnotherOriginSendsNothing() async throws {
    try await Sandbox.with { box in
      try await signIn(box, "http://four.test:8081")
      try box.profile("far", "url = \"http://four.test:8080\"\n[network]\nallow_http = true\n")
      let (run, seen) = try await run(box, ["get", "-p", "far", "/x"])
      #expect(run.status == 13 && run.stdout == "", "\(run.stderr)")
      #expect(seen == ["10.213.77.2:8080"])
    }
  }

  @Test func withoutASessionNothingIsSent() async throws {
    try await Sandbox.with { box in
      try box.profile("far", "url = \"http://four.test:8080\"\n[network]\nallow_http = true\n")
      let (run, seen) = try await run(box, ["get", "-p", "far", "/x"])
      #expect(run.status == 10 && run.stdout == "", "\(run.stderr)")
      #expect(seen.allSatisfy { $0 == "10.213.77.2:8080" })
    }
  }

  @Test func refusedConnectionIsReported() async throws {
    try await Sandbox.with { box in
      try await signIn(box, "http://four.test:8082")
      let (run, seen) = try await run(box, ["get", "-p", "far", "/x"])
      #expect(
        run.stderr == "authctl: cannot reach http://four.test:8082: connection refused\n",
        "\(run.stderr)")
      #expect(run.status == 7 && run.stdout == "" && seen == [])
    }
  }

  /// Also shows that the time limits of a connection include the one ahead.
  @Test func deadServerTakesNoLongerThanItsTimeLimit() async throws {
    try await Sandbox.with { box in
      try await signIn(box, "http://[fd00:77::9]:8080")
      let (run, seen) = try await run(
        box, ["get", "-p", "far", "/x", "--connect-timeout", "0.5"])
      #expect(
        run.stderr.hasPrefix("authctl: http://[fd00:77::9]:8080 did not answer in time\n"),
        "\(run.stderr)")
      #expect(run.status == 9 && run.stdout == "" && seen == [])
    }
  }

  @Test func renewalElsewhereLeavesItForTheRequest() async throws {
    try await Sandbox.with { box in
      try await signIn(
        box, "http://four.test:8080",
        """
        sign_in_origins = ["http://127.0.0.1:8081"]
        [refresh]
        path = "http://127.0.0.1:8081/token"
        body = { refresh_token = "{refresh_token}" }

        """)
      let login = try await box.run(
        [
          "login", "-p", "far", "-u", "ada", "--token-fd", "0", "--refresh-token-command",
          "echo again", "-q",
        ], stdin: box.canary.make("access"))
      #expect(login.status == 0, "\(login.stderr)")
      let (refresh, asked) = try await run(box, ["refresh", "-p", "far", "-q"])
      #expect(refresh.status == 0, "\(refresh.stderr) \(asked)")
      let (run, seen) = try await run(box, ["get", "-p", "far", "/x"])
      #expect(run.stdout == "{}" && run.status == 0, "\(run.stderr)")
      #expect(seen == ["10.213.77.2:8080 GET /x", "127.0.0.1:8081 POST /token"])
    }
  }
}
