/// One request of a recipe: `[login]`, `[register]`, `[refresh]`, `[logout]` or `[whoami]`.
public struct Call: Sendable {
  /// What the Authorization header of the call is made of.
  public enum Authorization: String, Sendable, CaseIterable {
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
  public enum Encoding: String, Sendable, CaseIterable {
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
  public indirect enum Body: Sendable {
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
  public struct Field: Sendable {
    var name: String
    var value: Body
    init(name: String, value: Body) {
      self.name = name
      self.value = value
    }
  }

  /// A query parameter or a header.
  public struct Pair: Sendable {
    /// The parameter's or header's name.
    public var name: String
    /// What it holds.
    public var value: Template
    init(name: String, value: Template) {
      self.name = name
      self.value = value
    }
  }

  /// The method (RFC 9110, section 9).
  public var method = "POST"
  /// A path, appended to the profile's `url`, or an absolute URL.
  public var path: Template
  /// What the Authorization header is made of.
  public var authorization = Authorization.none
  var encoding = Encoding.json
  var query: [Pair] = []
  var headers: [Pair] = []
  var body: Body?
  /// Whether placeholders of secrets may stand in path and query.
  public var secretsInURL = false

  init(path: Template) { self.path = path }
}

/// Where an answer keeps a value.
public enum Place: Sendable {
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
public struct TimePlace: Sendable {
  /// How the time is written.
  public enum Form: Sendable {
    /// Seconds, or, for `expires_at`, also a date in text (contract, section 5).
    case plain
    /// `ms:`, milliseconds.
    case milliseconds
    /// `jwt:`, a pointer into the payload of the access token (RFC 7519).
    case tokenPayload
  }
  var form: Form
  var place: Place
  init(form: Form, place: Place) {
    self.form = form
    self.place = place
  }
}

/// A further value of an answer: the session keeps it as `{session.NAME}`, or the next request
/// takes it as `{taken.NAME}`.
public struct Kept: Sendable {
  var name: String
  var place: Place
  init(name: String, place: Place) {
    self.name = name
    self.place = place
  }
}

/// What an answer must hold: a value at a place, or that very text there.
public struct Condition: Sendable {
  var place: Place
  /// None: any value but null, false and the empty text.
  var text: String?
  init(place: Place, text: String?) {
    self.place = place
    self.text = text
  }
}

/// The table `[otp]`: the answer to a sign-in that asks for a one-time code.
public struct SecondFactor: Sendable {
  /// The statuses of such an answer.
  var statuses: [Int]
  /// Any one of them holds; none: the status says it.
  var conditions: [Condition]
  /// Values of that answer, for the second request: `{taken.NAME}`.
  var take: [Kept]
  /// The request that sends the code; none: the sign-in is sent again, with it.
  var call: Call?
  init(statuses: [Int], conditions: [Condition], take: [Kept], call: Call?) {
    self.statuses = statuses
    self.conditions = conditions
    self.take = take
    self.call = call
  }
}

/// The table `[prefetch]`: a request made before every one that names a value of its answer.
public struct Prefetch: Sendable {
  var call: Call
  /// Values of the answer, `{taken.NAME}`.
  var take: [Kept]
  init(call: Call, take: [Kept]) {
    self.call = call
    self.take = take
  }

  /// Whether a request with these placeholders needs it.
  func isNeeded(for names: [Template.Name]) -> Bool {
    names.contains { name in take.contains { Template.Name.taken($0.name) == name } }
  }
}

/// The table `[session]`: where answers keep things and what their statuses mean.
public struct SessionRecipe: Sendable {
  var accessToken: [Place] = []
  var refreshToken: [Place] = []
  var expiresIn: [TimePlace] = []
  var expiresAt: [TimePlace] = []
  var account: [Place] = []
  var message: [Place] = []
  var success: Place?
  /// Statuses of a sign-in that mean "wrong credentials".
  public var refused: [Int] = []
  /// Statuses of a protected request that may mean "token dead".
  public var expired: [Int] = []
  /// With it a status of `expired` other than 401 counts only where one of these holds.
  var expiredWhen: [Condition] = []
  var keep: [Kept] = []
  var renewOnEveryResponse = false
  /// The stored credential is the password itself; there is no token (preset `http-basic`).
  public var keepPassword = false
  init() {}
}

/// The table `[request]`: how a protected request carries the session.
public struct RequestRecipe: Sendable {
  /// The headers of every protected request.
  public var headers: [Call.Pair] = []
  /// Further headers of requests that may change something: all but GET, HEAD and OPTIONS.
  var writeHeaders: [Call.Pair] = []
  /// Keep Set-Cookie beside the token and send the cookies back.
  public var cookies = false
  init() {}

