import Foundation

/// Answers for looking at transfers; nobody needs to sign in for them.
struct PlayGround: Sendable {
  func answer(_ request: Request) async -> Answer? {
    switch (request.route, request.path) {
    case (_, "/echo"):
      .json(200, request.description(bodyLimit: 1 << 20), type: "application/json")
    case ("GET /big", _): big(request)
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

  /// `bytes=N` bytes of text, announced by Content-Length, or chunked with `chunked=1`.
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
