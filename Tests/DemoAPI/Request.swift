import FlyingFox
import Foundation

/// A request, completely read.
struct Request: Sendable {
  let method: String
  /// As in the request line.
  let target: String
  /// The target up to the question mark.
  let path: String
  let query: [(name: String, value: String)]
  /// Names in lower case, sorted: FlyingFox keeps neither their order nor duplicates.
  let headers: [(name: String, value: String)]
  /// At most the first MiB of it.
  let body: Data
  let bodyLength: Int
  let bodySHA256: String

  init(_ request: HTTPRequest) async throws {
    method = request.method.rawValue
    target = request.target.rawValue
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    path = String(parts[0])
    query = parts.count > 1 ? Self.pairs(parts[1]) : []
    headers = request.headers.map { ($0.key.rawValue.lowercased(), $0.value) }
      .sorted { $0.0 < $1.0 }
    var kept = Data()
    var length = 0
    let digest = Digest()
    for try await piece in request.bodySequence {
      kept.append(piece.prefix(max(0, 1 << 20 - kept.count)))
      length += piece.count
      digest.update(piece)
    }
    (body, bodyLength) = (kept, length)
    bodySHA256 = digest.finish()
  }

  func header(_ name: String) -> String? { headers.first { $0.name == name }?.value }

  func query(_ name: String) -> String? { query.first { $0.name == name }?.value }

  /// "METHOD /path", where HEAD counts as GET.
  var route: String { (method == "HEAD" ? "GET" : method) + " " + path }

  var isJSON: Bool { mediaType == "application/json" }

  var mediaType: String {
    (header("content-type") ?? "").split(separator: ";").first
      .map { $0.trimmingCharacters(in: .whitespaces).lowercased() } ?? ""
  }

  /// The body as a table of fields, if its media type is JSON or a form; otherwise empty. nil: its
  /// media type is JSON, but it is neither an object nor an array.
  var fields: JSON? {
    if isJSON {
      guard bodyLength > 0 else { return .object([]) }
      guard let value = JSON(body), value.isObject || value.array != nil else { return nil }
      return value
    }
    guard mediaType == "application/x-www-form-urlencoded" else { return .object([]) }
    return .object(
      Self.pairs(String(decoding: body, as: UTF8.self)).map { ($0.name, .string($0.value)) })
  }

  /// Parses `name=value&…` with percent escapes and `+` for a space.
  static func pairs(_ text: some StringProtocol) -> [(name: String, value: String)] {
    text.split(separator: "&").map { pair in
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { half in
          let spaced = half.replacingOccurrences(of: "+", with: " ")
          return spaced.removingPercentEncoding ?? spaced
        }
      return (halves[0], halves.count > 1 ? halves[1] : "")
    }
  }
}

// MARK: Credentials

extension Request {
  var authorization: String? { header("authorization") }

  /// Only from `Bearer TOKEN`.
  var bearer: String? {
    guard let value = authorization, value.utf8.starts(with: "Bearer ".utf8) else { return nil }
    return String(value.dropFirst(7)).trimmingCharacters(in: .whitespaces)
  }

  /// The last word of any Authorization header, as some Rails servers take it.
  var lastWord: String? { authorization?.split(separator: " ").last.map(String.init) }

  /// HTTP Basic (RFC 7617): the first colon separates name and password.
  var basic: (user: String, password: String)? {
    guard let words = authorization?.split(separator: " "), words.count == 2,
      words[0].lowercased() == "basic", let bytes = Data(base64Encoded: String(words[1])),
      let text = String(data: bytes, encoding: .utf8), let colon = text.utf8.firstIndex(of: 0x3A)
    else { return nil }
    return (String(text[..<colon]), String(text.utf8[colon...].dropFirst()) ?? "")
  }

  func cookie(_ name: String) -> String? {
    for pair in (header("cookie") ?? "").split(separator: ";") {
      let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      if halves.count == 2, halves[0].trimmingCharacters(in: .whitespaces) == name {
        return halves[1].trimmingCharacters(in: .whitespaces)
      }
    }
    return nil
  }
}
