internal import Glibc

/// A point in time. Nothing here reads the clock: callers pass `now`.
package struct Timestamp: Comparable, Sendable {
  /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
  package var seconds: Double

  /// The moment `seconds` after 1970-01-01 00:00:00 UTC.
  package init(seconds: Double) { self.seconds = seconds }

  /// Whether `left` comes before `right`.
  package static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }

  /// The moment of a UTC date and time in the proleptic Gregorian calendar; `nil` if it does not
  /// exist. Second 60, the leap second, is the first of the next minute.
  init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard 0...9999 ~= year, 1...12 ~= month, 1...31 ~= day, 0...23 ~= hour, 0...59 ~= minute,
      0...60 ~= second
    else { return nil }
    var parts = tm()
    parts.tm_year = Int32(year - 1900)
    parts.tm_mon = Int32(month - 1)
    parts.tm_mday = Int32(day)
    parts.tm_hour = Int32(hour)
    parts.tm_min = Int32(minute)
    seconds = Double(timegm(&parts) + second)
    // timegm(3) turns 31 November into 1 December.
    guard parts.tm_mday == Int32(day) else { return nil }
  }
}

// MARK: - Numbers from outside

extension Timestamp {
  /// Ten years, in seconds: the longest lifetime accepted from a server.
  static let tenYears: Double = 3653 * 86_400

  /// Checks a lifetime that comes from outside; all of them pass through here (rule B5).
  ///
  /// - Parameter seconds: the number as the server sent it.
  /// - Returns: the same number when it is finite, not negative, and ends at most ten years from
  ///   `now`; otherwise `nil`, as if the server had sent none.
  package static func bounded(seconds: Double, now: Timestamp) -> Double? {
    guard seconds >= 0, bounded(Timestamp(seconds: now.seconds + seconds), now: now) != nil else {
      return nil
    }
    return seconds
  }

  /// Checks a point in time that comes from outside as a number; all pass through here (rule B5).
  ///
  /// - Parameter epoch: seconds since 1970; above 1e11 (the year 5138), milliseconds.
  /// - Returns: the moment when it is between 1970 and ten years from `now`; otherwise `nil`.
  package static func bounded(epoch: Double, now: Timestamp) -> Timestamp? {
    bounded(Timestamp(seconds: epoch > 1e11 ? epoch / 1000 : epoch), now: now)
  }

  /// Checks a moment that was parsed from a date, which is never in milliseconds.
  package static func bounded(_ moment: Timestamp, now: Timestamp) -> Timestamp? {
    let seconds = moment.seconds
    guard seconds.isFinite, seconds >= 0, seconds <= now.seconds + tenYears else { return nil }
    return moment
  }

  /// Reads a duration as options take it: `30`, `30s`, `5m`, `24h`, `7d`, also fractions (`1.5h`).
  ///
  /// - Returns: seconds, at most ten years; `nil` for anything else.
  package static func duration(_ text: String) -> Double? {
    var scan = Scan(text)
    let whole = scan.digits(1...12)
    let fraction = scan.skip(".") ? scan.digits(1...12) : []
    guard let whole, let fraction else { return nil }
    let unit: Double
    switch scan.rest {
    case "", "s": unit = 1
    case "m": unit = 60
    case "h": unit = 3600
    case "d": unit = 86_400
    default: return nil
    }
    let seconds = (Scan.number(whole) + Scan.fraction(fraction)) * unit
    return seconds <= tenYears ? seconds : nil
  }

  /// Returns a span of time for people, rounded towards zero, at least two of a unit above seconds:
  /// `47 s`, `14 min`, `60 min`, `9 days`; `-2 h` for a past one; `?` for NaN and overflow.
  package static func spoken(_ seconds: Double) -> String {
    guard let whole = Int(exactly: seconds.rounded(.towardZero)) else { return "?" }
    switch whole.magnitude {
    case ..<120: return "\(whole) s"
    case ..<7200: return "\(whole / 60) min"
    case ..<172_800: return "\(whole / 3600) h"
    default: return "\(whole / 86_400) days"
    }
  }
}

// MARK: - Dates to text

extension Timestamp {
  /// The UTC time in RFC 3339 format, whole seconds: `2026-11-30T14:05:00Z`. Outside the years 0 to
  /// 9999, the nearest time that can be written.
  package var rfc3339: String { text("%04Y-%m-%dT%H:%M:%SZ") }

