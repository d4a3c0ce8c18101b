// DemoAPI: a small HTTP API to try and to test against. It listens only on 127.0.0.1 and keeps
// everything in memory. `DemoAPI --help` lists the options, `GET /` the endpoints.

import FlyingFox
import FlyingSocks
import Foundation

@main
struct Demo {
  static func main() async {
    do {
      try await run(Options(CommandLine.arguments.dropFirst()))
    } catch {
      fail(error)
    }
  }

  static func fail(_ error: any Error) -> Never {
    FileHandle.standardError.write(Data("DemoAPI: \(error)\n".utf8))
    exit(2)
  }

  static func run(_ options: Options) async throws {
    signal(SIGPIPE, SIG_IGN)
    for number in [SIGTERM, SIGINT] { signal(number) { _ in _exit(0) } }

    let raw = options.rawPort == nil ? nil : try RawListener(port: options.rawPort ?? 0)
    let router = Router(options: options, raw: raw)
    let server = HTTPServer(
      address: try sockaddr_in.inet(ip4: "127.0.0.1", port: options.port),
      timeout: 24 * 3600,  // a test can slow a handler down
      logger: .disabled,
      handler: router
    )
    let running = Task {
      do { try await server.run() } catch { fail(error) }
    }
    try await server.waitUntilListening()
    guard case .ip4(_, let port)? = await server.listeningAddress else { return }

    // The raw port first: when the other file exists, this one does too.
    if let raw, let path = options.rawPortFile { try announce(raw.port, in: path) }
    if let path = options.portFile { try announce(port, in: path) }
    print("DemoAPI listening on http://127.0.0.1:\(port)")
    fflush(nil)
    if options.untilEOF {
      Thread.detachNewThread {
        while (try? FileHandle.standardInput.read(upToCount: 4096))?.isEmpty == false {}
        _exit(0)
      }
    }
    await running.value
  }

  /// Replaces the file atomically, so that a reader never sees half a number.
  static func announce(_ port: UInt16, in path: String) throws {
    try Data("\(port)\n".utf8).write(to: URL(fileURLWithPath: path), options: .atomic)
  }
}
