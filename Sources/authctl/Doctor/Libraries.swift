internal import AuthKit

/// The libraries that authctl opens when it needs them.
enum Libraries {
  /// `authctl 0.1.0 (a1b2c3d), libcurl 7.88.1 OpenSSL 3.0.19, libsecret /usr/lib/…/libsecret-1.so.0`
  static var line: String {
    let secret = SecretServiceStore.libraryPath.map { "libsecret \($0)" }
    return "\(release), \(CurlClient.libraryName ?? "no libcurl"), \(secret ?? "no libsecret")"
  }

  /// What `--version --json` prints; null for a library that cannot be opened. libsecret has no call
  /// that gives its version: its file is what can be said of it.
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
