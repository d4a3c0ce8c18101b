import Glibc
import Testing

@testable import AuthKit

@Suite struct MomentDates {
  static let isoTable: [(String, Double)] = [
    ("1970-01-01T00:00:00Z", 0.0),
    ("2026-11-30T14:05:09Z", 1_796_047_509),
    ("2026-11-30t14:05:09z", 1_796_047_509),
    ("2026-11-30 14:05:09", 1_796_047_509),
    ("2026-11-30T14:05:09", 1_796_047_509),
    ("2026-11-30T14:05:09+00:00", 1_796_047_509),
    ("2026-11-30T14:05:09-00:00", 1_796_047_509),
    ("2026-11-30T15:05:09+01:00", 1_796_047_509),
    ("2026-11-30T15:05:09+0100", 1_796_047_509),
    ("2026-11-30 15:05:09+01", 1_796_047_509),
    ("2026-11-30T08:35:09-0530", 1_796_047_509),
    ("2026-12-01T00:05:09+10:00", 1_796_047_509),
    ("2026-11-30T14:05:09.5Z", 1_796_047_509.5),
    ("2026-11-30T14:05:09,25+00:00", 1_796_047_509.25),
    ("2026-11-30T14:05:09.000000000Z", 1_796_047_509),
    ("2026-11-30T14:05Z", 1_796_047_500),
    ("2026-11-30T14:05", 1_796_047_500),
    ("2024-02-29T00:00:00Z", 1_709_164_800),
    ("2000-02-29T23:59:59Z", 951_868_799),
    ("1969-12-31T23:59:59Z", -1),
    ("2016-12-31T23:59:60Z", 1_483_228_800),
    ("0000-01-01T00:00:00Z", -62_167_219_200),
    ("0001-01-01T00:00:00Z", -62_135_596_800),
    ("9999-12-31T23:59:59Z", 253_402_300_799),
  ]

  @Test(arguments: isoTable)
  func readsISO8601(text: String, seconds: Double) {
    #expect(Timestamp.parse(iso8601: text)?.seconds == seconds)
  }

  @Test(arguments: [
    "", "2026-11-30", "2026-11-30T", "2026-11-30T14", "2026-11-30T14Z", "20261130T140509Z",
    "2026-13-01T00:00:00Z", "2026-00-01T00:00:00Z", "2026-11-31T00:00:00Z",
    "2026-11-00T00:00:00Z", "2026-02-29T00:00:00Z", "1900-02-29T00:00:00Z",
    "2026-11-30T24:00:00Z", "2026-11-30T14:60:00Z", "2026-11-30T14:05:61Z",
    "2026-11-30T14:05:09+24:00", "2026-11-30T14:05:09+01:60", "2026-11-30T14:05:09+1:00",
    "2026-11-30T14:05:09+", "2026-11-30T14:05:09+01:", "2026-11-30T14:05:09+01:0",
    "2026-11-30T14:05:09.Z", "2026-11-30T14:05:9Z", "26-11-30T14:05:09Z",
    "2026-1-30T14:05:09Z", "+2026-11-30T14:05:09Z", "-2026-11-30T14:05:09Z",
    "2026-11-30T14:05:09Zx", "2026-11-30T14:05:09ZZ", " 2026-11-30T14:05:09Z",
    "2026-11-30T14:05:09Z ", "2026-11-30T14:05:09Z\r\n", "2026-11-30\r\n14:05:09Z",
    "2026-11-30T14:05:09.5.5Z", "2026-11-30T14:05:\u{0661}9Z", "2026/11/30T14:05:09Z",
    "12026-11-30T14:05:09Z", "2026-11-30T14:05:09 GMT", "1796047509", "now", "2026-11-30T-4:05:09Z",
  ])
  func refusesISO8601(text: String) {
    #expect(Timestamp.parse(iso8601: text) == nil)
  }

  @Test func longFractionsAreBounded() {
    let nines = String(repeating: "9", count: 30)
    #expect(Timestamp.parse(iso8601: "1970-01-01T00:00:00.\(nines)Z")?.seconds == 1)
    #expect(Timestamp.parse(iso8601: "1970-01-01T00:00:00.\(nines)9Z") == nil)
  }

