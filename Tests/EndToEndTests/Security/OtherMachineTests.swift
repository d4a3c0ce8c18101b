import Glibc
import Testing

/// Another machine under a name of this one (rule A7): over plain HTTP it receives no request with
/// a credential. Runs in a private network namespace, where the other machine's address is real and
/// nothing leaves.
@Suite(
  .enabled(
    if: geteuid() == 0 && access("/usr/sbin/ip", X_OK) == 0,
    "a network of its own needs root and the package iproute2"))
struct OtherMachineTests {
  private static let peer = "10.213.77.2"

  /// The other machine's server: answers everything and records it. Uses perl-base, which every
  /// Debian has.
  private static let server = #"""
    use Socket;
    socket(my $listener, PF_INET, SOCK_STREAM, 0) or die;
    setsockopt($listener, SOL_SOCKET, SO_REUSEADDR, 1);
    bind($listener, sockaddr_in(8080, inet_aton($ARGV[0]))) or die;
    listen($listener, 16);
    open(my $log, ">>", "seen"); select($log); $| = 1;
    open(my $ready, ">", "ready"); close($ready);
    while (accept(my $socket, $listener)) {
      sysread($socket, my $bytes, 65536);
      print $log "$bytes\n" if length $bytes;
      syswrite($socket, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}");
      close($socket);
    }
    """#

  private static let script = #"""
    ip link set lo up && ip addr add "$PEER/32" dev lo || exit 99
    perl server.pl "$PEER" & server=$!
    until [ -e ready ]; do kill -0 $server || exit 98; sleep 0.01; done
    "$@" 2>&1; status=$?
    kill $server
    exit $status
    """#

  /// Runs authctl in that network; `seen` is what the other machine received.
  private func run(
    _ box: Sandbox, _ words: [String], stdin: String? = nil, env: [String: String?] = [:]
  ) async throws -> (run: Run, seen: String) {
    let folder = box.home + "/net"
    try box.write("home/net/server.pl", Self.server)
    try box.write("home/net/seen", "")
    _ = try await box.run("-f", folder + "/ready", program: "/bin/rm")
    let run = try await box.run(
      ["-n", "/bin/sh", "-c", Self.script, "sh", try Built.authctl()] + words, stdin: stdin,
      env: env.merging(["PEER": Self.peer, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"]) { $1 },
      program: "/usr/bin/unshare", directory: folder)
    try #require(run.status != 98 && run.status != 99, "no network to test in: \(run.stdout)")
    return (run, box.read("home/net/seen") ?? "")
  }

  @Test func peerThatIsAskedSees() async throws {
    try await Sandbox.with(.none) { box in
      let (run, seen) = try await run(box, ["get", "--anonymous", "http://\(Self.peer):8080/x"])
      #expect(run.status == 0 && run.stdout == "{}", "\(run.stdout)")
      #expect(seen.hasPrefix("GET /x HTTP/1.1\r\n"))
    }
  }

  @Test func noOptionMakesAnotherMachineThisOne() async throws {
    let there = "\(Self.peer):8080"
    let refused = "authctl: refused to send a credential in clear to \(Self.peer), which is not "
    let rows: [(url: String, words: [String], env: [String: String], start: String, status: Int32)]
    rows = [
      ("http://localhost:8080", ["--resolve", "localhost:8080:\(Self.peer)"], [:], refused, 13),
      ("http://localhost:8080", ["--resolve", "*:8080:\(Self.peer)"], [:], refused, 13),
      ("http://localhost:8080", ["--connect-to", "localhost:8080:" + there], [:], refused, 13),
      ("http://127.0.0.1:8080", ["--connect-to", "::" + there], [:], refused, 13),
      ("http://127.0.0.1:8080", ["--resolve", "127.0.0.1:8080:\(Self.peer)"], [:], refused, 13),
      (
        "http://localhost:8080", ["--resolve", "localhost:8080:[::ffff:\(Self.peer)]"], [:],
        "authctl: refused to send a credential in clear to ::ffff:\(Self.peer), which is not ", 13
      ),
      (
        "http://localhost:8080", ["-x", "http://" + there], [:],
        "authctl: refused to send a credential in clear to http://localhost:8080 by the proxy", 13
      ),
      (
        "http://localhost:8080", ["-x", "socks5h://" + there], [:],
        "authctl: refused to send a credential in clear to http://localhost:8080 by the proxy", 13
      ),
      ("http://" + there, [], [:], "authctl: refused to send a credential in clear to http://", 13),
      (
        "http://[::ffff:\(Self.peer)]:8080", [], [:],
        "authctl: refused to send a credential in clear to http://", 13
      ),
      (
        "http://0:8080", ["--connect-to", "::" + there], [:],
        "authctl: refused to send a credential in clear to http://0.0.0.0", 13
      ),
      (
        "http://foo.localhost:8080", ["--resolve", "foo.localhost:8080:\(Self.peer)"], [:],
        "authctl: refused to send a credential in clear to http://foo.localhost", 13
      ),
      // They go to port 8080 of this machine, where nothing listens.
      (
        "http://localhost:8080", [], ["http_proxy": "http://" + there], "authctl: cannot reach", 7
      ),
      (
        "http://127.0.0.1:8080", [], ["ALL_PROXY": "socks5h://" + there], "authctl: cannot reach", 7
      ),
    ]
    try await Sandbox.with(.none) { box in
      let token = box.canary.make("access")
      for row in rows {
        try box.profile("shop", "url = \"\(row.url)\"\n")
        var env: [String: String?] = ["AUTHCTL_TOKEN": token]
        for (name, value) in row.env { env[name] = value }
        for (words, input) in [
          (["get", "/x"], nil), (["batch"], "{\"url\":\"/x\"}\n"),
        ] as [([String], String?)] {
          let (run, seen) = try await run(box, words + row.words, stdin: input, env: env)
          #expect(seen == "", "\(words) \(row.url) \(row.words) \(row.env)")
          #expect(run.status == row.status, "\(words) \(row.url) \(row.words): \(run.stdout)")
          if input == nil { #expect(run.stdout.hasPrefix(row.start), "\(run.stdout)") }
        }
      }
    }
  }
}
