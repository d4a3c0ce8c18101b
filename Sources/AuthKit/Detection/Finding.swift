/// One thing that a look at an API showed.
public struct Finding {
  /// How sure it is.
  public enum Certainty: String, Sendable, CaseIterable, Comparable {
    /// It may be so.
    case possible
    /// A document says so, without the answer's form.
    case likely
    /// A document says it whole, or a product showed its mark.
    case certain

    /// In the order of the cases.
    public static func < (left: Certainty, right: Certainty) -> Bool {
      left.rank < right.rank
    }

    private var rank: Int { Self.allCases.firstIndex(of: self) ?? 0 }
  }

  /// How sure it is.
  public var certainty: Certainty
  /// Where it shows: `/openapi.json`.
  public var place: String
  /// What was found: `signs in with JSON at /api/token/, like simplejwt`.
  public var what: String
  /// By what it shows: `POST /api/token/ takes username and password`.
  public var why: String
  /// The profile's keys that it leads to; none, when this program cannot sign in by it.
  public var settings: [(key: String, value: JSONValue)] = []

  /// The preset that it leads to.
  public var preset: String? { settings.first { $0.key == "preset" }?.value.text }

  init(_ certainty: Certainty, at place: String, _ what: String, why: String) {
    self.certainty = certainty
    self.place = place
    self.what = what
    self.why = why
  }
}

/// What a look at an API came to.
public struct Detection {
  /// The API's base as it was asked.
  public var url: String
  /// Each request with what came of it, in order: `GET /openapi.json: 404`.
  public var tried: [String] = []
  /// What was found, the surest first.
  public var findings: [Finding] = []

  /// The surest finding that a profile can be made of.
  public var best: Finding? { findings.first { !$0.settings.isEmpty } }
}
