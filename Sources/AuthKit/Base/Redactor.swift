internal import Synchronization

/// Masks secrets in everything that is shown: by value, for what it has learned, and by place
/// (security rule B3).
///
/// Of a secret it keeps the lengths and keyed numbers of its forms, none of its bytes. The keys are
/// random and live in this process only.
package final class Redactor: Sendable {
  private let forms = Mutex(FormTable())

  /// A redactor that knows no secret yet.
  package init() {}

  /// Learns a secret in every form that a trace may show it in. A secret of fewer than 8 bytes is
  /// masked by place alone: to mask `me` in `/api/me` would tell it.
  package func learn(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= Form.shortest else { return }
    forms.withLock { table in
      table.insert(FormWriter(table.keys, bytes))
      if !bytes.allSatisfy(SecretForms.isPlain) {
        SecretForms.addJSON(of: bytes, to: &table)
        SecretForms.addPercentEncoded(of: bytes, to: &table)
      }
      SecretForms.addBase64(of: bytes, to: &table)
      SecretForms.addTokenParts(of: bytes, to: &table)
    }
  }

  /// Learns a secret.
  package func learn(_ secret: borrowing Secret) {
    secret.withBytes { learn($0) }
  }

  /// Learns the UTF-8 of `text`.
  package func learn(_ text: String) {
    var text = text
    text.withUTF8 { learn(UnsafeRawBufferPointer($0)) }
  }

  /// Learns `secret`, and the credential that Basic makes of it and `user` (RFC 7617, section 2).
  package func learn(user: String, secret: borrowing Secret) {
    guard secret.count >= Form.shortest else { return }
    learn(secret)
    var pair = SecretBuilder(capacity: user.utf8.count + 1 + secret.count)
    pair.append(user)
    pair.append(UInt8(ascii: ":"))
    pair.append(secret)
    let credential = pair.secret()
    credential.withBytes { bytes in
      forms.withLock { SecretForms.addBase64(of: bytes, to: &$0) }
    }
  }

  /// `text` with `***` in place of every form of every learned secret.
  package func mask(_ text: String) -> String {
    guard !forms.withLock({ $0.isEmpty }) else { return text }
    var text = text
    let masked = text.withUTF8 { mask(UnsafeRawBufferPointer($0)) }
    return String(decoding: masked, as: UTF8.self)
  }

  /// The same for bytes that need not be UTF-8.
  package func mask(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var stream = Stream(self)
    return stream.feed(bytes) + stream.finish()
  }

  /// Masks what comes in pieces, however a secret is cut up among them. Secrets learned between
  /// two pieces count from then on.
  package struct Stream {
    private let redactor: Redactor
    private var bytes: [UInt8] = []
    /// `sums[i]` is the hash of everything before `bytes[i]`.
    private var sums: [UInt64] = [0]
    private var next = 0
    private var maskedUntil = 0

    /// A stream at its beginning.
    package init(_ redactor: Redactor) { self.redactor = redactor }

    /// What may be shown now that `more` has come. At most the longest form less one byte is kept
    /// back, and only where a form may have begun.
    package mutating func feed(_ more: UnsafeRawBufferPointer) -> [UInt8] {
      guard !more.isEmpty else { return [] }
      let table = redactor.forms.withLock { $0 }
      bytes.append(contentsOf: more)
      sums.reserveCapacity(sums.count + more.count)
      var sum = sums[sums.count - 1]
      for byte in more {
        sum = table.keys.step(sum, byte)
        sums.append(sum)
      }
      return advance(table, isLast: false)
    }

    /// What was kept back, when there is no more to come.
    package mutating func finish() -> [UInt8] {
      let table = redactor.forms.withLock { $0 }
      defer { self = Stream(redactor) }
      return advance(table, isLast: true)
    }

    // Overlapping secrets are masked as one: the scan goes on inside of what is already masked.
    private mutating func advance(_ table: FormTable, isLast: Bool) -> [UInt8] {
      var output: [UInt8] = []
      output.reserveCapacity(bytes.count - next)
      scan: while next < bytes.count {
        switch table.match(bytes, sums, at: next, isLast: isLast) {
        case .undecided: break scan
        case .none:
          if next >= maskedUntil { output.append(bytes[next]) }
        case .form(let length):
          if next >= maskedUntil { output += "***".utf8 }
          maskedUntil = max(maskedUntil, next + length)
        }
        next += 1
      }
      if next == bytes.count || next > 4096 && next > bytes.count / 2 {
        bytes.removeFirst(next)
        sums.removeFirst(next)
        maskedUntil = max(0, maskedUntil - next)
        next = 0
      }
      return output
    }
  }
}

