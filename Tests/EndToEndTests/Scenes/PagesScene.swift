import Testing

/// A profile at a recorder, and answers that lead from one to the next: what the suites of pages
/// and of retries share.
enum PagesScene {
  static let env: [String: String?] = ["AUTHCTL_TOKEN": "a-token-of-ours"]

  /// A sandbox whose only profile, `shop`, is at a recorder that answers so.
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

  /// A page, and the link to the next.
  static func page(_ body: String, next: String? = nil) -> Recorder.Answer {
    .http(200, body, headers: next.map { [("Link", "<\($0)>; rel=\"next\"")] } ?? [])
  }
}
