internal import AuthKit

/// The format of `-w`, in curl's language: https://curl.se/docs/manpage.html#-w
final class WriteOut {
  /// The result of the request.
  struct Outcome {
    var method: String
    /// The requested URL.
    var url: WebURL
    /// The last requested URL and its answer; nil without an answer.
    var final: (head: ResponseHead, url: WebURL)?
    /// The mask for the head of the answer.
    var mask: HeaderMask
    /// The file that was written.
    var file: String?
  }

  private enum Piece {
    case text(String)
    case variable(String)
    case header(String)
  }

  private let pieces: [Piece]
  /// The facts of every transfer of the request, including redirects and retries.
  var facts: [TransferFacts] = []

  /// - Parameter format: the format, or `@FILE`; `@-` is standard input.
  /// - Throws: `failed` for a file that cannot be read.
  init(_ format: String) throws(Failure) {
    let isFile = format.utf8.first == UInt8(ascii: "@")
    pieces = Self.pieces(isFile ? try File.text(String(format.dropFirst()), option: "-w") : format)
  }

  /// Prints the format with its values.
  ///
  /// - Parameter code: the exit status to come.
  func write(
    _ answer: Outcome, code: Int32, _ failure: Failure?, to console: Console
  ) throws(Failure) {
    var texts = (out: "", err: "")
    var isErr = false
    let values = values(answer, code, failure)
    scan: for piece in pieces {
      var text = ""
      switch piece {
      case .text(let plain): text = plain
      case .header(let name): text = Self.header(name, answer)
      case .variable("stdout"): isErr = false
      case .variable("stderr"): isErr = true
      case .variable("onerror"): if failure == nil { break scan }
      case .variable("json"): text = Self.json(.object(values), console)
      case .variable("header_json"): text = Self.json(Self.headers(answer), console)
      case .variable(let name):
        guard let found = values.first(where: { $0.key == name })?.value else {
          console.warn("-w: unknown variable '\(DisplayText.oneLine(name, limit: 40))'")
          continue
        }
        text = Self.text(name, found)
      }
      if isErr { texts.err += text } else { texts.out += text }
    }
    if !texts.out.isEmpty { try console.write(Array(texts.out.utf8)) }
    if !texts.err.isEmpty { console.notice("-w", foreign: texts.err.trimmingLineEnd) }
  }

  // MARK: - The language

  private static func pieces(_ format: String) -> [Piece] {
    var pieces: [Piece] = []
    var plain: [UInt8] = []
    var rest = Array(format.utf8)[...]
    func name(after opening: String) -> String? {
      guard rest.starts(with: opening.utf8), let end = rest.firstIndex(of: UInt8(ascii: "}"))
      else { return nil }
      defer { rest = rest[(end + 1)...] }
      return String(decoding: rest[..<end].dropFirst(opening.utf8.count), as: UTF8.self)
    }
    func add(_ piece: Piece) {
      if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
      plain = []
      pieces.append(piece)
    }
    while let byte = rest.first {
      if let variable = name(after: "%{") {
        add(.variable(variable))
        continue
      }
      if let header = name(after: "%header{") {
        add(.header(header))
        continue
      }
      rest = rest.dropFirst()
      switch (byte, rest.first) {
      case (UInt8(ascii: "%"), UInt8(ascii: "%")): plain.append(byte)
      case (UInt8(ascii: "\\"), UInt8(ascii: "n")): plain.append(UInt8(ascii: "\n"))
      case (UInt8(ascii: "\\"), UInt8(ascii: "r")): plain.append(UInt8(ascii: "\r"))
      case (UInt8(ascii: "\\"), UInt8(ascii: "t")): plain.append(UInt8(ascii: "\t"))
      default:
        plain.append(byte)
        continue
      }
      rest = rest.dropFirst()
    }
    if !plain.isEmpty { pieces.append(.text(String(decoding: plain, as: UTF8.self))) }
    return pieces
  }

  // MARK: - The variables

