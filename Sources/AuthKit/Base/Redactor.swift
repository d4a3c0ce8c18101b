internal import Synchronization

/// Masks secrets in everything that is shown: by value, for secrets it has learned, and by place
/// (rule B3).
///
/// It keeps only the lengths and keyed hashes of a secret's forms, none of its bytes. The keys are
/// random and live only in this process.
package final class Redactor: Sendable {
  private let forms = Mutex(FormTable())

  /// A redactor that knows no secret yet.
  package init() {}

  /// Learns a secret in every form in which a trace may show it. A secret of fewer than 8 bytes is
  /// masked only by place: masking `me` in `/api/me` would reveal it.
  package func learn(_ bytes: UnsafeRawBufferPointer) {
    guard bytes.count >= FormTable.shortest else { return }
    forms.withLock { table in SecretForms.each(of: bytes) { table.insert($0) } }
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

  /// Learns `secret` and the Basic credential made from `user` and `secret` (RFC 7617, section 2).
  package func learn(user: String, secret: borrowing Secret) {
    guard secret.count >= FormTable.shortest else { return }
    learn(secret)
    var pair = SecretBuilder(capacity: user.utf8.count + 1 + secret.count)
    pair.append(user)
    pair.append(UInt8(ascii: ":"))
    pair.append(secret)
    pair.withBytes { bytes in
      forms.withLock { table in SecretForms.base64(of: bytes) { table.insert($0) } }
    }
  }

  /// Returns `text` with `***` in place of every form of every learned secret.
  package func mask(_ text: String) -> String {
    var text = text
    let masked = text.withUTF8 { utf8 -> [UInt8]? in
      let bytes = UnsafeRawBufferPointer(utf8)
      return forms.withLock { $0.occur(in: bytes) } ? mask(bytes) : nil
    }
    return masked.map { String(decoding: $0, as: UTF8.self) } ?? text
  }

  /// Masks bytes that need not be UTF-8.
  package func mask(_ bytes: UnsafeRawBufferPointer) -> [UInt8] {
    var stream = Stream(self)
    return stream.feed(bytes) + stream.finish()
  }

  /// Masks data that arrives in pieces, wherever a secret is split. Secrets learned between two
  /// pieces apply from then on.
  package struct Stream {
    private let redactor: Redactor
    /// The bytes held back, and how many at their start are already masked.
    private var kept: [UInt8] = []
    private var maskedCount = 0

    /// A stream with nothing held back.
    package init(_ redactor: Redactor) { self.redactor = redactor }

    /// Adds `more` and returns what may be shown now. Holds back at most the longest form less one
    /// byte, and only where a form may have begun.
    package mutating func feed(_ more: UnsafeRawBufferPointer) -> [UInt8] {
      kept += more
      return advance(isLast: false)
    }

    /// Returns what was held back; call it after the last piece.
    package mutating func finish() -> [UInt8] { advance(isLast: true) }

    // Overlapping secrets are masked as one: the scan continues inside masked bytes.
    private mutating func advance(isLast: Bool) -> [UInt8] {
      let table = redactor.forms.withLock { $0 }
      var output: [UInt8] = []
      output.reserveCapacity(kept.count)
      var (next, maskedEnd) = (0, maskedCount)
      kept.withUnsafeBytes { bytes in
        while next < bytes.count {
          let rest = UnsafeRawBufferPointer(rebasing: bytes[next...])
          switch table.match(rest, isLast: isLast) {
          case .undecided: return
          case .none:
            if next >= maskedEnd { output.append(bytes[next]) }
          case .form(let length):
            if next >= maskedEnd { output += "***".utf8 }
            maskedEnd = max(maskedEnd, next + length)
          }
          next += 1
        }
      }
      kept.removeFirst(next)
      maskedCount = max(0, maskedEnd - next)
      return output
    }
  }
}

/// The forms of all secrets, found by their first eight bytes.
private struct FormTable: Sendable {
  enum Match {
    case none
    case form(Int)
    case undecided
  }

  /// The length of the shortest form that is masked by value; also how many bytes are looked up at
  /// once.
  static let shortest = 8

  private let key = UInt64.random(in: 0...UInt64.max)
  private let factor = UInt64.random(in: 0...UInt64.max) | 1
  /// One bit for each 16-bit value that a start maps to: most places cost one lookup.
  private var filter = [UInt64](repeating: 0, count: 1024)
  /// The lengths of the forms that share a start, the longest first, by the start's hash.
  private var lengths: [Int: [Int]] = [:]
  private var hashes: Set<Int> = []

  var isEmpty: Bool { hashes.isEmpty }

  private func hash(_ bytes: Slice<UnsafeRawBufferPointer>) -> Int {
    var hasher = Hasher()
    // A key of its own: with SWIFT_DETERMINISTIC_HASHING the process's key is not secret.
    hasher.combine(key)
    hasher.combine(bytes: UnsafeRawBufferPointer(rebasing: bytes))
    return hasher.finalize()
  }

  private func bit(_ bytes: UnsafeRawBufferPointer) -> (word: Int, mask: UInt64) {
    let bits = bytes.loadUnaligned(as: UInt64.self) &* factor
    return (Int(bits >> 54), 1 << (bits >> 48 & 63))
  }

  mutating func insert(_ form: UnsafeRawBufferPointer) {
    guard form.count >= Self.shortest, hashes.insert(hash(form[...])).inserted else { return }
    var known = lengths[hash(form.prefix(Self.shortest))] ?? []
    if !known.contains(form.count) {
      known.insert(form.count, at: known.firstIndex { $0 < form.count } ?? known.count)
      lengths[hash(form.prefix(Self.shortest))] = known
    }
    let (word, mask) = bit(form)
    filter[word] |= mask
  }

  /// Whether a form is in `bytes`.
  func occur(in bytes: UnsafeRawBufferPointer) -> Bool {
    guard !isEmpty, bytes.count >= Self.shortest else { return false }
    return (0...(bytes.count - Self.shortest)).contains { start in
      if case .none = match(UnsafeRawBufferPointer(rebasing: bytes[start...]), isLast: true) {
        return false
      }
      return true
    }
  }

  /// Returns the longest form that `bytes` begin with; undecided while one may still be coming.
  func match(_ bytes: UnsafeRawBufferPointer, isLast: Bool) -> Match {
    guard bytes.count >= Self.shortest else { return isLast || isEmpty ? .none : .undecided }
    let (word, mask) = bit(bytes)
    guard filter[word] & mask != 0, let lengths = lengths[hash(bytes.prefix(Self.shortest))] else {
      return .none
    }
    for length in lengths {
      if length > bytes.count {
        if isLast { continue }
        return .undecided
      }
      if hashes.contains(hash(bytes[..<length])) { return .form(length) }
    }
    return .none
  }
}

// MARK: - By place

extension Redactor {
  /// Whether the value of the header `name` is never shown. `recipe` holds the names of the headers
  /// that the recipe sets or reads, in ASCII lower case.
  package static func isSensitive(header name: String, recipe: Set<String>) -> Bool {
    let name = name.asciiLowercased
    return ["authorization", "proxy-authorization", "cookie", "set-cookie", "dpop"].contains(name)
      || recipe.contains(name)
  }

  private static let sensitiveParameters: Set<String> = [
    "access_token", "refresh_token", "id_token", "token", "code", "code_verifier", "state",
    "api_key", "apikey", "key", "password", "otp", "secret", "client_secret", "assertion",
    "client_assertion", "sig", "signature",
  ]

  /// Whether the value of the header `name` holds URLs.
  package static func holdsURL(header name: String) -> Bool {
    ["location", "content-location", "refresh", "link", "referer"].contains(name.asciiLowercased)
  }

  /// Returns `text` with `***` as the value of every parameter of a URL whose name is among
  /// `names`.
  package static func masked(_ text: String, parameters names: Set<String>) -> String {
    names.isEmpty ? text : masked(Array(text.utf8), Set(names.map(\.asciiLowercased)))
  }

  /// Returns `url` without user information and with `***` as the value of every query or fragment
  /// parameter whose name is sensitive or among `names`. Names are compared percent-decoded, in
  /// ASCII lower case; `a[b]` counts as `a[b]` and as `b`.
  package static func maskedQuery(_ url: String, names: Set<String> = []) -> String {
    masked(
      userInformationRemoved(from: Array(url.utf8)),
      sensitiveParameters.union(names.map(\.asciiLowercased)))
  }

  private static func masked(_ bytes: [UInt8], _ names: Set<String>) -> String {
    guard let start = bytes.firstIndex(where: isQueryMark) else {
      return String(decoding: bytes, as: UTF8.self)
    }
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

  /// Returns `url` without query, fragment and user information, for messages.
  package static func withoutQuery(_ url: String) -> String {
    String(
      decoding: userInformationRemoved(from: Array(url.utf8)).prefix { !isQueryMark($0) },
      as: UTF8.self)
  }

  /// Describes a body that holds secrets without showing them: `[json, 212 bytes: token, user]`.
  ///
  /// - Parameters:
  ///   - keys: The names at the top level of a JSON object; nil for anything else.
  ///   - tellsSize: false for a request that holds a password, whose length the size would reveal.
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
    let name = percentDecoded(parameter)
    var parts = [name[...]]
    if name.last == UInt8(ascii: "]"), let open = name.lastIndex(of: UInt8(ascii: "[")) {
      parts.append(name[(open + 1)...].dropLast())
    }
    return parts.contains {
      names.contains(String(decoding: $0, as: UTF8.self).asciiLowercased)
    }
  }
}
