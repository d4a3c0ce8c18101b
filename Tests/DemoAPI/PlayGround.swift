import Foundation

/// Endpoints for inspecting transfers; none needs a sign-in.
struct PlayGround: Sendable {
  func answer(_ request: Request) async -> Answer? {
    switch (request.route, request.path) {
    case (_, "/echo"):
      .json(200, request.description(bodyLimit: 1 << 20), type: "application/json")
    case ("GET /big", _): big(request)
    case ("GET /pages", _): pages(request)
    case ("GET /gzip", _):
      Answer(
        200, type: "application/json", gzip(Data(#"{"packed":true,"text":"¡hola!"}"#.utf8)),
        headers: [("Content-Encoding", "gzip")])
    case (_, "/redirect"):
      Answer(
        request.query("status").flatMap { Int($0) } ?? 302, type: nil,
        headers: [("Location", request.query("to") ?? "/echo")])
    default: nil
    }
  }

  /// One of `n` pages of two items. `by` selects how the next one is given: by `link` (RFC 8288),
  /// in the `body` at /next, or by a `cursor` at /meta/cursor.
  private func pages(_ request: Request) -> Answer {
    let count = request.query("n").flatMap { Int($0) } ?? 3
    let by = request.query("by") ?? "link"
    let page = (request.query("cursor") ?? request.query("page")).flatMap { Int($0) } ?? 1
    let isLast = page >= count
    let next = "/pages?n=\(count)&by=\(by)&page=\(page + 1)"
    var members: [(String, JSON)] = [
      ("page", .int(page)), ("items", [["id": .int(2 * page - 1)], ["id": .int(2 * page)]]),
    ]
    if by == "body" { members.append(("next", isLast ? .null : .string(next))) }
    if by == "cursor" {
      members.append(("meta", ["cursor": isLast ? .null : .string(String(page + 1))]))
    }
    let link = by == "link" && !isLast
    return .json(
      200, .object(members), type: "application/json",
      headers: link ? [("Link", "<\(next)>; rel=\"next\"")] : [])
  }

  /// `bytes=N` bytes of text, with Content-Length, or chunked with `chunked=1`.
  private func big(_ request: Request) -> Answer {
    let length = max(0, request.query("bytes").flatMap { Int($0) } ?? 1 << 20)
    var answer = Answer(200, type: "application/octet-stream")
    answer.body = .script(
      ScriptedBody(
        pattern: Array("0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ+\n".utf8),
        length: length, announced: request.query("chunked") == nil ? length : nil))
    return answer
  }
}
