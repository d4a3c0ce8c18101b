import Testing

@testable import AuthKit

private let base = "url = \"https://api.shop.example\"\n"

private func failure(_ text: String) -> Failure? {
  do {
    _ = try ProfileReader.read(text: base + text, name: "shop", file: nil, label: "shop.toml")
    return nil
  } catch {
    return error
  }
}

/// A recipe text that is refused; the text begins on line 2 of the file.
struct WrongRecipe: Sendable, CustomTestStringConvertible {
  var text: String
  /// Line, column and key of the message.
  var place: String
  var says: String
  /// A part of the hint; nil if the message itself says what is required.
  var mend: String?

  init(_ text: String, _ place: String, _ says: String, mend: String? = nil) {
    (self.text, self.place, self.says, self.mend) = (text, place, says, mend)
  }

  var testDescription: String { "\(place): \(says)" }

  func check() {
    let failure = failure(text)
    #expect(failure?.kind == .usage, "\(text)")
    let message = failure?.message ?? "accepted"
    #expect(message.utf8.starts(with: "shop.toml:\(place): ".utf8), "\(message)")
    #expect(message.contains(says), "\(message)")
    if let mend {
      #expect(failure?.hint?.contains(mend) == true, "\(message)\n\(failure?.hint ?? "no hint")")
    }
  }
}

/// Mistakes in recipes, reported with file, line, column and fix.
@Suite struct RecipeMistakeTests {
  // MARK: Placeholders without a value

  static let unfilled = [
    WrongRecipe(
      "[login]\npath = \"/{nope}\"", "3:1: login.path", "unknown placeholder {nope}",
      mend: "{username}"),
    WrongRecipe(
      "[login]\npath = \"/x\"\nbody = { a = { b = [\"{usrname}\"] } }", "4:10: login.body.a",
      "unknown placeholder {usrname}", mend: "{username}"),
    WrongRecipe(
      "[login]\npath = \"/x\"\n  headers = { A = \"{username\" }", "4:15: login.headers.A",
      "not closed", mend: "{{"),
    WrongRecipe(
      "[login]\npath = \"/{vars.tenant}/x\"", "3:1: login.path", "{vars.tenant} has no value",
      mend: "--set vars.tenant=VALUE"),
    WrongRecipe(
      "[login]\npath = \"/x\"\nquery = { a = \"1\", t = \"{vars.t}\" }", "4:20: login.query.t",
      "{vars.t} has no value", mend: "t = \"VALUE\" to [vars]"),
    WrongRecipe(
      "[request]\nheaders = { X-T = \"{vars.t}\" }", "3:13: request.headers.X-T",
      "{vars.t} has no value", mend: "--set vars.t=VALUE"),
    WrongRecipe(
      "[request]\nwrite_headers = { X-T = \"{vars.t}\" }", "3:19: request.write_headers.X-T",
      "{vars.t} has no value", mend: "--set vars.t=VALUE"),
    WrongRecipe(
      "[vars]\ntenant = \"x\"\n[login]\npath = \"/x\"\nbody = { t = \"{vars.tenat}\" }",
      "6:10: login.body.t", "{vars.tenat} has no value", mend: "vars.tenat"),
    WrongRecipe(
      "[request]\nheaders = { uid = \"{session.uid}\" }", "3:13: request.headers.uid",
      "session.keep has no uid", mend: "keep = { uid = \"header:NAME\" }"),
    WrongRecipe(
      "[session]\nkeep = { client = \"header:client\" }\n[logout]\npath = \"/{session.clent}\"",
      "5:1: logout.path", "session.keep has no clent", mend: "did you mean {session.client}?"),
    WrongRecipe(
      "[login]\npath = \"/x\"\nbody = { a = \"{taken.csrf}\" }", "4:10: login.body.a",
      "{taken.csrf} has no value", mend: "add take = { csrf = \"/POINTER\" } to [prefetch]"),
    WrongRecipe(
      "[request]\nwrite_headers = { X = \"{taken.csrf}\" }", "3:19: request.write_headers.X",
      "{taken.csrf} has no value", mend: "[prefetch]"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\ntake = { csrf = \"/t\" }\n[login]\npath = \"/x\"\n"
        + "headers = { X = \"{taken.crsf}\" }", "7:13: login.headers.X",
      "{taken.crsf} has no value", mend: "did you mean {taken.csrf}?"),
  ]

  @Test(arguments: unfilled)
  func placeholderThatNothingFills(_ wrong: WrongRecipe) { wrong.check() }

  // MARK: {taken.NAME} in the wrong table

  private static let otp = """
    [login]
    path = "/in"
    body = { p = "{password}" }
    [otp]
    status = [401]
    path = "/otp"
    take = { ticket = "/t" }
    body = { t = "{taken.ticket}", o = "{otp}" }

    """

  @Test(arguments: [
    ("[refresh]\npath = \"/r\"\nbody = { t = \"{taken.ticket}\" }", "12:10: refresh.body.t"),
    ("[logout]\npath = \"/r\"\nheaders = { t = \"{taken.ticket}\" }", "12:13: logout.headers.t"),
    ("[whoami]\npath = \"/r\"\nheaders = { t = \"{taken.ticket}\" }", "12:13: whoami.headers.t"),
    ("[register]\npath = \"/r\"\nbody = { t = \"{taken.ticket}\" }", "12:10: register.body.t"),
    ("[request]\nheaders = { t = \"{taken.ticket}\" }", "11:13: request.headers.t"),
    ("[request]\nwrite_headers = { t = \"{taken.ticket}\" }", "11:19: request.write_headers.t"),
  ])
  func takenByTheCodeServesTheCodeAlone(text: String, place: String) {
    WrongRecipe(Self.otp + text, place, "{taken.ticket} has no value").check()
    let hint = failure(Self.otp + text)?.hint ?? ""
    #expect(!hint.isEmpty && hint != "did you mean {taken.ticket}?", "that is there: \(hint)")
    #expect(failure(Self.otp) == nil)
  }

  @Test func theSignInCannotTakeWhatItsOwnAnswerGives() {
    let text = Self.otp.replacing("{ p = \"{password}\" }", with: "{ p = \"{taken.ticket}\" }")
    WrongRecipe(text, "4:10: login.body.p", "{taken.ticket} has no value").check()
  }

  @Test(arguments: [
    ("headers = { X = \"{taken.csrf}\" }", "5:13: prefetch.headers.X"),
    ("body = { x = \"{taken.csrf}\" }", "5:10: prefetch.body.x"),
  ])
  func prefetchCannotTakeFromItself(text: String, place: String) {
    let whole = "[prefetch]\npath = \"/c\"\ntake = { csrf = \"/t\" }\n" + text
    WrongRecipe(whole, place, "{taken.csrf}").check()
    #expect(
      failure(whole)?.hint?.contains("take = { csrf") != true, "it is there, and does not help")
  }

