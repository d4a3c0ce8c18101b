import Glibc
import Testing

/// A server at 127.0.0.1 that answers GET with the complete HTTP responses in the files of `www`:
/// `openssl s_server`.
struct TLSServer {
  var child: Child
  var port: String
  var url: String { "https://127.0.0.1:\(port)" }
  var log: String { String(decoding: child.view.out + child.view.err, as: UTF8.self) }
  static let page = "secret page\n"
}

extension Sandbox {
  /// Makes NAME.key and NAME.pem, self-signed, for 127.0.0.1; returns their path without extension.
  func certificate(_ name: String, days: String = "2") async throws -> String {
    let base = root + "/" + name
    func openssl(_ words: [String]) async throws {
      let run = try await run(words, program: "/usr/bin/openssl")
      try #require(run.status == 0, "\(run.stderr)")
    }
    try await openssl([
      "req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
      "-keyout", base + ".key", "-out", base + ".csr", "-subj", "/CN=" + name,
    ])
    let names = try write(name + ".cnf", "subjectAltName=IP:127.0.0.1\n")
    try await openssl([
      "x509", "-req", "-in", base + ".csr", "-signkey", base + ".key", "-days", days,
      "-extfile", names, "-out", base + ".pem",
    ])
    return base
  }

  /// Starts a server with that certificate; it is stopped with the sandbox.
  func tlsServer(_ certificate: String, _ options: String...) async throws -> TLSServer {
    try write("www/page", "HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n" + TLSServer.page)
    let child = try spawn(
      Launch(
        command: [
          "/usr/bin/openssl", "s_server", "-accept", "127.0.0.1:0", "-cert", certificate + ".pem",
          "-key", certificate + ".key", "-HTTP",
        ] + options,
        environment: environment(), directory: root + "/www", stdin: [],
        keepInputOpen: true, limit: nil, isSampled: false),
      isDaemon: true)
    try await child.waitFor("ACCEPT ")
    let view = await child.until {
      find([10], in: $0.out, from: (find(Array("ACCEPT ".utf8), in: $0.out) ?? 0)) != nil
    }
    let text = String(decoding: view.out, as: UTF8.self)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("ACCEPT ") })
    return TLSServer(child: child, port: String(line.split(separator: ":").last ?? ""))
  }
}
