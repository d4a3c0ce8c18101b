import FlyingFox
import Foundation

/// A response.
struct Answer: Sendable {
  var status: Int
  var headers: [(String, String)]
  var body: Body

  enum Body: Sendable {
    case bytes(Data)
    case script(ScriptedBody)
  }

  init(_ status: Int, type: String?, _ body: Data = Data(), headers: [(String, String)] = []) {
    self.status = status
    self.headers = (type.map { [("Content-Type", $0)] } ?? []) + headers
    self.body = .bytes(body)
  }

  static func json(
    _ status: Int, _ value: JSON, type: String = "application/json; charset=utf-8",
    slash: String = "/", headers: [(String, String)] = []
  ) -> Answer {
    Answer(status, type: type, Data(value.text(slash: slash).utf8), headers: headers)
  }

  static func text(
    _ status: Int, _ text: String, type: String = "text/plain; charset=utf-8",
    headers: [(String, String)] = []
  ) -> Answer {
    Answer(status, type: type, Data(text.utf8), headers: headers)
  }

  static func html(
    _ status: Int, _ text: String, type: String = "text/html; charset=utf-8",
    headers: [(String, String)] = []
  ) -> Answer {
    Answer(status, type: type, Data(text.utf8), headers: headers)
  }

  /// Converts it for FlyingFox, which sends a body for any method: a HEAD gets none.
  func response(to method: String) -> HTTPResponse {
    var fields = HTTPHeaders()
    for (name, value) in headers { fields.addValue(value, for: HTTPHeader(name)) }
    let code = HTTPStatusCode(status, phrase: Self.phrases[status] ?? "Unknown")
    switch body {
    case .bytes(let data):
      if method == "HEAD" { fields[.contentLength] = String(data.count) }
      return HTTPResponse(
        statusCode: code, headers: fields, body: method == "HEAD" ? Data() : data)
    case .script(let script):
      if let length = script.announced { fields[.contentLength] = String(length) }
      if method == "HEAD" { return HTTPResponse(statusCode: code, headers: fields) }
      return HTTPResponse(statusCode: code, headers: fields, body: script.sequence)
    }
  }

  private static let phrases = [
    200: "OK", 201: "Created", 202: "Accepted", 204: "No Content", 206: "Partial Content",
    301: "Moved Permanently", 302: "Found", 303: "See Other", 304: "Not Modified",
    307: "Temporary Redirect", 308: "Permanent Redirect", 400: "Bad Request",
    401: "Unauthorized", 403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed",
    406: "Not Acceptable", 408: "Request Timeout", 409: "Conflict", 410: "Gone",
    415: "Unsupported Media Type", 418: "I'm a teapot", 422: "Unprocessable Entity",
    423: "Locked", 425: "Too Early", 429: "Too Many Requests", 500: "Internal Server Error",
    501: "Not Implemented", 502: "Bad Gateway", 503: "Service Unavailable",
    504: "Gateway Timeout",
  ]
}

extension String {
  var htmlEscaped: String {
    replacingOccurrences(of: "&", with: "&amp;").replacingOccurrences(of: "<", with: "&lt;")
      .replacingOccurrences(of: ">", with: "&gt;").replacingOccurrences(of: "\"", with: "&quot;")
  }
}

extension Date {
  /// The date format of HTTP (RFC 9110, section 5.6.7).
  var httpText: String {
    var (seconds, parts) = (time_t(timeIntervalSince1970), tm())
    gmtime_r(&seconds, &parts)
    var buffer = [CChar](repeating: 0, count: 40)
    let count = strftime(&buffer, buffer.count, "%a, %d %b %Y %H:%M:%S GMT", &parts)
    return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}