  static let httpTable: [(String, Double)] = [
    ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777.0),
    ("Sunday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sun Nov  6 08:49:37 1994", 784_111_777),
    ("Wed Nov 16 08:49:37 1994", 784_975_777),
    ("Mon, 30 Nov 2026 14:05:09 GMT", 1_796_047_509),
    ("Monday, 30-Nov-26 14:05:09 GMT", 1_796_047_509),
    ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
    ("Sunday, 31-Dec-69 00:00:00 GMT", 3_155_673_600),
    ("Tue, 30 Nov 2026 14:05:09 GMT", 1_796_047_509),
    ("Wednesday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Saturday, 06-Nov-94 08:49:37 GMT", 784_111_777),
    ("Sunday, 06 Nov 1994 08:49:37 GMT", 784_111_777),
    ("Xun, 06 Nov 1994 08:49:37 GMT", 784_111_777),
  ]

  @Test(arguments: httpTable)
  func readsHTTPDates(text: String, seconds: Double) {
    #expect(Timestamp.parse(httpDate: text)?.seconds == seconds)
  }

  @Test(arguments: [
    "", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC",
    "Sun, 06 Nov 1994 08:49:37 +0000", "Sun, 6 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06-Nov-1994 08:49:37 GMT",
    "Sunday, 06-Nov-1994 08:49:37 GMT",
    "sun, 06 nov 1994 08:49:37 GMT", "Sun, 31 Nov 1994 08:49:37 GMT",
    "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ",
    "Sun Nov 6 08:49:37 1994", "Sun Nov  6 08:49:37 94", "Sun Nov  6 08:49:37 1994 GMT",
    "06 Nov 1994 08:49:37 GMT", "120", "Sun, 06\r\nNov 1994",
  ])
  func refusesHTTPDates(text: String) {
    #expect(Timestamp.parse(httpDate: text) == nil)
  }

  static let rfc3339Table: [(Double, String)] = [
    (0.0, "1970-01-01T00:00:00Z"), (1_796_047_509.99, "2026-11-30T14:05:09Z"),
    (-0.5, "1969-12-31T23:59:59Z"), (951_782_400, "2000-02-29T00:00:00Z"),
    (253_402_300_799, "9999-12-31T23:59:59Z"), (1e308, "9999-12-31T23:59:59Z"),
    (-62_167_219_200, "0000-01-01T00:00:00Z"), (-9e18, "0000-01-01T00:00:00Z"),
    (.infinity, "9999-12-31T23:59:59Z"), (.nan, "1970-01-01T00:00:00Z"),
    (1_798_675_200, "2026-12-31T00:00:00Z"), (1_769_817_600, "2026-01-31T00:00:00Z"),
  ]

  @Test(arguments: rfc3339Table)
  func writesRFC3339(seconds: Double, text: String) {
    #expect(Timestamp(seconds: seconds).rfc3339 == text)
  }

  /// Compares days of the years 0 to 2500 in steps of 59, and every day of 1896 to 2105, with the C
  /// library's calendar.
  @Test func theCalendarIsThatOfTheCLibrary() {
    var wrong: [String] = []
    for day in Array(stride(from: -719_528, through: 193_700, by: 59)) + Array(-27_028...49_673) {
      let seconds = day * 86_400 + 86_399
      var time = time_t(seconds)
      var parts = tm()
      gmtime_r(&time, &parts)
      let moment = Timestamp(
        year: Int(parts.tm_year) + 1900, month: Int(parts.tm_mon) + 1, day: Int(parts.tm_mday),
        hour: 23, minute: 59, second: 59)
      let text = Timestamp(seconds: Double(seconds)).rfc3339
      if moment?.seconds != Double(seconds) || Timestamp.parse(iso8601: text) != moment {
        wrong.append(text)
      }
    }
    #expect(wrong.isEmpty)
  }

  @Test(arguments: [0.0, 1_796_047_509, 1_782_000_000, -86_400, .nan, 1e308])
  func writesLocalTime(seconds: Double) {
    let held = seconds.isNaN ? 0 : min(seconds, 253_402_300_799)
    var time = time_t(held)
    var parts = tm()
    localtime_r(&time, &parts)
    var buffer = [CChar](repeating: 0, count: 64)
    let count = strftime(&buffer, buffer.count, "%Y-%m-%d %H:%M", &parts)
    let expected = String(decoding: buffer[..<count].map { UInt8($0) }, as: UTF8.self)
    #expect(Timestamp(seconds: seconds).localText() == expected)
  }
}

