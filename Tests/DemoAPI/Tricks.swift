import Foundation

/// One `POST /misbehave`: how the next responses at a path are changed.
struct Trick: Sendable {
  let path: String
  let method: String?
  /// How many more times; nil: until the reset.
  var times: Int?
  let delay: Double?
  let status: Int?
  let contentType: String?
  let body: Data?
  let headers: [(String, String)]
  let truncate: Int
  let drip: Double?
  let endless: Bool
  let after: Bool

  init?(_ order: JSON) {
    guard let path = order["path"]?.string else { return nil }
    self.path = path
    method = order["method"]?.string
    let count = order["times"]?.int ?? 1
    times = count == 0 ? nil : count
    delay = order["delay_ms"]?.double.map { $0 / 1000 }
    status = order["status"]?.int
    contentType = order["content_type"]?.string
    body =
      order["body_base64"]?.string.flatMap { Data(base64Encoded: $0) }
      ?? order["body"]?.string.map { Data($0.utf8) }
    headers = (order["headers"]?.array ?? []).compactMap { pair in
      guard let name = pair.array?.first?.string, let value = pair.array?.last?.string else {
        return nil
      }
      return (name, value)
    }
    truncate = order["truncate"]?.int ?? 0
    drip = order["drip_ms"]?.double.map { $0 / 1000 }
    endless = order["endless"]?.bool ?? false
    after = order["after"]?.bool ?? false
  }

  private var replaces: Bool { status != nil || body != nil || endless }

  /// A trick that replaces neither status nor body only changes how the real response is sent.
  var needsRealAnswer: Bool { after || !replaces }

  func answer(instead real: Answer?) -> Answer {
    var answer: Answer
    if !replaces, let real {
      answer = real
      if let contentType { answer.setHeader("Content-Type", contentType) }
    } else {
      answer = Answer(
        status ?? real?.status ?? 200, type: contentType ?? "application/json", body ?? Data())
    }
    answer.headers += headers

    guard case .bytes(let bytes) = answer.body, truncate > 0 || drip != nil || endless else {
      return answer
    }
    answer.body = .script(
      ScriptedBody(
        pattern: endless && bytes.isEmpty ? Array("endless ".utf8) : Array(bytes),
        length: endless ? nil : bytes.count,
        announced: endless ? nil : bytes.count + truncate,
        drip: drip))
    return answer
  }
}

extension Answer {
  mutating func setHeader(_ name: String, _ value: String) {
    headers.removeAll { $0.0 == name }
    headers.append((name, value))
  }
}

actor Tricks {
  private var pending: [Trick] = []

  func add(_ trick: Trick) { pending.append(trick) }

  func clear() { pending = [] }

  /// The oldest trick for this request; a used-up one is removed.
  func take(for request: Request) -> Trick? {
    let index = pending.firstIndex {
      $0.path == request.path && ($0.method ?? request.method) == request.method
    }
    guard let index else { return nil }
    let trick = pending[index]
    if let times = trick.times {
      if times > 1 { pending[index].times = times - 1 } else { pending.remove(at: index) }
    }
    return trick
  }
}
