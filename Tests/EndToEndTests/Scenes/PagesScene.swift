import Testing

/// A profile for a recorder, and responses that link to each other, shared by the suites of pages
/// and retries.
enum PagesScene {
  static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// Runs `body` with a profile `shop` for a recorder that answers this way.
  static func with(
    _ answer: @escaping Recorder.Answering, profile: String = "",
    _ body: (Sandbox, Recorder) async throws -> Void
  ) async throws {
    try await Sandbox.with(.none) { box in
      let api = try box.recorder(answering: answer)
      try box.profile("shop", "url = \"\(api.url)\"\n\(profile)\n")
      box.canary.watch("a-token-of-ours")
      try await body(box, api)
    }
  }

  /// Method and target of every request.
  static func lines(_ recorder: Recorder) -> [String] {
    recorder.texts.map { text in
      text.split(separator: " ", maxSplits: 2).prefix(2).joined(separator: " ")
    }
  }

  /// A page with a link to the next.
  static func page(_ body: String, next: String? = nil) -> Recorder.Answer {
    .http(200, body, headers: next.map { [("Link", "<\($0)>; rel=\"next\"")] } ?? [])
  }
}