@Suite struct MomentNumbers {
  static let now = Timestamp(seconds: 1_796_047_509)
  static let tenYears = 315_619_200.0
  static let latest = 2_111_666_709.0

  static let lifetimeTable: [(Double, Double?)] = [
    (0.0, 0.0), (0.25, 0.25), (3600, 3600), (tenYears, tenYears),
    (tenYears + 1, nil), (-1, nil), (-0.001, nil), (1e308, nil), (-9e18, nil), (99_999e15, nil),
    (.infinity, nil), (-.infinity, nil), (.nan, nil),
  ]

  @Test(arguments: lifetimeTable)
  func lifetimes(seconds: Double, result: Double?) {
    #expect(Timestamp.bounded(seconds: seconds, now: Self.now) == result)
  }

  static let epochTable: [(Double, Double?)] = [
    (0.0, 0.0), (1, 1), (1_796_047_509.5, 1_796_047_509.5),
    (latest, latest), (latest + 1, nil),
    (1_796_047_509_250, 1_796_047_509.25), (1e11, nil), (100_000_000_001, 100_000_000.001),
    (2_111_666_709_000, latest), (9_999_999_999_999, nil),
    (-1, nil), (1e308, nil), (-9e18, nil), (.infinity, nil), (-.infinity, nil), (.nan, nil),
  ]

  @Test(arguments: epochTable)
  func epochs(epoch: Double, result: Double?) {
    #expect(Timestamp.bounded(epoch: epoch, now: Self.now)?.seconds == result)
  }

  @Test func parsedDatesAreNeverMilliseconds() throws {
    let end = try #require(Timestamp.parse(iso8601: "9999-12-31T23:59:59Z"))
    #expect(Timestamp.bounded(end, now: Self.now) == nil)
    let soon = Timestamp(seconds: Self.now.seconds + 60)
    #expect(Timestamp.bounded(soon, now: Self.now) == soon)
    #expect(Timestamp.bounded(Timestamp(seconds: .nan), now: Self.now) == nil)
  }

  static let durationTable: [(String, Double?)] = [
    ("0", 0.0), ("30", 30), ("30s", 30), ("5m", 300), ("24h", 86_400), ("7d", 604_800),
    ("1.5h", 5400), ("0.25", 0.25), ("007", 7), ("3653d", tenYears), ("3654d", nil),
    ("999999999999", nil), ("9999999999999", nil), ("99999999999999999999d", nil), ("", nil),
    ("s", nil), (" 30", nil), ("30 ", nil), ("30 s", nil), ("-5", nil), ("+5", nil), ("5M", nil),
    ("5min", nil), ("1h30m", nil), ("1.", nil), (".5", nil), ("1e3", nil), ("0x10", nil),
    ("inf", nil), ("nan", nil), ("30\r\n", nil), ("30s\u{301}", nil), ("\u{0663}", nil),
  ]

  @Test(arguments: durationTable)
  func durations(text: String, seconds: Double?) {
    #expect(Timestamp.duration(text) == seconds)
  }

  static let spokenTable: [(Double, String)] = [
    (0.0, "0 s"), (0.9, "0 s"), (-0.9, "0 s"), (47, "47 s"), (119.9, "119 s"), (120, "2 min"),
    (899, "14 min"), (900, "15 min"), (3600, "60 min"), (7199, "119 min"), (7200, "2 h"),
    (-7200, "-2 h"), (-7199, "-119 min"), (172_799, "47 h"), (172_800, "2 days"),
    (9.5 * 86_400, "9 days"), (-9.5 * 86_400, "-9 days"), (-47, "-47 s"), (1e308, "?"),
    (-9e18, "-104166666666666 days"), (.infinity, "?"), (.nan, "?"),
  ]

  @Test(arguments: spokenTable)
  func spoken(seconds: Double, text: String) {
    #expect(Timestamp.spoken(seconds) == text)
  }

  @Test func order() {
    #expect(Timestamp(seconds: 1) < Timestamp(seconds: 2))
    #expect(Timestamp(seconds: 1) == Timestamp(seconds: 1))
  }
}
