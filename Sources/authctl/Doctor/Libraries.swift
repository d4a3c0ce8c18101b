internal import AuthKit

/// The libraries that authctl opens when it needs them.
enum Libraries {
  /// `authctl 0.1.0 (a1b2c3d), libcurl 7.88.1 OpenSSL 3.0.19, libsecret`
  static var line: String {
    let secret = SecretServiceStore.libraryPath == nil ? "no libsecret" : "libsecret"
    return "\(release), \(CurlClient.libraryName ?? "no libcurl"), \(secret)"
  }

  /// The output of `--version --json`; null for a library that cannot be opened. libsecret has no
  /// call that gives its version, so its path is printed.
  static var json: JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? nil }
    let words = (CurlClient.libraryName ?? "").utf8.split(separator: 0x20).map {
      String(decoding: $0, as: UTF8.self)
    }
    return .object([
      ("version", .string(version)), ("commit", text(commit)),
      ("libcurl", text(words.count > 1 ? words[1] : nil)),
      ("tls", text(words.count > 2 ? words[2...].joined(separator: " ") : nil)),
      ("libsecret", text(SecretServiceStore.libraryPath)),
    ])
  }
}
