import Foundation

/// The command-line options.
struct Options: Sendable {
  var port: UInt16 = 0
  var portFile: String?
  /// nil: no raw listener.
  var rawPort: UInt16?
  var rawPortFile: String?
  /// Seconds; nil: each dialect's own default.
  var tokenTTL: Double?
  var refreshTTL: Double = 30 * 86400
  /// Whether the demo dialect issues a new refresh token with each refresh.
  var rotate = true
  var untilEOF = false

  struct Misuse: Error, CustomStringConvertible { let description: String }

  static let help = """
    usage: DemoAPI [--port N] [--port-file PATH] [--token-ttl SECONDS] [--refresh-ttl SECONDS]
                   [--rotate | --no-rotate] [--raw-port N] [--raw-port-file PATH] [--until-eof]

      --port N             listen on 127.0.0.1:N; 0, the default, takes any free port
      --port-file PATH     write the port there once requests are served
      --token-ttl SECONDS  lifetime of access tokens (default: each dialect's own)
      --refresh-ttl SECONDS  lifetime of refresh tokens (default: 30 days)
      --no-rotate          POST /refresh gives no new refresh token; the old one stays good
      --raw-port N, --raw-port-file PATH
                           a second listener that answers with raw bytes: see POST /raw
      --until-eof          end when standard input ends
    """

  init(_ arguments: some Sequence<String>) throws {
    var rest = arguments.makeIterator()
    func value<T>(_ option: String, _ read: (String) -> T?) throws -> T {
      guard let text = rest.next(), let value = read(text) else {
        throw Misuse(description: "\(option) wants a value; see --help")
      }
      return value
    }
    while let option = rest.next() {
      switch option {
      case "--port": port = try value(option) { UInt16($0) }
      case "--port-file": portFile = try value(option) { $0 }
      case "--raw-port": rawPort = try value(option) { UInt16($0) }
      case "--raw-port-file":
        rawPortFile = try value(option) { $0 }
        rawPort = rawPort ?? 0
      case "--token-ttl": tokenTTL = try value(option) { Double($0) }
      case "--refresh-ttl": refreshTTL = try value(option) { Double($0) }
      case "--rotate": rotate = true
      case "--no-rotate": rotate = false
      case "--until-eof": untilEOF = true
      case "--help", "-h":
        print(Self.help)
        exit(0)
      default: throw Misuse(description: "unknown option \(option); see --help")
      }
    }
  }
}
