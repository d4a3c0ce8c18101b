import Glibc

/// DemoAPI in its own process on a free port. Made by `Sandbox.api(…)`.
struct APIServer: Sendable {
  let child: Child
  /// `http://127.0.0.1:PORT`
  let url: String
  let port: UInt16

  init(_ child: Child) async throws {
    self.child = child
    let opening = "DemoAPI listening on "
    try await child.waitFor(opening)
    let view = await child.until { $0.out.last == 10 }
    let lines = String(decoding: view.out, as: UTF8.self).split(separator: "\n")
    guard let line = lines.first(where: { $0.hasPrefix(opening) }),
      let port = line.split(separator: ":").last.flatMap({ UInt16($0) })
    else { throw HarnessError("DemoAPI said \(lines)") }
    self.port = port
    url = String(line.dropFirst(opening.count))
  }

  /// How many requests a route has had; a route is written as `"POST /refresh"`.
  func count(_ route: String) async throws -> Int { try await counts()[route]?.int ?? 0 }

  /// The number of requests per route.
  func counts() async throws -> JSON { try await ask("GET", "/count") }

  /// Every request so far: an array of objects with method, target, path, query, headers, body, ….
  func requests() async throws -> [JSON] { try await ask("GET", "/requests").elements }

  /// Makes a path misbehave: `["path": "/refresh", "times": 1, "status": 500]`.
  func misbehave(_ trick: JSON) async throws { _ = try await ask("POST", "/misbehave", trick) }

  /// Resets all tricks and counts.
  func reset() async throws { _ = try await ask("POST", "/reset", [:]) }

  /// Expires all access tokens issued so far.
  func expire() async throws { _ = try await ask("POST", "/expire", [:]) }

  /// Kills the server: later connections are refused.
  func stop() async {
    child.signal(SIGKILL, group: true)
    await child.until { $0.finished }
  }

  /// Sends one request of the harness itself and returns the JSON of its response.
  /// - Throws: `HarnessError` if the response is not 2xx with JSON or an empty body.
  @discardableResult
  func ask(_ method: String, _ path: String, _ body: JSON? = nil) async throws -> JSON {
    let text = body?.text ?? ""
    let port = port
    let request =
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
      + "Content-Type: application/json\r\nContent-Length: \(text.utf8.count)\r\n\r\n\(text)"
    let answer: [UInt8] = try await onThread {
      let socket = try Sockets.connect(to: "127.0.0.1", port: port)
      defer { close(socket) }
      Sockets.send(Array(request.utf8), to: socket)
      var bytes: [UInt8] = []
      while !HTTPMessage.isWhole(bytes), let piece = Sockets.receive(from: socket) {
        bytes += piece
      }
      return bytes
    }
    guard answer.starts(with: "HTTP/1.1 2".utf8),
      let end = find(Array("\r\n\r\n".utf8), in: answer)
    else {
      throw HarnessError("\(method) \(path): \(String(decoding: answer, as: UTF8.self))")
    }
    let content = String(decoding: answer[(end + 4)...], as: UTF8.self)
    return content.isEmpty ? .null : try JSON(parsing: content)
  }
}
