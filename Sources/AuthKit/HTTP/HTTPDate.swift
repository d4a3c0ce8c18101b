/// Dates in headers.
extension Timestamp {
  /// Reads an HTTP date in any of its three forms (RFC 9110, section 5.6.7):
  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
  /// `Sun Nov  6 08:49:37 1994`.
  ///
  /// The day of the week is not checked. Two-digit years: 70 to 99 are 19xx, 00 to 69 are
  /// 20xx.
  package static func parse(httpDate text: String) -> Timestamp? {
    guard let moment = parse(cookieDate: Array(text.utf8)) else { return nil }
    // The cookie parser accepts any order and separators; an HTTP date must match one form exactly.
    let date = text.utf8.drop { $0 != 0x20 }
    let forms = [" %d %b %Y %H:%M:%S GMT", " %d-%b-%y %H:%M:%S GMT", " %b %e %H:%M:%S %Y"]
    return forms.contains { moment.text($0).utf8.elementsEqual(date) } ? moment : nil
  }

  /// Reads a cookie date (RFC 6265, section 5.1.1): the first words, in any order, that look like
  /// a time, a day, a month and a year.
  static func parse(cookieDate bytes: [UInt8]) -> Timestamp? {
    var time: [Int]?
    var day: Int?
    var month: Int?
    var year: Int?
    for word in bytes.split(whereSeparator: isDateDelimiter) {
      if time == nil, let found = clock(word) {
        time = found
      } else if day == nil, let found = leadingNumber(word, 1...2)?.value {
        day = found
      } else if month == nil, let found = monthIndex(word) {
        month = found
      } else if year == nil, let found = leadingNumber(word, 2...4)?.value {
        year = found
      }
    }
    guard let time, let day, let month, var year, time[2] < 60 else { return nil }
    if 70...99 ~= year { year += 1900 }
    if 0...69 ~= year { year += 2000 }
    guard year >= 1601 else { return nil }
    return Timestamp(
      year: year, month: month, day: day, hour: time[0], minute: time[1], second: time[2])
  }

  private static func isDateDelimiter(_ byte: UInt8) -> Bool {
    switch byte {
    case 0x09, 0x20...0x2F, 0x3B...0x40, 0x5B...0x60, 0x7B...0x7E: true
    default: false
    }
  }

  /// Returns the number at the start of `word` if its digit count is in `width`, and the rest of
  /// `word`.
  private static func leadingNumber(
    _ word: ArraySlice<UInt8>, _ width: ClosedRange<Int>
  ) -> (value: Int, rest: ArraySlice<UInt8>)? {
    let digits = word.prefix(while: \.isDigit)
    guard width ~= digits.count else { return nil }
    return (digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }, word.dropFirst(digits.count))
  }

  /// Reads `h:m:s`, one or two digits each; ignores any text after them.
  private static func clock(_ word: ArraySlice<UInt8>) -> [Int]? {
    let parts = word.split(
      separator: UInt8(ascii: ":"), maxSplits: 2, omittingEmptySubsequences: false)
    let numbers = parts.compactMap { leadingNumber($0, 1...2) }
    guard numbers.count == 3, numbers[0].rest.isEmpty, numbers[1].rest.isEmpty else { return nil }
    return numbers.map(\.value)
  }

  private static func monthIndex(_ word: ArraySlice<UInt8>) -> Int? {
    let start = String(decoding: word.prefix(3), as: UTF8.self)
    return months.firstIndex { start.equalsIgnoringCase($0) }.map { $0 + 1 }
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
