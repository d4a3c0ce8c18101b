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

// MARK: - By value

/// Writes a secret in the encodings of security rule B3, byte by byte into a `FormTable`: no copy
/// of the secret is made.
private enum SecretForms {
  /// Whether every encoding of this character but base64 leaves it as it is.
  static func isPlain(_ byte: UInt8) -> Bool { isAlphanumeric(byte) || "-._".utf8.contains(byte) }

  private static func isAlphanumeric(_ byte: UInt8) -> Bool {
    switch byte {
    case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
      UInt8(ascii: "0")...UInt8(ascii: "9"):
      true
    default: false
    }
  }

  /// The inside of a JSON string (RFC 8259, section 7), as encoders write it: with `/` or `\/`;
  /// raw or as `\uXXXX` what is not ASCII, and some of ``<>&'+"` ``.
  static func addJSON(of bytes: UnsafeRawBufferPointer, to table: inout FormTable) {
    // Nothing more than must be; Go and Rails; PHP with JSON_HEX_*; System.Text.Json of .NET.
    for escaped in ["", "<>&", "<>&'", "<>&'+`\""].map(\.unicodeScalars) {
      for slash in ["/", "\\/"] {
        for digits in [upperDigits, lowerDigits] {
          for escapesNonASCII in [false, true] {
            var form = FormWriter(table.keys)
            var decoder = UTF8()
            var rest = bytes.makeIterator()
            while case .scalarValue(let scalar) = decoder.decode(&rest) {
              let isEscaped = scalar.isASCII ? escaped.contains(scalar) : escapesNonASCII
              if scalar == "/" {
                form.append(slash)
              } else if !isEscaped, let text = shortJSON(scalar) {
                form.append(text)
              } else {
                for unit in String(scalar).utf16 { writeEscape(unit, digits, to: &form) }
              }
            }
            table.insert(form)
          }
        }
      }
    }
  }

  private static func writeEscape(_ unit: UInt16, _ digits: [UInt8], to form: inout FormWriter) {
    form.append("\\u")
    for shift in [12, 8, 4, 0] as [UInt16] { form.append(digits[Int(unit >> shift & 15)]) }
  }

  // nil: has no other form than \uXXXX.
  private static func shortJSON(_ scalar: Unicode.Scalar) -> String? {
    switch scalar {
    case "\"": "\\\""
    case "\\": "\\\\"
    case "\u{8}": "\\b"
    case "\t": "\\t"
    case "\n": "\\n"
    case "\u{C}": "\\f"
    case "\r": "\\r"
    case ..<" ": nil
    default: String(scalar)
    }
  }

  private static let upperDigits = Array("0123456789ABCDEF".utf8)
  private static let lowerDigits = Array("0123456789abcdef".utf8)

  /// The secret in a URL or a form body, by what encoders leave as it is: RFC 3986's unreserved
  /// characters; these and `/` (Python); those of WHATWG's form encoding; of encodeURIComponent;
  /// all that RFC 3986 allows in a query.
  static func addPercentEncoded(of bytes: UnsafeRawBufferPointer, to table: inout FormTable) {
    for kept in ["-._~", "-._~/", "*-._", "-._~!'()*", "-._~!$'()*,;:@/?"] {
      for digits in [upperDigits, lowerDigits] {
        for space in ["%20", "+"] {
          var form = FormWriter(table.keys)
          for byte in bytes {
            if byte == UInt8(ascii: " ") {
              form.append(space)
            } else if isAlphanumeric(byte) || kept.utf8.contains(byte) {
              form.append(byte)
            } else {
              form.append([UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]])
            }
          }
          table.insert(form)
        }
      }
    }
  }

  private static let base64 = Array(
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
  private static let base64url = Array(base64.dropLast(2) + "-_".utf8)

  /// Base64 and base64url (RFC 4648, sections 4 and 5) of a text that holds the secret: at each of
  /// the three alignments the characters that the secret alone decides, and those to the end where
  /// it ends the text.
  static func addBase64(of bytes: UnsafeRawBufferPointer, to table: inout FormTable) {
    for alphabet in [base64, base64url] {
      // So many bits of the first byte share a character with what stands before it.
      for shared in [0, 4, 2] {
        var form = FormWriter(table.keys)
        var bits = 0
        var count = -shared
        for byte in bytes {
          bits = (bits << 8 | Int(byte)) & 0xFFFF
          count += 8
          while count >= 6 {
            count -= 6
            form.append(alphabet[bits >> count & 63])
          }
        }
        table.insert(form)
        guard count > 0 else { continue }
        form.append(alphabet[bits << (6 - count) & 63])
        table.insert(form)
        form.append(count == 2 ? "==" : "=")
        table.insert(form)
      }
    }
  }

  /// Each part of 16 bytes or more of what may be a JWT (RFC 7515, section 3.1; RFC 7516,
  /// section 3.1): a trace may show the signature alone.
  static func addTokenParts(of bytes: UnsafeRawBufferPointer, to table: inout FormTable) {
    let dot = UInt8(ascii: ".")
    guard (2...4).contains(bytes.count { $0 == dot }), bytes.allSatisfy(isPlain) else { return }
    var start = 0
    for index in 0...bytes.count where index == bytes.count || bytes[index] == dot {
      if index - start >= 16 { table.insert(FormWriter(table.keys, bytes[start..<index])) }
      start = index + 1
    }
  }
}