  @Test(arguments: [
    "path = \"/x/{taken.csrf}\"", "path = \"/x\"\nquery = { a = \"{taken.csrf}\" }",
  ])
  func takenValuesStayOutOfURLs(text: String) {
    let prefetch = "[prefetch]\npath = \"/c\"\ntake = { csrf = \"/t\" }\n[login]\n"
    let failure = failure(prefetch + text)
    #expect(failure?.message.contains("{taken.csrf} would be in URLs") == true)
    #expect(failure?.hint?.contains("secrets_in_url = true") == true)
    #expect(failure?.message.utf8.starts(with: "shop.toml:".utf8) == true)
  }

  // MARK: [prefetch] that uses the session

  struct Carrier: Sendable {
    var prefetch: String
    /// The table that uses the taken value, and where the mistake is reported.
    var user: String
    var place: String
  }

  static let carriers: [Carrier] = [
    "authorization = \"access\"", "headers = { A = \"Bearer {access_token}\" }",
    "headers = { A = \"{session.uid}\" }", "body = { t = \"{access_token}\" }",
    "headers = { A = \"Basic {basic:username:access_token}\" }",
  ].flatMap { prefetch in
    [
      ("[login]\npath = \"/x\"\nheaders = { X = \"{taken.csrf}\" }", "10:13: login.headers.X"),
      ("[login]\npath = \"/x\"\nbody = { x = \"{taken.csrf}\" }", "10:10: login.body.x"),
      ("[register]\npath = \"/x\"\nbody = { x = \"{taken.csrf}\" }", "10:10: register.body.x"),
      ("[request]\n\nheaders = { X = \"{taken.csrf}\" }", "10:13: request.headers.X"),
    ].map { Carrier(prefetch: prefetch, user: $0.0, place: $0.1) }
  }