  /// Returns the local time for people, to the minute: `2026-11-30 14:05`. The time zone is that of
  /// `TZ` or the system (localtime_r(3)); if that fails, returns `rfc3339`.
  package func localText() -> String {
    var (time, parts) = (wholeSeconds, tm())
    guard localtime_r(&time, &parts) != nil else { return rfc3339 }
    return Self.text("%04Y-%m-%d %H:%M", &parts)
  }

  /// The seconds rounded down and limited to the years 0 to 9999.
  private var wholeSeconds: time_t {
    let held = min(max(seconds, -62_167_219_200), 253_402_300_799)
    return time_t(exactly: held.rounded(.down)) ?? 0  // NaN
  }

  /// Formats the UTC time with strftime(3); at most 64 bytes.
  func text(_ format: String) -> String {
    var (time, parts) = (wholeSeconds, tm())
    gmtime_r(&time, &parts)
    return Self.text(format, &parts)
  }

  private static func text(_ format: String, _ parts: inout tm) -> String {
    var buffer = [CChar](repeating: 0, count: 65)
    let count = strftime(&buffer, buffer.count, format, &parts)
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

// MARK: - Text to dates

extension Timestamp {
  /// Reads a date and time in RFC 3339 or ISO 8601 format: `2026-11-30T14:05:00.25+01:00`.
  ///
  /// `T` or a space separates them; seconds and their fraction are optional; the offset is `Z`,
  /// `+hh:mm`, `+hhmm`, `+hh`, or nothing, which means UTC. A date without a time returns nil.
  package static func parse(iso8601 text: String) -> Timestamp? {
    var scan = Scan(text)
    guard let year = scan.number(4), scan.skip("-"), let month = scan.number(2), scan.skip("-"),
      let day = scan.number(2), scan.skip("T") || scan.skip("t") || scan.skip(" "),
      let hour = scan.number(2), scan.skip(":"), let minute = scan.number(2)
    else { return nil }
    var second = 0
    var fraction = 0.0
    if scan.skip(":") {
      guard let seconds = scan.number(2) else { return nil }
      second = seconds
      if scan.skip(".") || scan.skip(",") {
        guard let digits = scan.digits(1...30) else { return nil }
        fraction = Scan.fraction(digits)
      }
    }
    guard let offset = scan.offset(), scan.isAtEnd,
      let moment = Timestamp(
        year: year, month: month, day: day, hour: hour, minute: minute, second: second)
    else { return nil }
    return Timestamp(seconds: moment.seconds - Double(offset) + fraction)
  }
}

/// Reads a text from left to right, byte by byte; does not consume what does not match.
private struct Scan {
  private var bytes: Substring.UTF8View

  init(_ text: String) { bytes = text[...].utf8 }

  var isAtEnd: Bool { bytes.isEmpty }
  var rest: String { String(Substring(bytes)) }

  mutating func skip(_ text: String) -> Bool {
    guard bytes.starts(with: text.utf8) else { return false }
    bytes = bytes.dropFirst(text.utf8.count)
    return true
  }

  /// Reads all digits here if their number is in `count`.
  mutating func digits(_ count: ClosedRange<Int>) -> [UInt8]? {
    let digits = bytes.prefix(while: \.isDigit)
    guard count ~= digits.count else { return nil }
    bytes = bytes.dropFirst(digits.count)
    return digits.map { $0 - UInt8(ascii: "0") }
  }

  /// Reads a number of exactly `width` digits, at most nine.
  mutating func number(_ width: Int) -> Int? {
    let digits = bytes.prefix(width)
    guard digits.count == width, digits.allSatisfy(\.isDigit) else { return nil }
    bytes = bytes.dropFirst(width)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// Reads `Z`, `+hh:mm`, `+hhmm`, `+hh` as seconds east of UTC; 0 at the end of the text.
  mutating func offset() -> Int? {
    if isAtEnd || skip("Z") || skip("z") { return 0 }
    let sign = skip("-") ? -1 : 1
    guard sign == -1 || skip("+"), let hours = number(2), hours < 24 else { return nil }
    if isAtEnd { return sign * hours * 3600 }
    _ = skip(":")
    guard let minutes = number(2), minutes < 60 else { return nil }
    return sign * (hours * 3600 + minutes * 60)
  }

  static func number(_ digits: [UInt8]) -> Double {
    digits.reduce(0) { $0 * 10 + Double($1) }
  }

  static func fraction(_ digits: [UInt8]) -> Double {
    digits.reversed().reduce(0) { ($0 + Double($1)) / 10 }
  }
}
