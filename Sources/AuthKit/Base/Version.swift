/// The version of authctl, by https://semver.org.
package let version = "0.1.0"

/// The version, and the commit where the build knew it: `authctl 0.1.0 (a1b2c3d)`.
package var release: String {
  "authctl \(version)" + (EmbeddedCommit.text.map { " (\($0))" } ?? "")
}

/// The libraries that authctl opens when it needs them, by name and version.
package struct Libraries {
  /// `libcurl 7.88.1 OpenSSL 3.0.19`: the library and its TLS; nil where it cannot be opened.
  package let curl: String?
  /// `libsecret 0.20.5`; nil where it cannot be opened.
  package let secret: String?

  /// Opens both and asks them.
  package static func opened() -> Libraries {
    Libraries(curl: CurlClient.libraryName, secret: SecretServiceBus.libraryName)
  }

  /// What the package manager has installed, with no library opened: that takes longer than all
  /// the rest of `--version`. Where it knows nothing, both are.
  package static func installed() -> Libraries {
    guard let curl = Packages.version(ofAny: ["libcurl4", "libcurl4t64"]),
      let secret = Packages.version(ofAny: secretPackages)
    else { return opened() }
    return Libraries(curl: "libcurl \(curl)", secret: "libsecret \(secret)")
  }

  static let secretPackages = ["libsecret-1-0"]

  /// `authctl 0.1.0 (a1b2c3d), libcurl 7.88.1, libsecret 0.20.5`
  package var line: String { "\(release), \(curl ?? "no libcurl"), \(secret ?? "no libsecret")" }

  /// The same for programs.
  package var json: JSONValue {
    func text(_ value: String?) -> JSONValue { value.map { .string($0) } ?? nil }
    let words = curl.map {
      $0.utf8.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
    }
    let curlVersion = words.flatMap { $0.count > 1 ? $0[1] : nil }
    let tls = words.flatMap { $0.count > 2 ? $0[2...].joined(separator: " ") : nil }
    let secretVersion = secret.map {
      String(decoding: $0.utf8.drop { $0 != 0x20 }.dropFirst(), as: UTF8.self)
    }
    return .object([
      ("version", .string(version)), ("commit", text(EmbeddedCommit.text)),
      ("libcurl", text(curlVersion)), ("tls", text(tls)), ("libsecret", text(secretVersion)),
    ])
  }
}