  /// The names of headers in which a value of the session goes (rule B2).
  public var carriers: [String] {
    (headers + writeHeaders).filter { !$0.value.names.isEmpty }.map(\.name)
  }
}

/// The table `[network]`.
public struct NetworkRecipe: Sendable {
  /// Further origins that may receive the access token and cookies.
  public var allowOrigins: [String] = []
  /// Further origins that may receive passwords, codes and refresh tokens.
  public var signInOrigins: [String] = []
  /// Cleartext http to a host that is not loopback.
  public var allowHTTP = false
  /// Absolute paths: relative ones in the file start at its folder.
  public var caFile: String?
  var clientCertificate: String?
  var clientKey: String?
  var proxy: String?
  /// Seconds.
  public var connectTimeout: Double = 10
  /// Seconds without a byte.
  public var idleTimeout: Double = 60
  init() {}
}

/// How an API wants to be spoken to.
public struct Recipe: Sendable {
  /// How to sign in; none: tokens are got elsewhere.
  public var login: Call?
  /// How to make an account; none: the API cannot.
  public var register: Call?
  /// How the API asks for a one-time code; none: it does not, or [login] sends one at once.
  public var secondFactor: SecondFactor?
  /// What is fetched before requests that want it, a CSRF token as a rule.
  var prefetch: Prefetch?
  /// How to renew a session; none: only a new sign-in does.
  public var refresh: Call?
  /// How to end a session at the server; none: the API cannot.
  public var logout: Call?
  /// How to ask who the session is; none: the API does not tell.
  public var whoami: Call?
  /// Where answers keep things.
  public var session = SessionRecipe()
  /// How a protected request carries the session.
  public var request = RequestRecipe()
  /// Where an answer says what its next page is.
  public var nextPage = NextPage.usual
  var network = NetworkRecipe()
  /// The profile has a table `[oauth]`, which this version reads but cannot use yet.
  public var usesOAuth = false
  init() {}
}

/// One API: where it is and how it wants to be spoken to.
public struct Profile: Sendable {
  /// The profile's name; for a profile read in place its real path.
  public var name: String
  /// The file it came from; none for the one that `AUTHCTL_URL` makes.
  public var file: String?
  /// The base URL, as the file has it.
  public var url: String
  /// The preset's name.
  public var preset: String?
  /// The default account.
  public var account: String?
  /// How the API wants to be spoken to.
  public var recipe: Recipe
  /// Every value in force with where it comes from, in the order of the contract.
  public var values: [EffectiveValue]
  /// Whether it is new and in no file yet: it may never be kept.
  public var isDraft = false

  init(
    name: String, file: String?, url: String, preset: String?, account: String?, recipe: Recipe,
    values: [EffectiveValue]
  ) {
    self.name = name
    self.file = file
    self.url = url
    self.preset = preset
    self.account = account
    self.recipe = recipe
    self.values = values
  }
}

extension Profile {
  /// Headers of an answer in which the recipe finds a secret.
  public var secretAnswerHeaders: [String] {
    let session = recipe.session
    let taken = (recipe.secondFactor?.take ?? []) + (recipe.prefetch?.take ?? [])
    let kept = (session.keep + taken).map(\.place)
    return (session.accessToken + session.refreshToken + kept).compactMap {
      if case .header(let name) = $0 { name } else { nil }
    }
  }

  /// Headers of an answer whose values are not shown unasked, in lower case (rule B3).
  public var maskedHeaders: Set<String> {
    let cookies = recipe.request.cookies ? ["set-cookie"] : []
    return Set(
      (recipe.request.carriers + secretAnswerHeaders + cookies).map(\.asciiLowercased))
  }

  /// Whether the recipe sends a credential in the header `name` (rule B2).
  public func carriesCredential(in name: String) -> Bool {
    let name = name.asciiLowercased
    return recipe.request.carriers.contains { $0.asciiLowercased == name }
      || name == "cookie" && recipe.request.cookies
  }

  /// Headers of a request in which the recipe puts a value.
  var filledHeaders: [String] {
    let calls = calls.flatMap(\.call.headers)
    return recipe.request.carriers + calls.filter { !$0.value.names.isEmpty }.map(\.name)
  }

  /// Every call of the recipe with the table that it stands in.
  var calls: [(table: String, call: Call)] {
    let all: [(String, Call?)] = [
      ("login", recipe.login), ("register", recipe.register), ("otp", recipe.secondFactor?.call),
      ("prefetch", recipe.prefetch?.call), ("refresh", recipe.refresh), ("logout", recipe.logout),
      ("whoami", recipe.whoami),
    ]
    return all.compactMap { table, call in call.map { (table, $0) } }
  }
}

/// A value of the effective profile, for `profile show`.
public struct EffectiveValue: Sendable {
  /// Where a value comes from.
  public enum Source: Sendable, Equatable {
    /// authctl's own default.
    case builtIn
    /// The preset of this name.
    case preset(String)
    /// The profile's file.
    case file
  }
  /// The dotted key: `login.path`.
  public var key: String
  /// The value in force.
  public var value: JSONValue
  /// Where it comes from.
  public var source: Source
  init(key: String, value: JSONValue, source: Source) {
    self.key = key
    self.value = value
    self.source = source
  }
}
