/// One API: its URL and how to sign in to it and call it.
package struct Profile: Sendable {
  /// The profile's name or, for a profile used in place, its real path.
  package var name: String
  /// The profile's file; nil for the profile that `AUTHCTL_URL` makes.
  package var file: String?
  /// The base URL, as written in the file.
  package var url: String
  /// The preset's name.
  package var preset: String?
  /// The default account.
  package var account: String?
  /// How to sign in to the API and call it.
  package var recipe: Recipe
  /// Every value in force and where it comes from, in the order of the schema.
  package var values: [EffectiveValue]
  /// Whether it is new and not in a file yet: it may never be saved.
  package var isDraft = false
  /// The text of a file that is used in place; nil for other profiles.
  var textInPlace: String?

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
  /// Answer headers in which the recipe finds a secret.
  package var secretAnswerHeaders: [String] {
    let session = recipe.session
    let taken = (recipe.secondFactor?.take ?? []) + (recipe.prefetch?.take ?? [])
    let kept = (session.keep + taken).map(\.place)
    return (session.accessToken + session.refreshToken + kept).compactMap {
      if case .header(let name) = $0 { name } else { nil }
    }
  }

  /// Answer headers whose values are masked by default, in lower case (rule B3).
  package var maskedHeaders: Set<String> {
    let cookies = recipe.request.cookies ? ["set-cookie"] : []
    return Set(
      (recipe.request.carriers + secretAnswerHeaders + cookies).map(\.asciiLowercased))
  }

  /// Whether the recipe sends a credential in the header `name` (rule B2).
  package func carriesCredential(in name: String) -> Bool {
    let name = name.asciiLowercased
    return recipe.request.carriers.contains { $0.asciiLowercased == name }
      || name == "cookie" && recipe.request.cookies
  }

  /// Request headers that the recipe fills with a value.
  package var filledHeaders: [String] {
    let calls = calls.flatMap(\.call.headers)
    return recipe.request.carriers + calls.filter { !$0.value.names.isEmpty }.map(\.name)
  }

  /// Whether a request can have a secret in its URL.
  package var putsSecretsInURLs: Bool {
    calls.contains { $0.call.secretsInURL } || !recipe.request.carryingParameters.isEmpty
  }

  /// Parameters of URLs whose values are never shown: those that the recipe fills (rule B3).
  package var filledParameters: [String] {
    calls.flatMap(\.call.query)
      .filter { $0.value.names.contains { $0.isSecret || $0.isSession } }.map(\.name)
      + recipe.request.carryingParameters
  }

  /// The parameter of `url` through which the recipe sends a credential, if it has one (rule B2).
  package func credentialParameter(in url: WebURL) -> String? {
    recipe.request.carryingParameters.first { url.hasParameter($0) }
  }

  /// Every call of the recipe, with its table.
  var calls: [(table: String, call: RecipeRequest)] {
    let all: [(String, RecipeRequest?)] = [
      ("login", recipe.login), ("register", recipe.register), ("otp", recipe.secondFactor?.call),
      ("prefetch", recipe.prefetch?.call), ("refresh", recipe.refresh), ("logout", recipe.logout),
      ("whoami", recipe.whoami), ("logout", recipe.secondLogout),
      ("introspection", recipe.introspection), ("unregister", recipe.unregister),
    ]
    return all.compactMap { table, call in call.map { (table, $0) } }
  }
}

/// A value of the effective profile, for `profile show`.
package struct EffectiveValue: Sendable {
  /// Where a value comes from.
  package enum Source: Sendable, Equatable {
    /// authctl's own default.
    case builtIn
    /// The preset of this name.
    case preset(String)
    /// The profile's file.
    case file
  }
  /// The dotted key: `login.path`.
  package var key: String
  /// The value in force.
  package var value: JSONValue
  /// Where it comes from.
  package var source: Source
  init(key: String, value: JSONValue, source: Source) {
    self.key = key
    self.value = value
    self.source = source
  }
}
