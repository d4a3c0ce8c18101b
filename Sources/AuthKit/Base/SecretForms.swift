/// Writes a secret in the encodings of security rule B3, byte by byte into a `FormTable`: no copy
/// of the secret is made.
enum SecretForms {
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
struct FormKeys: Sendable {
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

/// Forms of secrets that have one length, known again by their hashes.
struct Form: Sendable {
  /// Secrets shorter than this are not masked by value; as many bytes are looked up at once.
  static let shortest = 8

  let length: Int
  let power: UInt64
  var hashes: Set<UInt64>
}

// Takes the bytes of a form and keeps none.
struct FormWriter {
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

  var form: Form { Form(length: length, power: power, hashes: [hash]) }
  var start: UInt64 { keys.mixed(window) }
}

/// The forms of all secrets, found by their first eight bytes.
struct FormTable: Sendable {
  enum Match {
    case none
    case form(Int)
    case undecided
  }

  let keys = FormKeys()
  /// One bit for each value of the top 16 bits of a start, so that most places cost one look.
  private var filter = [UInt64](repeating: 0, count: 1024)
  /// The longest first. Thousands of tokens may begin alike, as JWTs do: those of one length are one
  /// look.
  private var forms: [UInt64: [Form]] = [:]

  var isEmpty: Bool { forms.isEmpty }

  mutating func insert(_ writer: FormWriter) {
    let form = writer.form
    guard form.length >= Form.shortest else { return }
    let place = forms[writer.start]?.firstIndex { $0.length <= form.length }
    if let place, forms[writer.start]?[place].length == form.length {
      forms[writer.start]?[place].hashes.formUnion(form.hashes)
    } else {
      forms[writer.start, default: []].insert(
        form, at: place ?? forms[writer.start]?.count ?? 0)
    }
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
      if form.hashes.contains(hash) { return .form(form.length) }
    }
    return .none
  }
}