// MARK: - Forms without their bytes

// A Mersenne prime: the remainder is a shift and an addition.
private let prime: UInt64 = (1 << 61) - 1

/// Random numbers by which forms are known again.
private struct FormKeys: Sendable {
  private let base = UInt64.random(in: 1 << 32..<prime)
  private let mask = UInt64.random(in: 0...UInt64.max)
  private let factor = UInt64.random(in: 0...UInt64.max) | 1

  private func product(_ first: UInt64, _ second: UInt64) -> UInt64 {
    let (high, low) = first.multipliedFullWidth(by: second)
    return reduced((low & prime) &+ (low >> 61 | high << 3))
  }

  private func reduced(_ value: UInt64) -> UInt64 {
    let value = (value & prime) &+ (value >> 61)
    return value >= prime ? value &- prime : value
  }

  /// The hash of a text and one byte more.
  func step(_ hash: UInt64, _ byte: UInt8) -> UInt64 {
    reduced(product(hash, base) &+ UInt64(byte) &+ 1)
  }

  /// The factor by which `length` steps have multiplied what was there before them.
  func next(power: UInt64) -> UInt64 { product(power, base) }

  /// The hash of a text alone, from the hashes of what ends before it and of what ends with it.
  func difference(_ before: UInt64, _ with: UInt64, power: UInt64) -> UInt64 {
    reduced(with &+ prime &- product(before, power))
  }

  /// What stands for the first eight bytes of a form.
  func mixed(_ window: UInt64) -> UInt64 {
    let value = (window ^ mask) &* factor
    return value ^ value >> 32
  }
}

/// One form of a secret.
private struct Form: Hashable, Sendable {
  /// Secrets shorter than this are not masked by value; as many bytes are looked up at once.
  static let shortest = 8

  let length: Int
  let hash: UInt64
  let power: UInt64
}

// Takes the bytes of a form and keeps none.
private struct FormWriter {
  private let keys: FormKeys
  private var length = 0
  private var hash: UInt64 = 0
  private var power: UInt64 = 1
  private var window: UInt64 = 0

  init(_ keys: FormKeys, _ bytes: some Sequence<UInt8> = []) {
    self.keys = keys
    append(bytes)
  }

  mutating func append(_ byte: UInt8) {
    if length < Form.shortest { window |= UInt64(byte) << UInt64(length * 8) }
    hash = keys.step(hash, byte)
    power = keys.next(power: power)
    length += 1
  }

  mutating func append(_ text: String) { append(text.utf8) }

  mutating func append(_ bytes: some Sequence<UInt8>) {
    for byte in bytes { append(byte) }
  }

  var form: Form { Form(length: length, hash: hash, power: power) }
  var start: UInt64 { keys.mixed(window) }
}

/// The forms of all secrets, found by their first eight bytes.
private struct FormTable: Sendable {
  enum Match {
    case none
    case form(Int)
    case undecided
  }

  let keys = FormKeys()
  /// One bit for each value of the top 16 bits of a start, so that most places cost one look.
  private var filter = [UInt64](repeating: 0, count: 1024)
  private var forms: [UInt64: [Form]] = [:]

  var isEmpty: Bool { forms.isEmpty }

  mutating func insert(_ writer: FormWriter) {
    let form = writer.form
    guard form.length >= Form.shortest else { return }
    var known = forms[writer.start] ?? []
    guard !known.contains(form) else { return }
    known.insert(form, at: known.firstIndex { $0.length < form.length } ?? known.count)
    forms[writer.start] = known
    filter[Int(writer.start >> 54)] |= 1 << (writer.start >> 48 & 63)
  }

  /// The longest form that begins at `index`; undecided while one may still be coming.
  func match(_ bytes: [UInt8], _ sums: [UInt64], at index: Int, isLast: Bool) -> Match {
    let available = bytes.count - index
    guard available >= Form.shortest else { return isLast || isEmpty ? .none : .undecided }
    let window = bytes.withUnsafeBytes {
      UInt64(littleEndian: $0.loadUnaligned(fromByteOffset: index, as: UInt64.self))
    }
    let start = keys.mixed(window)
    guard filter[Int(start >> 54)] & 1 << (start >> 48 & 63) != 0, let forms = forms[start] else {
      return .none
    }
    for form in forms {
      if form.length > available {
        if isLast { continue }
        return .undecided
      }
      let hash = keys.difference(sums[index], sums[index + form.length], power: form.power)
      if hash == form.hash { return .form(form.length) }
    }
    return .none
  }
}
