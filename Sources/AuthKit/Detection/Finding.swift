/// One thing that a look at an API showed.
package struct Finding {
  /// How sure it is.
  package enum Certainty: String, Sendable, CaseIterable, Comparable {
    /// It may be so.
    case possible
    /// A document says so, without the answer's form.
    case likely
    /// A document says it whole, or a product showed its mark.
    case certain

    /// In the order of the cases.
    package static func < (left: Certainty, right: Certainty) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// How sure it is.
  package var certainty: Certainty
  /// Where it shows: `/openapi.json`.
  package var place: String
  /// What was found: `signs in with JSON at /api/token/, like simplejwt`.
  package var what: String
  /// By what it shows: `POST /api/token/ takes username and password`.
  package var why: String
  /// The profile's keys that it leads to; none, when this program cannot sign in by it.
  package var settings: [(key: String, value: JSONValue)] = []

  /// It is OAuth 2.0, which this version does not do.
  var isOAuth = false

  /// The preset that it leads to.
  package var preset: String? { settings.first { $0.key == "preset" }?.value.text }

  init(_ certainty: Certainty, at place: String, _ what: String, why: String) {
    self.certainty = certainty
    self.place = place
    self.what = what
    self.why = why
  }
}

/// What a look at an API came to.
package struct Detection {
  /// The API's base as it was asked.
  package var url: String
  /// Each request with what came of it, in order: `GET /openapi.json: 404`.
  package var tried: [String] = []
  /// What was found, the surest first.
  package var findings: [Finding] = []

  /// The surest finding that a profile can be made of.
  package var best: Finding? { findings.first { !$0.settings.isEmpty } }
}
