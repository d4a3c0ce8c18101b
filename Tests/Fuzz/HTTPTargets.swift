import Glibc

@testable import AuthKit

/// What several targets use, made once.
struct Fixed {
  static let now = Timestamp(seconds: 1_796_047_509)

  private let url: WebURL
  private let profiles: [Profile]

  /// A profile with every kind of place, one with a server, and those of the presets that need
  /// nothing else.
  private init() throws {
    url = try WebURL("https://api.example/v1/x?a=1", from: .person)
    let start = "url = \"https://api.example\"\n"
    let places = """
      [session]
      access_token = ["/token", "header:X-Token", "cookie:sid", "body"]
      refresh_token = ["/refresh"]
      expires_in = ["/expires_in", "ms:/ms"]
      expires_at = ["/expires_at", "ms:/at", "jwt:/exp", "header:Expires"]
      account = ["/user/name", "/users/0/name"]
      keep = { id = "/id", ticket = "header:X-Ticket" }
      [request]
      cookies = true
      """
    let oauth = "[oauth]\nissuer = \"https://id.example\"\nclient_id = \"c\"\n"
    let own = try [places, oauth].map {
      try ProfileReader.read(text: start + $0, name: "shop", file: nil)
    }
    profiles =
      own
      + Presets.names.compactMap {
        try? ProfileReader.read(text: start + "preset = \"\($0)\"\n", name: "shop", file: nil)
      }
  }

  nonisolated(unsafe) private static let made = Result { try Fixed() }

  static var url: WebURL { get throws { try made.get().url } }
  static var profiles: [Profile] { get throws { try made.get().profiles } }
}