  @Test(arguments: carriers)
  func prefetchWithTheSessionServesNoRequestBeforeIt(_ carrier: Carrier) {
    let prefetch = """
      [session]
      keep = { uid = "header:uid" }
      [prefetch]
      path = "/c"
      take = { csrf = "/t" }
      \(carrier.prefetch)

      """
    WrongRecipe(prefetch + carrier.user, carrier.place, "[prefetch] carries the session").check()
    #expect(failure(prefetch + carrier.user)?.hint != nil, "a mend")
    // It may serve all later requests.
    let later = "[refresh]\npath = \"/r\"\nbody = { c = \"{taken.csrf}\" }\n"
    #expect(failure(prefetch + later) == nil)
  }

  static let wrongPrefetches = [
    WrongRecipe(
      "[prefetch]\npath = \"/c\"", "2:1: prefetch", "[prefetch] has no take",
      mend: "take = { csrf = \"/token\" }"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\ntake = {}", "2:1: prefetch", "[prefetch] has no take",
      mend: "take = "),
    WrongRecipe(
      "[prefetch]\ntake = { csrf = \"/t\" }", "2:1: prefetch", "[prefetch] has no path",
      mend: "path = \"/...\""),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\ntake = { \"a b\" = \"/t\" }", "4:10: prefetch.take.\"a b\"",
      "is not a valid name", mend: "letters"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\nauthorization = \"refresh\"\ntake = { a = \"/t\" }",
      "4:1: prefetch.authorization", "works only in [refresh] and [logout]"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\nauthorization = \"basic\"\ntake = { a = \"/t\" }",
      "4:1: prefetch.authorization", "works only in [login] and [register]"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\nheaders = { A = \"{refresh_token}\" }\ntake = { a = \"/t\" }",
      "4:13: prefetch.headers.A", "cannot be used in [prefetch]"),
    WrongRecipe(
      "[prefetch]\npath = \"/c\"\nbody = { A = \"{password}\" }\ntake = { a = \"/t\" }",
      "4:10: prefetch.body.A", "works only in [login] and [register]"),
    WrongRecipe("prefetch = \"/csrf\"", "2:1: prefetch", "must be a table", mend: "[prefetch]"),
  ]

  @Test(arguments: wrongPrefetches)
  func wrongPrefetch(_ wrong: WrongRecipe) { wrong.check() }

  // MARK: [otp]

  private static let login = "[login]\npath = \"/in\"\nbody = { o = \"{otp}\" }\n"

  static let wrongCodes = [
    WrongRecipe(
      login + "[otp]\nwhen = [\"/mfa\"]", "5:1: otp", "[otp] has no status",
      mend: "status = [401]"),
    WrongRecipe(
      login + "[otp]\npath = \"/otp\"\nbody = { o = \"{otp}\" }", "5:1: otp",
      "[otp] has no status", mend: "status = [401]"),
    WrongRecipe(
      "[login]\npath = \"/in\"\n[otp]\nstatus = [401]", "4:1: otp", "no request sends {otp}",
      mend: "use {otp} in [login]"),
    WrongRecipe(
      login + "[otp]\nstatus = [401]\npath = \"/otp\"\nbody = { a = \"1\" }", "5:1: otp",
      "no request sends {otp}", mend: "[otp]"),
    WrongRecipe(
      "[otp]\nstatus = [401]", "2:1: otp", "no request sends {otp}", mend: "[otp]"),
    WrongRecipe(login + "[otp]\nstatus = [99]", "6:1: otp.status", "HTTP statuses"),
    WrongRecipe(login + "[otp]\nstatus = [600]", "6:1: otp.status", "HTTP statuses"),
    WrongRecipe(login + "[otp]\nstatus = [\"401\"]", "6:1: otp.status", "HTTP statuses"),
    WrongRecipe(login + "[otp]\nstatus = [401.5]", "6:1: otp.status", "HTTP statuses"),
    WrongRecipe(login + "[otp]\nstatus = 401", "6:1: otp.status", "list of numbers"),
    WrongRecipe(
      login + "[otp]\nstatus = [401]\nwhem = [\"/x\"]", "7:1", "unknown key otp.whem",
      mend: "did you mean when?"),
    WrongRecipe(
      login + "[otp]\nstatus = [401]\npath = \"/o\"\nauthorization = \"access\"\n"
        + "body = { o = \"{otp}\" }", "8:1: otp.authorization", "[otp] does not have yet"),
    WrongRecipe(
      login + "[otp]\nstatus = [401]\npath = \"/o/{otp}\"", "7:1: otp.path", "would be in URLs",
      mend: "secrets_in_url = true"),
    // The first request has no code: a required header would stop it.
    WrongRecipe(
      "[login]\npath = \"/in\"\nheaders = { X-OTP = \"{otp}\" }\n[otp]\nstatus = [401]",
      "5:1: otp", "a header or parameter of [login] requires it", mend: "{otp?}"),
    WrongRecipe(
      "[login]\npath = \"/in\"\nheaders = { X-OTP = \"{basic:username:otp}\" }\n"
        + "body = { o = \"{otp}\" }\n[otp]\nstatus = [401]",
      "6:1: otp", "a header or parameter of [login] requires it"),
    WrongRecipe(
      "[whoami]\npath = \"/me\"\nheaders = { X-OTP = \"{otp?}\" }", "4:13: whoami.headers.X-OTP",
      "works only in [login] and [register]"),
    WrongRecipe(
      "[request]\nwrite_headers = { X-OTP = \"{otp?}\" }", "3:19: request.write_headers.X-OTP",
      "works only in [login] and [register]"),
  ]

  @Test(arguments: wrongCodes)
  func wrongCode(_ wrong: WrongRecipe) { wrong.check() }

  // MARK: [vars]

  static let wrongConstants: [WrongRecipe] =
    ["api_key", "token", "sessionToken", "COOKIE", "authorization", "clientSecret", "x-api-key"]
    .map { name in
      WrongRecipe(
        "[vars]\n\(name) = \"s3cr3t\"", "3:1: vars.\(name)", "looks like a secret",
        mend: "public = [\"\(name)\"]")
    } + [
      WrongRecipe("[vars]\na = \"{username}\"", "3:1: vars.a", "cannot contain a brace"),
      WrongRecipe("[vars]\na = \"{{\"", "3:1: vars.a", "cannot contain a brace"),
      WrongRecipe("[vars]\na = 1", "3:1: vars.a", "must be a string"),
      WrongRecipe("[vars]\na = [\"x\"]", "3:1: vars.a", "must be a string"),
      WrongRecipe("[vars]\na = { b = \"x\" }", "3:1: vars.a", "must be a string"),
      WrongRecipe("[vars]\n\"a b\" = \"x\"", "3:1", "unknown key vars.\"a b\""),
      WrongRecipe("[vars]\n\"a.b\" = \"x\"", "3:1", "unknown key vars.\"a.b\""),
      WrongRecipe("[vars.a]\nb = \"x\"", "2:1: vars.a", "must be a string"),
      WrongRecipe("vars = \"x\"", "2:1: vars", "must be a table", mend: "[vars]"),
      WrongRecipe(
        "[vars]\na = \"..\"\n[login]\npath = \"/x/{vars.a}\"", "3:1: vars.a", "cannot be . or .."),
      WrongRecipe(
        "[vars]\na = \".\"\n[login]\npath = \"/{vars.a}\"", "3:1: vars.a", "cannot be . or .."),
      WrongRecipe(
        "[vars]\na = \"x\"\n[login]\npath = \"{vars.a}/x\"", "5:1: login.path",
        "a placeholder cannot come before the path"),
      WrongRecipe(
        "[vars]\na = \"x\"\n[login]\npath = \"https://{vars.a}/x\"", "5:1: login.path",
        "a placeholder cannot come before the path"),
      WrongRecipe(
        "[login]\npath = \"/x\"\nheaders = { A = \"{basic:vars.a:password}\" }\n[vars]\na = \"x\"",
        "4:13: login.headers.A", "cannot be used in {basic:...}"),
      WrongRecipe(
        "[vars]\na = \"x\\r\\nX-Evil: 1\"\n[request]\nheaders = { A = \"{vars.a}\" }",
        "5:13: request.headers.A", "printable ASCII"),
      // The header's name marks it as a secret, wherever its value is defined.
      WrongRecipe(
        "[vars]\na = \"s3cr3t\"\n[request]\nheaders = { X-API-Key = \"{vars.a}\" }",
        "5:13: request.headers.X-API-Key", "looks like a secret", mend: "{app_key}"),
    ]

  @Test(arguments: wrongConstants)
  func wrongConstant(_ wrong: WrongRecipe) { wrong.check() }

  @Test func publicConstantsMayStand() {
    #expect(failure("public = [\"api_key\"]\n[vars]\napi_key = \"anon\"") == nil)
    #expect(failure("public = [\"other\"]\n[vars]\napi_key = \"anon\"") != nil)
  }

  // MARK: Places

  /// Keys that contain places, with the text around the place and where a mistake in it is
  /// reported.
  static let placeKeys: [(text: String, place: String)] = [
    ("[session]\naccess_token = [\"@\"]", "3:1: session.access_token"),
    ("[session]\naccess_token = [\"/ok\", \"@\"]", "3:1: session.access_token"),
    ("[session]\nrefresh_token = \"@\"", "3:1: session.refresh_token"),
    ("[session]\nexpires_in = [\"@\"]", "3:1: session.expires_in"),
    ("[session]\nexpires_at = [\"/exp\", \"ms:@\"]", "3:1: session.expires_at"),
    ("[session]\naccount = [\"@\"]", "3:1: session.account"),
    ("[session]\nmessage = [\"@\"]", "3:1: session.message"),
    ("[session]\nsuccess = \"@\"", "3:1: session.success"),
    ("[session]\nexpired_when = [\"@=x\"]", "3:1: session.expired_when"),
    ("[session]\nkeep = { a = \"/a\", b = \"@\" }", "3:20: session.keep.b"),
    (
      "[otp]\nstatus = [401]\nwhen = [\"@\"]\npath = \"/o\"\nbody = { o = \"{otp}\" }",
      "4:1: otp.when"
    ),
    ("[otp]\nstatus = [401]\ntake = { t = \"@\" }", "4:10: otp.take.t"),
    ("[prefetch]\npath = \"/c\"\ntake = { t = \"@\" }", "4:10: prefetch.take.t"),
  ]

  @Test(arguments: [
    "token", "a/b", "/a~", "/a~2b", "/~", "header:", "header:a b", "header:a:", "headers:X",
    "cookie:", "cookie:a;b", "Body", "body:", "$.token", ".token", "#/token",
  ])
  func malformedPlaces(wrong: String) {
    for (text, place) in Self.placeKeys {
      WrongRecipe(
        text.replacing("@", with: wrong), place, "\"\(wrong)\" is not a place", mend: "JSON Pointer"
      ).check()
    }
  }

  @Test(arguments: ["ms:/x", "jwt:/exp"])
  func timesAreToldInTwoKeysOnly(wrong: String) {
    for (text, place) in Self.placeKeys where !text.contains("expires_") {
      WrongRecipe(
        text.replacing("@", with: wrong), place, "is not a place", mend: "expires_in and expires_at"
      ).check()
    }
  }

  // MARK: Keys that cannot be used together

  /// Two keys that cannot be used together: the message names both.
  static let exclusions: [(text: String, names: [String])] = [
    (
      "[login]\npath = \"/x\"\n[oauth]\nissuer = \"https://id.shop.example\"",
      ["oauth", "login"]
    ),
    (
      "[oauth]\nissuer = \"https://id.shop.example\"\n[refresh]\npath = \"/x\"",
      ["oauth", "refresh"]
    ),
    (
      "[login]\npath = \"/x\"\nencoding = \"none\"\nbody = { a = \"{username}\" }",
      ["encoding", "body"]
    ),
    (
      "[whoami]\npath = \"/x\"\nmethod = \"POST\"\nencoding = \"none\"\nbody = { a = \"1\" }",
      ["encoding", "body"]
    ),
    (
      "[session]\nkeep_password = true\n[refresh]\npath = \"/x\"", ["keep_password", "refresh"]
    ),
    (
      "[session]\nkeep_password = true\naccess_token = [\"/token\"]",
      ["keep_password", "access_token"]
    ),
  ]

  @Test(arguments: exclusions)
  func keysThatExcludeEachOther(text: String, names: [String]) {
    let failure = failure(text)
    #expect(failure?.kind == .usage, "\(text)")
    let message = failure?.message ?? "accepted"
    #expect(message.contains(/^shop\.toml:[2-6]:1:/), "\(message)")
    let told = message + " " + (failure?.hint ?? "")
    for name in names { #expect(told.contains(name), "\(told)") }
    #expect(failure?.hint != nil, "a mend")
  }

  /// The file overrides the preset.
  @Test(arguments: [
    "preset = \"json\"\n[login]\nencoding = \"none\"\nauthorization = \"basic\"",
    "preset = \"http-basic\"", "[session]\nkeep_password = false\naccess_token = [\"/t\"]",
    "[session]\nkeep_password = false\n[refresh]\npath = \"/x\"",
    "[oauth]\nissuer = \"https://id.shop.example\"\n[whoami]\npath = \"/me\"",
  ])
  func whatDoesNotExcludeEachOther(text: String) { #expect(failure(text) == nil) }
}
