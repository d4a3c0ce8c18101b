/// Parses values of one word: `true` and `false`, numbers, dates and times.
struct TOMLScalar {
  /// The error in a word.
  enum Mistake: String, Error {
    case unknown = "expected a value; strings need quotation marks"
    case number = "not a valid TOML number"
    case range = "an integer that does not fit in 64 bits"
    case date = "not a valid date or time"
  }

  private var rest: ArraySlice<UInt8>

  /// Parses `word`, which must not be empty.
  ///
  /// - Throws: `Mistake`.
  static func value(_ word: ArraySlice<UInt8>) throws(Mistake) -> TOMLValue {
    let text = String(decoding: word, as: UTF8.self)
    var scalar = TOMLScalar(rest: word)
    switch text {
    case "true": return .boolean(true)
    case "false": return .boolean(false)
    case "inf", "+inf": return .float(.infinity)
    case "-inf": return .float(-.infinity)
    case "nan", "+nan", "-nan": return .float(.nan)
    case _ where scalar.startsWithYear || word.contains(UInt8(ascii: ":")):
      guard let value = scalar.dateOrTime(text), scalar.rest.isEmpty else { throw .date }
      return value
    default: return try scalar.number()
    }
  }

  private mutating func skip(_ characters: Unicode.Scalar...) -> Bool {
    guard let first = rest.first, characters.contains(Unicode.Scalar(first)) else { return false }
    rest = rest.dropFirst()
    return true
  }

  // MARK: - Numbers

  private mutating func number() throws(Mistake) -> TOMLValue {
    let text = String(decoding: rest.filter { $0 != UInt8(ascii: "_") }, as: UTF8.self)
    for (prefix, radix) in [("0x", 16), ("0o", 8), ("0b", 2)] where rest.starts(with: prefix.utf8) {
      rest = rest.dropFirst(2)
      guard skipDigits(radix: radix), rest.isEmpty else { throw .number }
      guard let value = Int(text.dropFirst(2), radix: radix) else { throw .range }
      return .integer(value)
    }
    _ = skip("+", "-")
    let whole = rest
    guard skipDigits() else { throw .unknown }
    guard whole.first != UInt8(ascii: "0") || rest.startIndex == whole.startIndex + 1 else {
      throw .number
    }
    if rest.isEmpty {
      guard let value = Int(text) else { throw .range }
      return .integer(value)
    }
    if skip("."), !skipDigits() { throw .number }
    if skip("e", "E") {
      _ = skip("+", "-")
      guard skipDigits() else { throw .number }
    }
    guard rest.isEmpty, let value = Double(text) else { throw .number }
    return .float(value)
  }

  /// Skips digits, with single underscores between them; false when there are none.
  private mutating func skipDigits(radix: Int = 10) -> Bool {
    func isDigit(_ byte: UInt8) -> Bool {
      switch Unicode.Scalar(byte) {
      case "0", "1": true
      case "2"..."7": radix > 2
      case "8", "9": radix > 8
      case "a"..."f", "A"..."F": radix > 10
      default: false
      }
    }
    let start = rest.startIndex
    while let first = rest.first {
      if isDigit(first) {
        rest = rest.dropFirst()
      } else if first == UInt8(ascii: "_"), rest.startIndex > start,
        rest.dropFirst().first.map(isDigit) == true
      {
        rest = rest.dropFirst(2)
      } else {
        break
      }
    }
    return rest.startIndex > start
  }

  // MARK: - Dates and times, as of RFC 3339

  private var startsWithYear: Bool {
    rest.count > 4 && rest.prefix(4).allSatisfy { (0x30...0x39).contains($0) }
      && rest[rest.startIndex + 4] == UInt8(ascii: "-")
  }

  private mutating func dateOrTime(_ text: String) -> TOMLValue? {
    guard startsWithYear else { return skipTime() ? .localTime(text) : nil }
    guard skipDate() else { return nil }
    if rest.isEmpty { return .localDate(text) }
    guard skip("T", "t", " "), skipTime() else { return nil }
    if rest.isEmpty { return .localDateTime(text) }
    return skipOffset() ? .offsetDateTime(text) : nil
  }

  private mutating func skipDate() -> Bool {
    guard let year = number(of: 4, 0...9999), skip("-"), let month = number(of: 2, 1...12),
      skip("-")
    else { return false }
    let isLeap = year.isMultiple(of: 4) && (!year.isMultiple(of: 100) || year.isMultiple(of: 400))
    let days = [31, isLeap ? 29 : 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31][month - 1]
    return number(of: 2, 1...days) != nil
  }

  private mutating func skipTime() -> Bool {
    guard number(of: 2, 0...23) != nil, skip(":"), number(of: 2, 0...59) != nil, skip(":"),
      number(of: 2, 0...59) != nil
    else { return false }
    guard skip(".") else { return true }
    let fraction = rest
    rest = rest.drop { (0x30...0x39).contains($0) }
    return rest.startIndex > fraction.startIndex
  }

  private mutating func skipOffset() -> Bool {
    if skip("Z", "z") { return true }
    return skip("+", "-") && number(of: 2, 0...23) != nil && skip(":")
      && number(of: 2, 0...59) != nil
  }

  /// Reads exactly `count` digits; nil if their number is out of `range`.
  private mutating func number(of count: Int, _ range: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix(count)
    rest = rest.dropFirst(count)
    guard digits.count == count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else {
      return nil
    }
    let number = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
    return range.contains(number) ? number : nil
  }
}