/// Set-Cookie lines of one answer: the jar is what it was after a write and a read, keeps its
/// limits, and gives a cookie to its own origin only.
@Sendable func fuzzCookies(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let origins = [
    "https://h:443", "http://h:80", "https://h:444", "https://i.h:443", "http://h:443",
  ]
  let requestPath = "/" + String(decoding: input.line(), as: UTF8.self)
  var jar = CookieJar()
  let now = Fixed.now
  for line in input.lines() {
    var line = FuzzInput(Array(line.utf8))
    let origin = line.choose(origins)
    let text = line.text()
    let before = jar
    let outcome = jar.store(
      setCookie: text, origin: origin, requestPath: requestPath, now: now)
    switch outcome {
    case .stored:
      try check(
        jar.cookies.contains { $0.originText == origin },
        "a cookie belongs to the origin of its answer")
    case .removed: break
    case .refused, .overflow:
      // Cookies that are over go at any time.
      try check(jar.cookies.allSatisfy(before.cookies.contains), "a refused cookie is not kept")
    }
  }
  try check(jar.cookies.count <= 50, "at most 50 cookies")
  for cookie in jar.cookies {
    try check(
      !cookie.secure || cookie.originText.utf8.starts(with: "https:".utf8), "Secure is of https")
    try check(
      cookie.path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash: \(cookie.path)")
    if let expires = cookie.expires {
      try check(
        expires > now && expires.seconds <= now.seconds + 3653 * 86400, "the end is bounded")
    }
    let lower = cookie.name.asciiLowercased.utf8
    if lower.starts(with: "__host-".utf8) {
      try check(cookie.secure && cookie.path == "/", "the prefix __Host- holds")
    }
  }
  let json = jar.json.serialized()
  try check(CookieJar(json: try JSONValue.parse(json)) == jar, "a stored jar is the same")
  for origin in origins {
    let isSecure = origin.utf8.starts(with: "https:".utf8)
    for path in ["/", requestPath, requestPath + "/x", "x", "?" + requestPath] {
      let header = jar.header(for: origin, path: path, isSecure: isSecure, now: now)
      let plain = path.utf8.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
      let below = plain.first == UInt8(ascii: "/") ? Array(plain) : [UInt8(ascii: "/")]
      let own = jar.cookies.filter { cookie in
        let path = Array(cookie.path.utf8)
        return cookie.originText == origin && (isSecure || !cookie.secure)
          && (below == path || below.starts(with: path + [UInt8(ascii: "/")])
            || path.last == UInt8(ascii: "/") && below.starts(with: path))
      }
      let sent = header.map { Set(pairs($0)) } ?? []
      try check(
        sent == Set(own.map { "\($0.name)=\($0.value)" }.flatMap(pairs)),
        "exactly the cookies of the origin and path are sent")
      try check(
        header.map { HeaderSyntax.isRecipeValue($0) || $0.utf8.last == 0x20 } ?? true,
        "the header is one line: \(header ?? "")")
    }
  }
  let elsewhere = jar.header(for: "https://evil.example:443", path: "/", isSecure: true, now: now)
  try check(elsewhere == nil, "nothing goes elsewhere")
}

private func pairs(_ header: String) -> [String] {
  header.utf8.split(separator: UInt8(ascii: ";")).map {
    String(decoding: $0, as: UTF8.self).trimmingSpaces
  }
}

/// Link and WWW-Authenticate: what is written into a header is read from it; the next page of an
/// answer.
@Sendable func fuzzLink(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let kind = input.byte()
  if kind % 3 == 0 {
    // A link among others, with any text in quotes.
    let (target, title) = (input.line(), input.bytes())
    guard !target.contains(UInt8(ascii: ">")) else { return }
    let text = String(decoding: target, as: UTF8.self)
    let quoted = quoted(String(decoding: title, as: UTF8.self))
    for header in [
      "<\(text)>; title=\(quoted); rel=next", "<a>; rel=\(quoted), <\(text)>;rel=\"x NEXT\"",
    ] {
      let others = String(decoding: title, as: UTF8.self).asciiLowercased.contains(bytesOf: "next")
      guard !others else { continue }
      try check(
        LinkHeader.next(in: [header]).map { $0.isSame(as: text.trimmingSpaces) } ?? false,
        "the target of a link is found")
    }
    let challenges = Challenge.all(in: ["Basic realm=\(quoted), Bearer x=1, error=\(quoted)"])
    try check(challenges.map(\.scheme) == ["basic", "bearer"], "both challenges are found")
    try check(
      challenges[0]["realm"]?.utf8.elementsEqual(String(decoding: title, as: UTF8.self).utf8)
        ?? false, "a parameter is found")
    return
  }
  let lines = input.lines()
  if kind % 3 == 1 {
    if let target = LinkHeader.next(in: lines) {
      try check(
        lines.contains { line in
          // As a quoted string, the relation may have backslashes (RFC 9110, section 5.6.4).
          let words = line.utf8.filter { $0 != UInt8(ascii: "\\") }
          return line.contains(bytesOf: target)
            && String(decoding: words, as: UTF8.self).asciiLowercased.contains(bytesOf: "next")
        },
        "a target comes from a header")
    }
    for challenge in Challenge.all(in: lines) {
      try check(!challenge.scheme.isEmpty, "a challenge has a scheme")
      _ = challenge["error"]
    }
    return
  }
  // A whole answer: the last line is the body, the others are headers.
  var head = response(200, lines.dropLast())
  head.add("Content-Type: application/json")
  let body = Array((lines.last ?? "").utf8)
  let url = try Fixed.url
  let ways: [NextPage] = [
    .usual, .pointer("/next"), .cursor("/cursor", parameter: "page"),
    .cursor("/c/0", parameter: "a"),
  ]
  for way in ways {
    let next: WebURL?
    do throws(Failure) {
      next = try way.url(after: head, at: url) { () throws(Failure) in
        try? JSONText(ByteBuffer(body))
      }
    } catch { continue }
    guard let next else { continue }
    let isReadAgain = (try? WebURL(next.text, from: .server))?.origin == next.origin
    try check(isReadAgain, "the next page is a URL")
    if case .cursor(let pointer, let name) = way {
      try check(next.origin == url.origin && next.path == url.path, "the page stays")
      let fields = formFields((next.query ?? "").utf8).filter { $0.name == name }
      let wanted = try? JSONValue.parse(body).at(pointer)?.scalarText
      try check(
        fields.count == 1 && fields[0].value.map { $0.isSame(as: wanted ?? "") } ?? false,
        "the cursor is sent once and as it was")
    }
  }
}

func response(_ status: Int, _ lines: some Sequence<String>) -> ResponseHead {
  var head = Array("HTTP/1.1 \(status) x".utf8).withUnsafeBytes { ResponseHead(statusLine: $0) }
  for line in lines { head.add(line) }
  return head
}

extension ResponseHead {
  fileprivate mutating func add(_ line: String) {
    Array(line.utf8).withUnsafeBytes { add(line: $0) }
  }
}

/// A quoted string (RFC 9110, section 5.6.4).
private func quoted(_ text: String) -> String {
  let escaped = text.utf8.flatMap { byte -> [UInt8] in
    "\"\\".utf8.contains(byte) ? [UInt8(ascii: "\\"), byte] : [byte]
  }
  return "\"" + String(decoding: escaped, as: UTF8.self) + "\""
}

/// A URL, and a reference to resolve against it: our own reading against libcurl's, and the origin
/// that both lead to (rule A8).
@Sendable func fuzzURL(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let text = String(decoding: input.line(), as: UTF8.self)
  let reference = input.text()
  guard !text.utf8.contains(0), !reference.utf8.contains(0) else { return }
  let plain = PlainURL(text)
  let read = try? WebURL(text, from: .person)
  if let plain {
    guard let read else { throw BrokenProperty(description: "a plain URL is a URL") }
    _ = try sure("libcurl reads a plain URL alike") { try read.handle() }
    try check(
      read.origin == plain.origin && read.path.isSame(as: plain.path) && read.query == nil,
      "a plain URL is what it seems")
  }
  if let origin = Origin(canonicalStartOf: text) {
    try check(
      Origin(canonical: origin.description) == origin, "a canonical origin is written alike")
    // 0x7f is a host that no session has: a session's is libcurl's.
    if let read, (try? Origin(origin.description)) == origin {
      try check(read.origin == origin, "both readings have the same origin")
    }
  }
  guard let read else { return }
  try check(URLText.rejectionReason(of: text) == nil, "a URL is not one that is refused")
  let again = try sure("its text is a URL") { try WebURL(read.text, from: .server) }
  try check(
    again.origin == read.origin && again.text.isSame(as: read.text)
      && again.path.isSame(as: read.path) && again.query == read.query,
    "its text is read alike: \(read.text)")
  try check(read.path.utf8.first == UInt8(ascii: "/"), "a path begins with a slash")
  let host = try sure("its origin is one") { try Origin(read.origin.description) }
  try check(host == read.origin, "its origin is written alike")
  try check(
    read.text.utf8.allSatisfy { $0 > 0x20 && $0 != 0x7F }, "its text has no space and no control")
  if URLText.problemOfBase(text) == nil, read.origin.isLoopback {
    try check(!read.origin.host.utf8.contains(UInt8(ascii: "@")), "a host is a host")
  }
  guard let target = try? read.resolving(reference, from: .server) else { return }
  let whole = try sure("a resolved URL is a URL") { try WebURL(target.text, from: .server) }
  try check(
    whole.origin == target.origin && whole.text.isSame(as: target.text), "it is read alike")
  if URLText.isAbsolute(reference) {
    let own = try sure("an absolute reference is a URL") { try WebURL(reference, from: .server) }
    try check(own.origin == target.origin, "an absolute reference has its own origin")
  } else if !reference.utf8.starts(with: "//".utf8) {
    try check(target.origin == read.origin, "a relative reference stays at its origin")
  }
}

/// Dates of headers, cookies and JSON, and durations: what is read is written and read alike.
@Sendable func fuzzDates(_ bytes: [UInt8]) throws {
  let text = String(decoding: bytes, as: UTF8.self)
  let forms = ["x, %d %b %Y %H:%M:%S GMT", "x, %d-%b-%y %H:%M:%S GMT", "x %b %e %H:%M:%S %Y"]
  if let moment = Timestamp.parse(httpDate: text) {
    try check(
      forms.contains { Timestamp.parse(httpDate: moment.text($0)) == moment }, "it is read again")
    try check(moment == Timestamp.parse(cookieDate: bytes), "a cookie date is at least as much")
  }
  if let moment = Timestamp.parse(cookieDate: bytes) {
    try checkCalendar(moment)
    try check(Timestamp.parse(httpDate: moment.text(forms[0])) == moment, "it is an HTTP date")
  }
  if let moment = Timestamp.parse(iso8601: text) {
    try check(abs(moment.seconds) < 3e11, "it is in ten thousand years")
    let written = moment.rfc3339
    let again = Timestamp.parse(iso8601: written)
    let isHeld = moment.seconds < -62_167_219_200 || moment.seconds >= 253_402_300_800
    try check(
      isHeld || again?.seconds == moment.seconds.rounded(.down), "it is written as it is")
    if !isHeld { try checkCalendar(Timestamp(seconds: moment.seconds.rounded(.down))) }
    if let bounded = Timestamp.bounded(moment, now: Fixed.now) {
      try check((0...Fixed.now.seconds + 3653 * 86400).contains(bounded.seconds), "it is bounded")
    }
    _ = moment.localText()
  }
  if let seconds = Timestamp.duration(text) {
    try check((0...3653 * 86400).contains(seconds), "a duration has at most ten years")
    _ = Timestamp.spoken(seconds)
  }
  for number in [Double(text), bytes.count >= 8 ? bits(bytes) : nil].compactMap({ $0 }) {
    _ = Timestamp.spoken(number)
    _ = Timestamp(seconds: number).localText()
    let written = Timestamp(seconds: number).rfc3339
    try check(
      written.utf8.count == 20 && Timestamp.parse(iso8601: written) != nil, "\(written) is a date")
    for found in [
      Timestamp.bounded(seconds: number, now: Fixed.now).map { $0 + Fixed.now.seconds },
      Timestamp.bounded(epoch: number, now: Fixed.now)?.seconds,
    ].compactMap({ $0 }) {
      try check((0...Fixed.now.seconds + 3653 * 86400).contains(found), "a number is bounded")
    }
  }
}

private func bits(_ bytes: [UInt8]) -> Double {
  Double(bitPattern: bytes.prefix(8).reduce(0) { $0 << 8 | UInt64($1) })
}

/// The date of a moment by arithmetic (days from civil, Howard Hinnant) in place of the C library.
private func checkCalendar(_ moment: Timestamp) throws {
  let parts = moment.text("%Y %m %d %H %M %S").utf8.split(separator: 0x20).map {
    Int(String(decoding: $0, as: UTF8.self)) ?? -1
  }
  let year = parts[1] <= 2 ? parts[0] - 1 : parts[0]
  let era = (year >= 0 ? year : year - 399) / 400
  let yearOfEra = year - era * 400
  let dayOfYear = (153 * (parts[1] + (parts[1] > 2 ? -3 : 9)) + 2) / 5 + parts[2] - 1
  let day = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
  let days = era * 146_097 + day - 719_468
  let seconds = days * 86400 + parts[3] * 3600 + parts[4] * 60 + parts[5]
  try check(Double(seconds) == moment.seconds, "the calendar is Gregorian: \(parts)")
}
