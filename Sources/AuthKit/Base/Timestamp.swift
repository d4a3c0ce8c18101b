internal import Glibc

/// A point in time. Nothing here reads the clock: who needs `now` is given it.
package struct Timestamp: Comparable, Sendable {
  /// Seconds since 1970-01-01 00:00:00 UTC, without leap seconds.
  package var seconds: Double

  /// The moment `seconds` after 1970-01-01 00:00:00 UTC.
  package init(seconds: Double) { self.seconds = seconds }

  /// Whether `left` comes before `right`.
  package static func < (left: Timestamp, right: Timestamp) -> Bool { left.seconds < right.seconds }

  /// The moment of a date and time in UTC of the proleptic Gregorian calendar; `nil` when there is
  /// no such date or time. Second 60, the leap second, is the first of the next minute.
  init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
    guard 0...9999 ~= year, 1...12 ~= month, 0...23 ~= hour, 0...59 ~= minute, 0...60 ~= second
    else { return nil }
    let (era, yearOfEra) = year.quotientAndRemainder(dividingBy: 400)
    let lengths = Self.monthLengths(yearOfEra)
    guard 1...lengths[month - 1] ~= day else { return nil }
    let days =
      era * Self.daysOfEra + Self.daysBefore(yearOfEra) + lengths[..<(month - 1)].reduce(0, +)
      + day - 1 - Self.daysTo1970
    seconds = Double(days * 86_400 + hour * 3600 + minute * 60 + second)
  }

  /// From 0000-01-01 to 1970-01-01.
  private static let daysTo1970 = 719_528

  /// The calendar repeats every 400 years; the first of them is a leap year.
  private static let daysOfEra = 146_097

  private static func daysBefore(_ yearOfEra: Int) -> Int {
    guard yearOfEra > 0 else { return 0 }
    let past = yearOfEra - 1
    return 366 + past * 365 + past / 4 - past / 100
  }

  private static func monthLengths(_ yearOfEra: Int) -> [Int] {
    let days = daysBefore(yearOfEra + 1) - daysBefore(yearOfEra)
    return [31, days - 337, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
  }
}

// MARK: - Numbers from outside

extension Timestamp {
  /// Ten years, in seconds: nothing that a server tells is believed to live longer.
  static let tenYears: Double = 3653 * 86_400

  /// The one door for lifetimes that come from outside (security rule B5).
  ///
  /// - Parameter seconds: as the server told it.
  /// - Returns: the same number when it is finite, not negative, and ends at most ten years from
  ///   `now`; else `nil`, as if nothing had been told.
  package static func bounded(seconds: Double, now: Timestamp) -> Double? {
    guard seconds >= 0, bounded(Timestamp(seconds: now.seconds + seconds), now: now) != nil else {
      return nil
    }
    return seconds
  }

  /// The one door for points in time that come from outside as a number (security rule B5).
  ///
  /// - Parameter epoch: seconds since 1970; above 1e11 (the year 5138) milliseconds.
  /// - Returns: the moment when it lies between 1970 and ten years from `now`; else `nil`.
  package static func bounded(epoch: Double, now: Timestamp) -> Timestamp? {
    bounded(Timestamp(seconds: epoch > 1e11 ? epoch / 1000 : epoch), now: now)
  }

  /// The same for a moment that was parsed from a date, which is never in milliseconds.
  package static func bounded(_ moment: Timestamp, now: Timestamp) -> Timestamp? {
    let seconds = moment.seconds
    guard seconds.isFinite, seconds >= 0, seconds <= now.seconds + tenYears else { return nil }
    return moment
  }

  /// Reads a duration as options take it: `30`, `30s`, `5m`, `24h`, `7d`, fractions too (`1.5h`).
  ///
  /// - Returns: seconds, at most ten years; `nil` for everything else.
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

  /// A span of time for people, rounded towards zero, always at least two of its unit: `47 s`,
  /// `14 min`, `60 min`, `2 h`, `9 days`; `-2 h` for what is over. `?` for what is no number.
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
  /// UTC by RFC 3339, whole seconds: `2026-11-30T14:05:00Z`. Outside the years 0 to 9999 the
  /// nearest that can be written.
  package var rfc3339: String {
    var (days, second) = wholeSeconds.quotientAndRemainder(dividingBy: 86_400)
    if second < 0 { (days, second) = (days - 1, second + 86_400) }
    days += Self.daysTo1970
    let (era, dayOfEra) = days.quotientAndRemainder(dividingBy: Self.daysOfEra)
    // Leap days only ever make this guess too late.
    var year = dayOfEra / 365
    while Self.daysBefore(year) > dayOfEra { year -= 1 }
    let lengths = Self.monthLengths(year)
    var day = dayOfEra - Self.daysBefore(year)
    var month = 0
    while day >= lengths[month] {
      day -= lengths[month]
      month += 1
    }
    let date = "\(Self.pad(era * 400 + year, 4))-\(Self.pad(month + 1))-\(Self.pad(day + 1))"
    let time = "\(Self.pad(second / 3600)):\(Self.pad(second / 60 % 60)):\(Self.pad(second % 60))"
    return "\(date)T\(time)Z"
  }