// MARK: - By place

extension Redactor {
  /// Whether the value of the header `name` is never shown. `recipe` holds the names of the headers
  /// that the recipe sets or reads, in ASCII lower case.
  package static func isSensitive(header name: String, recipe: Set<String>) -> Bool {
    let name = name.asciiLowercased
    return ["authorization", "proxy-authorization", "cookie", "set-cookie"].contains(name)
      || recipe.contains(name)
  }

  private static let sensitiveParameters: Set<String> = [
    "access_token", "refresh_token", "id_token", "token", "code", "code_verifier", "state",
    "api_key", "apikey", "key", "password", "otp", "secret", "client_secret", "assertion",
    "client_assertion", "sig", "signature",
  ]

  /// `url` with `***` as the value of every parameter whose name tells of a secret or is among
  /// `names`, in the query and in the fragment; user information is left out. Names are compared
  /// percent-decoded, in ASCII lower case; `a[b]` counts as `a[b]` and as `b`.
  package static func maskedQuery(_ url: String, names: Set<String> = []) -> String {
    let bytes = userInformationRemoved(from: Array(url.utf8))
    guard let start = bytes.firstIndex(where: isQueryMark) else {
      return String(decoding: bytes, as: UTF8.self)
    }
    let names = sensitiveParameters.union(names.map(\.asciiLowercased))
    var shown = Array(bytes[..<start])
    var rest = bytes[start...]
    while let separator = rest.first {
      shown.append(separator)
      rest = rest.dropFirst()
      let parameter = rest.prefix { !"&;?#".utf8.contains($0) }
      rest = rest[parameter.endIndex...]
      let name = parameter.prefix { $0 != UInt8(ascii: "=") }
      let isMasked = name.count < parameter.count && isNamed(name, in: names)
      shown += isMasked ? name + "=***".utf8 : parameter
    }
    return String(decoding: shown, as: UTF8.self)
  }

  /// `url` without query, fragment and user information, for messages.
  package static func withoutQuery(_ url: String) -> String {
    String(
      decoding: userInformationRemoved(from: Array(url.utf8)).prefix { !isQueryMark($0) },
      as: UTF8.self)
  }

  /// What may be told of a body that holds secrets: `[json, 212 bytes: token, user]`.
  ///
  /// - Parameters:
  ///   - keys: The names at the top level of a JSON object; nil where it is none.
  ///   - tellsSize: false for a request that holds a password, whose length the size would betray.
  package static func bodySummary(
    contentType: String?, bytes: UnsafeRawBufferPointer, keys: [String]? = nil,
    tellsSize: Bool = true
  ) -> String {
    guard !bytes.isEmpty else { return "[empty]" }
    var summary = "[" + bodyKind(contentType, bytes, hasKeys: keys != nil)
    if tellsSize { summary += bytes.count == 1 ? ", 1 byte" : ", \(bytes.count) bytes" }
    if let keys, !keys.isEmpty {
      let shown = keys.prefix(20).map { DisplayText.oneLine($0, limit: 40) }
      summary += ": " + (shown + (keys.count > 20 ? ["..."] : [])).joined(separator: ", ")
    }
    return summary + "]"
  }

  private static func bodyKind(
    _ contentType: String?, _ bytes: UnsafeRawBufferPointer, hasKeys: Bool
  ) -> String {
    let type = (contentType ?? "").asciiLowercased.utf8.prefix { !"; \t".utf8.contains($0) }
    let subtype = type.split { $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "+") }.last
    switch subtype.map(String.init) {
    case _ where hasKeys, "json": return "json"
    case "x-www-form-urlencoded": return "form"
    case "form-data": return "multipart"
    case "html": return "html"
    default: return DisplayText.looksBinary(bytes) ? "binary" : "text"
    }
  }

  static func isQueryMark(_ byte: UInt8) -> Bool { "?#".utf8.contains(byte) }

  private static func isNamed(_ parameter: ArraySlice<UInt8>, in names: Set<String>) -> Bool {
    var name: [UInt8] = []
    var rest = parameter
    while var byte = rest.popFirst() {
      if byte == UInt8(ascii: "%"), rest.count >= 2,
        let value = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16)
      {
        byte = value
        rest = rest.dropFirst(2)
      }
      name.append(byte)
    }
    var parts = [name[...]]
    if name.last == UInt8(ascii: "]"), let open = name.lastIndex(of: UInt8(ascii: "[")) {
      parts.append(name[(open + 1)...].dropLast())
    }
    return parts.contains {
      names.contains(String(decoding: $0, as: UTF8.self).asciiLowercased)
    }
  }
}
