/// One result of detection.
package struct Finding {
  /// How certain a finding is.
  package enum Certainty: String, Sendable, CaseIterable, Comparable {
    /// It may be so.
    case possible
    /// A document describes it, without the form of the response.
    case likely
    /// A document describes it completely, or a product showed its mark.
    case certain

    /// In the order of the cases.
    package static func < (left: Certainty, right: Certainty) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// How certain it is.
  package var certainty: Certainty
  /// Where it was found: `/openapi.json`.
  package var place: String
  /// What was found: `signs in with JSON at /api/token/, like simplejwt`.
  package var what: String
  /// The evidence: `POST /api/token/ takes username and password`.
  package var why: String
  /// The profile keys that it leads to; empty when authctl cannot sign in that way.
  package var settings: [(key: String, value: JSONValue)] = []

  /// The issuer of the authorization server that signs in; nil if another way was found.
  package var issuer: String? { settings.first { $0.key == "oauth.issuer" }?.value.text }

  /// The preset that it leads to.
  package var preset: String? { settings.first { $0.key == "preset" }?.value.text }

  init(_ certainty: Certainty, at place: String, _ what: String, why: String) {
    self.certainty = certainty
    self.place = place
    self.what = what
    self.why = why
  }
}

/// The result of detection as a whole.
package struct Detection {
  /// The API's base URL as it was requested.
  package var url: String
  /// Each request with its result, in order: `GET /openapi.json: 404`.
  package var tried: [String] = []
  /// The findings, the most certain first.
  package var findings: [Finding] = []
  /// The operations that the API's description has.
  package var paths: APIPaths?

  /// The most certain finding that a profile can be made from.
  package var best: Finding? { findings.first { !$0.settings.isEmpty } }
}