  /// Local time for people, to the minute: `2026-11-30 14:05`. The time zone is that of `TZ` or
  /// the system (localtime_r(3)); where that fails, `rfc3339`.
  package func localText() -> String {
    var time = time_t(wholeSeconds)
    var parts = tm()
    guard localtime_r(&time, &parts) != nil else { return rfc3339 }
    let date = [Int(parts.tm_year) + 1900, Int(parts.tm_mon) + 1, Int(parts.tm_mday)]
    return Self.pad(date[0], 4) + "-" + Self.pad(date[1]) + "-" + Self.pad(date[2]) + " "
      + Self.pad(Int(parts.tm_hour)) + ":" + Self.pad(Int(parts.tm_min))
  }

  /// Rounded down and held inside the years 0 to 9999, so that it can be computed with.
  private var wholeSeconds: Int {
    let held = min(max(seconds, -62_167_219_200), 253_402_300_799)
    return Int(exactly: held.rounded(.down)) ?? 0  // NaN
  }

  private static func pad(_ number: Int, _ width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
  }
}

// MARK: - Text to dates

extension Timestamp {
  /// Reads a date with a time as RFC 3339 and ISO 8601 write it: `2026-11-30T14:05:00.25+01:00`.
  ///
  /// `T` or a space between them; seconds and their fraction may be absent; `Z`, `+hh:mm`,
  /// `+hhmm`, `+hh`, or nothing, which is UTC. A date alone is not a point in time.
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

  /// Reads an HTTP date in any of its three forms (RFC 9110, section 5.6.7):
  /// `Sun, 06 Nov 1994 08:49:37 GMT`, `Sunday, 06-Nov-94 08:49:37 GMT`,
  /// `Sun Nov  6 08:49:37 1994`.
  ///
  /// The day of the week must be one, but need not be the right one. Years of two digits: 70 to
  /// 99 are 19xx, 00 to 69 are 20xx.
  package static func parse(httpDate text: String) -> Timestamp? {
    var scan = Scan(text)
    guard let weekday = scan.oneOf(weekdays) else { return nil }
    if scan.skip(" ") { return asctimeDate(&scan) }
    let isLong = scan.skip(weekdayRests[weekday])
    let dash = isLong ? "-" : " "
    guard scan.skip(", "), let day = scan.number(2), scan.skip(dash),
      let month = scan.oneOf(months), scan.skip(dash), var year = scan.number(isLong ? 2 : 4),
      scan.skip(" "), let (hour, minute, second) = scan.time(), scan.skip(" GMT"), scan.isAtEnd
    else { return nil }
    if isLong { year += year < 70 ? 2000 : 1900 }
    return Timestamp(
      year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
  }

  private static func asctimeDate(_ scan: inout Scan) -> Timestamp? {
    guard let month = scan.oneOf(months), scan.skip(" "),
      let day = scan.skip(" ") ? scan.number(1) : scan.number(2), scan.skip(" "),
      let (hour, minute, second) = scan.time(), scan.skip(" "), let year = scan.number(4),
      scan.isAtEnd
    else { return nil }
    return Timestamp(
      year: year, month: month + 1, day: day, hour: hour, minute: minute, second: second)
  }

  static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
  private static let weekdays = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"]
  private static let weekdayRests = ["day", "sday", "nesday", "rsday", "day", "urday", "day"]
}

/// Reads a text from the left, byte by byte; what does not match is not consumed.
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

  /// The index of the first of `texts` that stands here.
  mutating func oneOf(_ texts: [String]) -> Int? {
    for (index, text) in texts.enumerated() where skip(text) { return index }
    return nil
  }

  /// All digits that stand here, when their number is in `count`.
  mutating func digits(_ count: ClosedRange<Int>) -> [UInt8]? {
    let digits = bytes.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
    guard count ~= digits.count else { return nil }
    bytes = bytes.dropFirst(digits.count)
    return digits.map { $0 - UInt8(ascii: "0") }
  }

  /// A number of exactly `width` digits, at most nine.
  mutating func number(_ width: Int) -> Int? {
    let digits = bytes.prefix(width)
    guard digits.count == width,
      digits.allSatisfy({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 })
    else { return nil }
    bytes = bytes.dropFirst(width)
    return digits.reduce(0) { $0 * 10 + Int($1 - UInt8(ascii: "0")) }
  }

  /// `hh:mm:ss`.
  mutating func time() -> (Int, Int, Int)? {
    guard let hour = number(2), skip(":"), let minute = number(2), skip(":"),
      let second = number(2)
    else { return nil }
    return (hour, minute, second)
  }

  /// `Z`, `+hh:mm`, `+hhmm`, `+hh` in seconds east of UTC; 0 at the end of the text.
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
