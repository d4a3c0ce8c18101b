import Foundation

/// Endpoints that let a test inspect and control the server; they are not counted and cannot
/// misbehave.
struct Control: Sendable {
  let accounts: Accounts
  let oauth: OAuth
  let tricks: Tricks
  let recorder: Recorder
  let raw: RawListener?

  func answer(_ request: Request) async -> Answer? {
    let fields = JSON(request.body)
    switch request.route {
    case "GET /count": return reply(.object(await recorder.counts.map { ($0, .int($1)) }))
    case "GET /ended": return reply(.array(await accounts.ended.list + oauth.ended.list))
    case "GET /requests": return reply(.array(await recorder.requests))
    case "POST /misbehave":
      guard let fields, let trick = Trick(fields) else {
        return reply(["message": "A JSON object with a path is wanted."], 400)
      }
      await tricks.add(trick)
    case "POST /expire":
      await accounts.expireAccessTokens()
      await oauth.expireAccessTokens()
    case "GET /oauth-settings": return reply(await oauth.settings.description)
    case "POST /oauth-settings":
      if let complaint = await oauth.change(fields) { return reply(["message": complaint], 400) }
    case "POST /reset":
      await oauth.resetSettings()
      await tricks.clear()
      await recorder.clear()
      raw?.reset()
    case "POST /raw":
      guard let raw, let bytes = Data(base64Encoded: fields?["bytes_base64"]?.string ?? "") else {
        return reply(["message": "bytes_base64 and the option --raw-port are wanted."], 400)
      }
      raw.answer(
        with: bytes, close: fields?["close"]?.bool ?? true, reset: fields?["reset"]?.bool ?? false)
    case "GET /raw/seen":
      return reply(.array((raw?.seen ?? []).map { .string($0.base64EncodedString()) }))
    default: return nil
    }
    return reply([:])
  }

  private func reply(_ value: JSON, _ status: Int = 200) -> Answer {
    .json(status, value, type: "application/json")
  }
}

/// The requests so far, in the order of arrival.
actor Recorder {
  private var perRoute: [String: Int] = [:]
  private(set) var requests: [JSON] = []

  var counts: [(String, Int)] { perRoute.sorted { $0.key < $1.key }.map { ($0.key, $0.value) } }

  func note(_ request: Request) {
    perRoute[request.method + " " + request.path, default: 0] += 1
    if requests.count < 10_000 { requests.append(request.description(bodyLimit: 64 * 1024)) }
  }

  func clear() {
    perRoute = [:]
    requests = []
  }
}

extension Request {
  /// The format of `GET /echo` and `GET /requests`.
  func description(bodyLimit: Int) -> JSON {
    let kept = body.prefix(bodyLimit)
    return [
      "method": .string(method),
      "target": .string(target),
      "path": .string(path),
      "query": .object(query.map { ($0.name, .string($0.value)) }),
      "headers": .object(headers.map { ($0.name, .string($0.value)) }),
      "body": .string(String(decoding: kept, as: UTF8.self)),
      "body_base64": .string(kept.base64EncodedString()),
      "body_length": .int(bodyLength),
      "body_sha256": .string(bodySHA256),
    ]
  }
}
