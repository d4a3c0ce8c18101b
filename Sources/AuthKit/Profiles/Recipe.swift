/// One request of a recipe: `[login]`, `[register]`, `[refresh]`, `[logout]` or `[whoami]`.
package struct RecipeRequest: Sendable {
  /// What the Authorization header of the call is made of.
  package enum Authorization: String, Sendable, CaseIterable {
    /// No Authorization header.
    case none
    /// `user:password` by RFC 7617.
    case basic
    /// The application's key, by RFC 7617.
    case app
    /// As a protected request carries it: the headers of `[request]`.
    case access
    /// `Bearer` and the refresh token.
    case refresh
  }

  /// How the body is written.
  package enum Encoding: String, Sendable, CaseIterable {
    /// `application/json` (RFC 8259).
    case json
    /// `application/x-www-form-urlencoded` (RFC 6749, appendix B).
    case form
    /// `multipart/form-data` (RFC 7578).
    case multipart
    /// Without a body.
    case none
  }

  /// A body: names and values; texts in it are templates.
  package indirect enum Body: Sendable {
    /// A text, filled in when the call is made.
    case template(Template)
    /// Numbers, true, false and null as they stand.
    case literal(JSONValue)
    /// A JSON array (RFC 8259, section 5).
    case array([Body])
    /// A JSON object (RFC 8259, section 4).
    case object([Field])
  }

  /// One member of a body.
  package struct Field: Sendable {
    var name: String
    var value: Body
    init(name: String, value: Body) {
      self.name = name
      self.value = value
    }
  }

  /// A query parameter or a header.
  package struct Pair: Sendable {
    /// The parameter's or header's name.
    package var name: String
    /// What it holds.
    package var value: Template
    init(name: String, value: Template) {
      self.name = name
      self.value = value
    }
  }

  /// The method (RFC 9110, section 9).
  package var method = "POST"
  /// A path, appended to the profile's `url`, or an absolute URL.
  package var path: Template
  /// What the Authorization header is made of.
  package var authorization = Authorization.none
  var encoding = Encoding.json
  var query: [Pair] = []
  var headers: [Pair] = []
  var body: Body?
  /// Whether placeholders of secrets may stand in path and query.
  package var secretsInURL = false

  init(path: Template) { self.path = path }
}

/// Where an answer keeps a value.
package enum ValueSource: Sendable {
  /// A JSON Pointer into the body (RFC 6901).
  case pointer(String)
  /// `header:NAME`, a response header; its name in any ASCII case (RFC 9110, section 5.1).
  case header(String)
  /// `cookie:NAME`, the value of a Set-Cookie header (RFC 6265, section 4.1).
  case cookie(String)
  /// The whole body, plain text.
  case body
}

/// Where an answer tells a time, and in what form.
package struct TimeSource: Sendable {
  /// How the time is written.
  package enum Form: Sendable {
    /// Seconds, or, for `expires_at`, also a date in text (design 5).
    case plain
    /// `ms:`, milliseconds.
    case milliseconds
    /// `jwt:`, a pointer into the payload of the access token (RFC 7519).
    case tokenPayload
  }
  var form: Form
  var place: ValueSource
  init(form: Form, place: ValueSource) {
    self.form = form
    self.place = place
  }
}

/// A further value of an answer: the session keeps it as `{session.NAME}`, or the next request
/// takes it as `{taken.NAME}`.
package struct Extraction: Sendable {
  var name: String
  var place: ValueSource
  init(name: String, place: ValueSource) {
    self.name = name
    self.place = place
  }
}

/// What an answer must hold: a value at a place, or that very text there.
package struct Condition: Sendable {
  var place: ValueSource
  /// None: any value but null, false and the empty text.
  var text: String?
  init(place: ValueSource, text: String?) {
    self.place = place
    self.text = text
  }
}

/// The table `[otp]`: the answer to a sign-in that asks for a one-time code.
package struct SecondFactor: Sendable {
  /// The statuses of such an answer.
  var statuses: [Int]
  /// Any one of them holds; none: the status says it.
  var conditions: [Condition]
  /// Values of that answer, for the second request: `{taken.NAME}`.
  var take: [Extraction]
  /// The request that sends the code; none: the sign-in is sent again, with it.
  var call: RecipeRequest?
  init(statuses: [Int], conditions: [Condition], take: [Extraction], call: RecipeRequest?) {
    self.statuses = statuses
    self.conditions = conditions
    self.take = take
    self.call = call
  }
}

/// The table `[prefetch]`: a request made before every one that names a value of its answer.
package struct Prefetch: Sendable {
  var call: RecipeRequest
  /// Values of the answer, `{taken.NAME}`.
  var take: [Extraction]
  init(call: RecipeRequest, take: [Extraction]) {
    self.call = call
    self.take = take
  }

  /// Whether a request with these placeholders needs it.
  func isNeeded(for names: [Template.Name]) -> Bool {
    names.contains { name in take.contains { Template.Name.taken($0.name) == name } }
  }
}

/// The table `[session]`: where answers keep things and what their statuses mean.
package struct SessionRecipe: Sendable {
  var accessToken: [ValueSource] = []
  var refreshToken: [ValueSource] = []
  var expiresIn: [TimeSource] = []
  var expiresAt: [TimeSource] = []
  var account: [ValueSource] = []
  var message: [ValueSource] = []
  var success: ValueSource?
  /// Statuses of a sign-in that mean "wrong credentials".
  package var refused: [Int] = []
  /// Statuses of a protected request that may mean "token dead".
  package var expired: [Int] = []
  /// With it a status of `expired` other than 401 counts only where one of these holds.
  var expiredWhen: [Condition] = []
  var keep: [Extraction] = []
  var renewOnEveryResponse = false
  /// The stored credential is the password itself; there is no token (preset `http-basic`).
  package var keepPassword = false
  init() {}
}

/// The table `[request]`: how a protected request carries the session.
package struct RequestRecipe: Sendable {
  /// The headers of every protected request.
  package var headers: [RecipeRequest.Pair] = []
  /// Further headers of requests that may change something: all but GET, HEAD and OPTIONS.
  var writeHeaders: [RecipeRequest.Pair] = []
  /// Keep Set-Cookie beside the token and send the cookies back.
  package var cookies = false
  init() {}

  /// The names of headers in which a value of the session goes (rule B2).
  package var carriers: [String] {
    (headers + writeHeaders).filter { !$0.value.names.isEmpty }.map(\.name)
  }
}

/// How an API wants to be spoken to.
package struct Recipe: Sendable {
  /// How to sign in; none: tokens are got elsewhere.
  package var login: RecipeRequest?
  /// How to make an account; none: the API cannot.
  package var register: RecipeRequest?
  /// How the API asks for a one-time code; none: it does not, or [login] sends one at once.
  package var secondFactor: SecondFactor?
  /// What is fetched before requests that want it, a CSRF token as a rule.
  var prefetch: Prefetch?
  /// How to renew a session; none: only a new sign-in does.
  package var refresh: RecipeRequest?
  /// How to end a session at the server; none: the API cannot.
  package var logout: RecipeRequest?
  /// How to ask who the session is; none: the API does not tell.
  package var whoami: RecipeRequest?
  /// Where answers keep things.
  package var session = SessionRecipe()
  /// How a protected request carries the session.
  package var request = RequestRecipe()
  /// Where an answer says what its next page is.
  package var nextPage = NextPage.usual
  package var network = NetworkRecipe()
  /// The profile has a table `[oauth]`, which this version reads but cannot use yet.
  package var usesOAuth = false
  init() {}
}
