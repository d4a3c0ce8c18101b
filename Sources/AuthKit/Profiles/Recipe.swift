/// One request of a recipe: `[login]`, `[register]`, `[otp]`, `[refresh]`, `[logout]` and so on.
package struct RecipeRequest: Sendable {
  /// The credential in the call's Authorization header.
  package enum Authorization: String, Sendable, CaseIterable {
    /// No Authorization header.
    case none
    /// `user:password` (RFC 7617).
    case basic
    /// The application's key (RFC 7617).
    case app
    /// The headers of `[request]`, as in a protected request.
    case access
    /// `Bearer` and the refresh token.
    case refresh
  }

  /// The encoding of the body.
  package enum Encoding: String, Sendable, CaseIterable {
    /// `application/json` (RFC 8259).
    case json
    /// `application/x-www-form-urlencoded` (RFC 6749, appendix B).
    case form
    /// `multipart/form-data` (RFC 7578).
    case multipart
    /// No body.
    case none
  }

  /// A body: names and values; texts in it are templates.
  package indirect enum Body: Sendable {
    /// A text, filled in when the call is made.
    case template(Template)
    /// A number, true, false or null, as written.
    case literal(JSONValue)
    /// One form field for each word of a value, which may have none.
    case words(of: Template.Name)
    /// A JSON array (RFC 8259, section 5).
    case array([Body])
    /// A JSON object (RFC 8259, section 4).
    case object([Field])
  }

  /// One member of a body.
  package struct Field: Sendable {
    var name: String
    var value: Body
    /// The member is sent only if this has a value.
    var condition: Template.Name?
    init(name: String, value: Body, if condition: Template.Name? = nil) {
      self.name = name
      self.value = value
      self.condition = condition
    }
  }

  /// A query parameter or a header.
  package struct Pair: Sendable {
    package var name: String
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
  /// The credential in the Authorization header.
  package var authorization = Authorization.none
  var encoding = Encoding.json
  /// Whether the client certificate is shown, also to another server than the API's.
  var showsCertificate = false
  var query: [Pair] = []
  var headers: [Pair] = []
  var body: Body?
  /// Whether the path and query may contain placeholders of secrets.
  package var secretsInURL = false

  /// Whether the path is one placeholder whose value is the whole URL, which the session fixed.
  package var isEndpoint = false

  /// Whether it asks for tokens, which are bound to the session's key if it has one (RFC 9449,
  /// section 5).
  var asksForTokens = false

  init(path: Template) { self.path = path }

  /// A request to the URL that the session keeps as `name`.
  init(endpoint name: Template.Name) {
    path = Template(pieces: [.value(name)], optionalNames: [])
    isEndpoint = true
  }
}

/// The place of a value in an answer.
package enum ValueSource: Sendable {
  /// A JSON Pointer into the body (RFC 6901).
  case pointer(String)
  /// `header:NAME`, a response header; its name in any ASCII case (RFC 9110, section 5.1).
  case header(String)
  /// `cookie:NAME`, the value of a Set-Cookie header (RFC 6265, section 4.1).
  case cookie(String)
  /// The whole body, plain text.
  case body
  /// A claim of the JSON Web Token at a JSON Pointer (RFC 7519, section 4), also by a pointer.
  case claim(of: String, String)
}

/// The place and form of a time in an answer.
package struct TimeSource: Sendable {
  /// The form of the time.
  package enum Form: Sendable {
    /// Seconds or, for `expires_at`, also a date as text (design 5).
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

/// A condition on an answer: any value at a place, or exactly this text.
package struct Condition: Sendable {
  var place: ValueSource
  /// If nil, any value except null, false and the empty text.
  var text: String?
  init(place: ValueSource, text: String?) {
    self.place = place
    self.text = text
  }
}

/// The table `[otp]`: the answer to a sign-in that asks for a one-time code.
package struct SecondFactor: Sendable {
  /// The statuses of that answer.
  var statuses: [Int]
  /// One of them must hold; if empty, the status is enough.
  var conditions: [Condition]
  /// Values of that answer for the second request, `{taken.NAME}`.
  var take: [Extraction]
  /// The request that sends the code; if nil, the sign-in is sent again with the code.
  var call: RecipeRequest?
  init(statuses: [Int], conditions: [Condition], take: [Extraction], call: RecipeRequest?) {
    self.statuses = statuses
    self.conditions = conditions
    self.take = take
    self.call = call
  }
}

/// The table `[prefetch]`: a request sent before each request that uses a value of its answer.
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

/// What the error codes in the answers of a server mean (RFC 6749, section 5.2).
package struct ErrorCodes: Sendable {
  /// The meaning of one code.
  package enum Meaning: Sendable {
    /// The credential is refused; the renewal of a session has come to its end.
    case refused
    /// The client is refused; the session may still be good.
    case clientRefused
    /// The request is wrong; the advice says which key of the profile to look at.
    case mistake(String?)
    /// The server fails for the moment.
    case temporary
    /// The time for it ran out.
    case late
  }

  /// The place of the code.
  let place: ValueSource
  /// The known codes.
  var meanings: [String: Meaning]
}

/// The table `[session]`: where answers keep values and what their statuses mean.
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
  /// Statuses of a protected request that can mean "token expired".
  package var expired: [Int] = []
  /// If not empty, a status of `expired` other than 401 counts only if one of these holds.
  var expiredWhen: [Condition] = []
  var keep: [Extraction] = []
  /// Values that the session keeps too, but which are no secrets.
  var notes: [Extraction] = []
  /// The user's identifier, which a renewal must not change.
  var subject: ValueSource?
  /// The type of the access token (RFC 6749, section 7.1); one that is not Bearer is not supported.
  var tokenType: ValueSource?
  /// The error codes of the server; nil if only statuses count.
  var errors: ErrorCodes?
  var renewOnEveryResponse = false
  /// The stored credential is the password itself; there is no token (preset `http-basic`).
  package var keepPassword = false
  init() {}
}

/// The table `[request]`: how a protected request carries the session.
package struct RequestRecipe: Sendable {
  /// The headers of every protected request.
  package var headers: [RecipeRequest.Pair] = []
  /// Further headers of requests that can change data: all except GET, HEAD and OPTIONS.
  var writeHeaders: [RecipeRequest.Pair] = []
  /// Parameters added to the URL of every protected request.
  var query: [RecipeRequest.Pair] = []
  /// Whether to keep Set-Cookie with the token and send the cookies back.
  package var cookies = false
  init() {}

  /// Whether the token goes into the header Authorization, as most tokens do and keys do not.
  package var sendsBearer: Bool {
    headers.contains {
      $0.name.equalsIgnoringCase("Authorization") && $0.value.names.contains(.accessToken)
    }
  }

  /// The names of headers that carry a value of the session (rule B2).
  package var carriers: [String] {
    (headers + writeHeaders).filter { !$0.value.names.isEmpty }.map(\.name)
  }

  /// The names of URL parameters that carry a value of the session (rule B2).
  package var carryingParameters: [String] {
    query.filter { !$0.value.names.isEmpty }.map(\.name)
  }
}

/// How to sign in to an API and call it.
package struct Recipe: Sendable {
  /// The sign-in; nil if tokens come from elsewhere.
  package var login: RecipeRequest?
  /// How to create an account; nil if the API has no such call.
  package var register: RecipeRequest?
  /// How the API asks for a one-time code; nil if it does not, or if [login] sends one at once.
  package var secondFactor: SecondFactor?
  /// The request before those that need a value from it, usually a CSRF token.
  var prefetch: Prefetch?
  /// How to renew a session; nil if only a new sign-in does.
  package var refresh: RecipeRequest?
  /// How to renew a session with what its kept command prints; nil if the sign-in does.
  var again: RecipeRequest?
  /// How to end a session on the server; nil if the API has no such call.
  package var logout: RecipeRequest?
  /// The request after it, for what `logout` left valid.
  var secondLogout: RecipeRequest?
  /// How to end the registration of the client that the session belongs to (RFC 7592, section 2.3).
  package var unregister: RecipeRequest?
  /// How to ask the server about the access token (RFC 7662).
  package var introspection: RecipeRequest?
  /// How to get the session's account; nil if the API has no such call.
  package var whoami: RecipeRequest?
  /// Where answers keep values.
  package var session = SessionRecipe()
  /// How a protected request carries the session.
  package var request = RequestRecipe()
  /// The place of the next page in an answer.
  package var nextPage = NextPage.usual
  package var network = NetworkRecipe()
  /// The authorization server that signs in; nil if the API does.
  package var oauth: OAuthSettings?
  init() {}
}