  /// Returns the variables, sorted by name as in curl's `%{json}`.
  private func values(
    _ answer: Outcome, _ code: Int32, _ failure: Failure?
  ) -> [(key: String, value: JSONValue)] {
    let last = facts.last
    let redirects = facts.dropLast().count { (300...399).contains($0.status) }
    let before = facts.dropLast().reduce(0) { $0 + $1.total }
    let total = facts.reduce(0) { $0 + $1.total }
    let head = answer.final?.head
    let url = answer.final?.url ?? answer.url
    func text(_ value: String?) -> JSONValue {
      value.map { .string(answer.mask.shown($0)) } ?? .null
    }
    func number(_ value: Int?) -> JSONValue { .number(value ?? 0) }
    func seconds(_ value: Int?) -> JSONValue { .number(Self.seconds(value ?? 0)) }
    func speed(_ bytes: Int?) -> JSONValue {
      .number(total > 0 ? (Double(bytes ?? 0) * 1e6 / Double(total)).rounded(.down) : 0)
    }
    let redirect = head?.redirect.flatMap { try? url.resolving($0, from: .server).text }
      .map { answer.mask.shown(url: $0) }
    return [
      ("content_type", text(head?.first("Content-Type"))), ("errormsg", text(failure?.message)),
      ("exitcode", number(Int(code))), ("filename_effective", text(answer.file)),
      ("http_code", number(head?.status)), ("http_connect", .number(0)),
      ("http_version", .string(Self.version(last?.httpVersion))),
      ("local_ip", text(last?.own.address)), ("local_port", number(last?.own.port)),
      ("method", .string(answer.method)),
      ("num_connects", number(facts.reduce(0) { $0 + $1.connects })),
      ("num_headers", number(head?.fields.count)), ("num_redirects", number(redirects)),
      ("redirect_url", redirect.map { .string($0) } ?? .null),
      ("remote_ip", text(last?.peer.address)),
      ("remote_port", number(last?.peer.port)), ("response_code", number(head?.status)),
      ("scheme", .string(url.origin.scheme)), ("size_download", number(last?.downloaded)),
      ("size_header", number(facts.reduce(0) { $0 + $1.headerSize })),
      ("size_request", number(facts.reduce(0) { $0 + $1.requestSize })),
      ("size_upload", number(last?.uploaded)), ("speed_download", speed(last?.downloaded)),
      ("speed_upload", speed(last?.uploaded)),
      ("ssl_verify_result", number(last?.verifyResult)),
      ("time_appconnect", seconds(last?.appConnect)), ("time_connect", seconds(last?.connect)),
      ("time_namelookup", seconds(last?.nameLookup)),
      ("time_pretransfer", seconds(last?.preTransfer)), ("time_redirect", seconds(before)),
      ("time_starttransfer", seconds(last?.startTransfer)), ("time_total", seconds(total)),
      ("url", text(answer.url.text)), ("url_effective", text(url.text)),
      ("urlnum", .number(0)),
    ]
  }

  private static func text(_ name: String, _ value: JSONValue) -> String {
    let text = value.scalarText ?? ""
    let isStatus = ["http_code", "response_code", "http_connect"].contains(name)
    return isStatus ? String(repeating: "0", count: max(0, 3 - text.utf8.count)) + text : text
  }

  /// Formats microseconds as seconds: `0.012345`.
  private static func seconds(_ microseconds: Int) -> String {
    let digits = String(max(0, microseconds) % 1_000_000)
    return "\(max(0, microseconds) / 1_000_000)."
      + String(repeating: "0", count: 6 - digits.utf8.count) + digits
  }

  private static func version(_ number: Int?) -> String {
    switch number {
    case 1: "1.0"
    case 2: "1.1"
    case 3: "2"
    case 30: "3"
    default: "0"
    }
  }

  /// Returns compact JSON; on a terminal with JSON escapes, which do not change its value.
  private static func json(_ value: JSONValue, _ console: Console) -> String {
    let text = value.serialized()
    guard console.isOutTerminal else { return text }
    return String(decoding: Array(text.utf8).withUnsafeBytes(JSONValue.shown), as: UTF8.self)
  }

  private static func header(_ name: String, _ answer: Outcome) -> String {
    answer.final?.head.first(name).map { answer.mask.shown($0, of: name) } ?? ""
  }

  private static func headers(_ answer: Outcome) -> JSONValue {
    let headers = answer.final?.head.grouped ?? []
    return .object(
      headers.map { (name, values) in
        (name, .array(values.map { .string(answer.mask.shown($0, of: name)) }))
      })
  }
}
