internal import ArgumentParser
internal import AuthKit

/// `authctl helper PROTOCOL`
struct HelperGroup: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "helper", abstract: "Answer another program's credential-helper protocol.",
    subcommands: [
      HelperGit.self, HelperDocker.self, HelperBazel.self, HelperCargo.self, HelperKubectl.self,
      HelperCurlConfig.self, HelperNetrc.self,
    ])

  /// The names by which programs call their helpers: links to authctl.
  static let programs = [
    "git-credential-authctl": "git", "docker-credential-authctl": "docker",
    "bazel-credential-authctl": "bazel",
  ]
}

/// `authctl helper git get|store|erase`
///
/// https://git-scm.com/docs/git-credential, https://git-scm.com/docs/gitcredentials
struct HelperGit: Command {
  static let configuration = CommandConfiguration(
    commandName: "git", abstract: "For git: credential.helper = authctl.",
    usage: "authctl helper git [<options>] get|store|erase",
    discussion: """
      Examples:
        git config --global credential.https://git.example.helper authctl
        printf 'protocol=https\\nhost=git.example\\n\\n' | authctl helper git get
      """
  ).alone

  @Argument(help: ArgumentHelp("What git asks for.", valueName: "operation")) var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    // git tells what it learned of passwords; sessions are made by login and ended by logout.
    guard let bytes = Answerer.input(), operation == "get", let request = Self.read(bytes) else {
      return 0
    }
    guard let scheme = request["protocol"], scheme == "https" || scheme == "http",
      let host = request["host"], !host.isEmpty,
      let origin = Answerer.origin(ofHost: "\(scheme)://\(host)")
    else { return 0 }
    let answerer = Answerer(app: app, givesPasswords: true)
    guard
      let found = try answerer.credential(for: origin, username: request["username"])
    else { return 0 }
    for line in try Self.lines(found, takesSchemes: request["authtype"] != nil) {
      try app.console.out(line)
    }
    return 0
  }

  private static func lines(
    _ found: Answerer.Credential, takesSchemes: Bool
  ) throws(Failure) -> [String] {
    var lines: [String] = []
    let parts = found.header.value.utf8.split(separator: UInt8(ascii: " "), maxSplits: 1)
      .map { String(decoding: $0, as: UTF8.self) }
    let isPassword = found.keeper.api.profile.recipe.session.keepPassword
    if takesSchemes, !isPassword, parts.count == 2,
      found.header.name.lowercased() == "authorization"
    {
      lines = ["capability[]=authtype", "authtype=\(parts[0])", "credential=\(parts[1])"]
    } else {
      lines = ["username=\(found.session.account)", "password=\(found.secret)"]
    }
    if let end = found.session.expiresAt {
      lines.append(
        "password_expiry_utc=\(JSONValue.number(end.seconds.rounded(.down)).serialized())")
    }
    for line in lines { try Answerer.check(line) }
    return lines
  }

  /// `key=value` lines; `authtype` stands for the capability of that name. nil for what git would
  /// not write: a doubled key that says whose credential it is, or a control byte.
  private static func read(_ bytes: [UInt8]) -> [String: String]? {
    var request: [String: String] = [:]
    for line in bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
      if line.isEmpty { break }
      guard line.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }),
        let mark = line.firstIndex(of: UInt8(ascii: "="))
      else { return nil }
      let key = String(decoding: line[..<mark], as: UTF8.self)
      let value = String(decoding: line[(mark + 1)...], as: UTF8.self)
      if key == "capability[]" {
        if value == "authtype" { request["authtype"] = value }
        continue
      }
      guard ["protocol", "host", "username"].contains(key) else { continue }
      guard request[key] == nil else { return nil }
      request[key] = value
    }
    return request
  }
}

/// `authctl helper docker get|store|erase|list`
///
/// https://github.com/docker/docker-credential-helpers
struct HelperDocker: Command {
  static let configuration = CommandConfiguration(
    commandName: "docker", abstract: "For docker and its kin: credHelpers.",
    usage: "authctl helper docker [<options>] get|store|erase|list",
    discussion: """
      ~/.docker/config.json: {"credHelpers":{"registry.example":"authctl"}}

      Examples:
        echo registry.example | authctl helper docker get
        authctl helper docker list
      """
  ).alone

  @Argument(help: ArgumentHelp("What docker asks for.", valueName: "operation"))
  var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard operation != "list" else {
      try app.console.out("{}")
      return 0
    }
    guard operation == "get" else {
      throw Failure(
        .failed, "docker \(operation == "store" ? "login" : "logout") does not reach authctl",
        hint: "authctl login and authctl logout do it")
    }
    let server = Answerer.input().map {
      String(decoding: $0, as: UTF8.self).trimmingLineEnd
    }
    let answerer = Answerer(app: app, givesPasswords: true)
    guard let server, let origin = Answerer.origin(ofHost: server),
      let found = try answerer.credential(for: origin)
    else {
      // The words by which docker knows that there is none, and goes on without.
      try app.console.out("credentials not found in native keychain")
      return Failure.Kind.failed.exitCode
    }
    try app.console.out(
      JSONValue.object([
        ("ServerURL", .string(server)), ("Username", .string(found.session.account)),
        ("Secret", .string(found.secret)),
      ]).serialized())
    return 0
  }
}

/// `authctl helper bazel get`
///
/// https://github.com/EngFlow/credential-helper-spec
struct HelperBazel: Command {
  static let configuration = CommandConfiguration(
    commandName: "bazel", abstract: "For Bazel: --credential_helper.",
    usage: "authctl helper bazel [<options>] get",
    discussion: """
      Examples:
        bazel build --credential_helper=cache.example=bazel-credential-authctl //...
        echo '{"uri":"https://cache.example/"}' | authctl helper bazel get
      """
  ).alone

  @Argument(help: ArgumentHelp("What Bazel asks for.", valueName: "operation"))
  var operation: String
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard operation == "get" else {
      throw Failure(.usage, "unknown operation \(DisplayText.oneLine(operation, limit: 40))")
    }
    let request = Answerer.input().flatMap { try? JSONValue.parse($0) }
    guard let uri = request?["uri"]?.text, URLWords.hasScheme(uri),
      let origin = Answerer.origin(ofHost: uri),
      let found = try Answerer(app: app, givesPasswords: false).credential(for: origin)
    else {
      try app.console.out(#"{"headers":{}}"#)
      return 0
    }
    try Answerer.check(found.header.value)
    var members: [(key: String, value: JSONValue)] = [
      ("headers", .object([(found.header.name, .array([.string(found.header.value)]))]))
    ]
    if let end = found.session.expiresAt { members.append(("expires", .string(end.rfc3339))) }
    try app.console.out(JSONValue.object(members).serialized())
    return 0
  }
}

/// `authctl helper cargo --cargo-plugin`
///
/// https://doc.rust-lang.org/cargo/reference/credential-provider-protocol.html
struct HelperCargo: Command {
  static let configuration = CommandConfiguration(
    commandName: "cargo", abstract: "For cargo: registry.credential-provider.",
    usage: "authctl helper cargo [<options>] --cargo-plugin",
    discussion: """
      In ~/.cargo/config.toml:
        [registry]
        global-credential-providers = ["authctl helper cargo"]

      Examples:
        authctl helper cargo --cargo-plugin
        authctl helper cargo -p crates --cargo-plugin
      """
  ).alone

  @Flag(name: .customLong("cargo-plugin"), help: "As cargo calls it.") var plugin = false
  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    try app.console.out(#"{"v":[1]}"#)
    while let line = Answerer.line() {
      if line.isEmpty { continue }
      try app.console.out(try answer(to: try? JSONValue.parse(line), app).serialized())
    }
    return 0
  }

  private func answer(to request: JSONValue?, _ app: App) throws(Failure) -> JSONValue {
    func failure(_ kind: String) -> JSONValue {
      .object([("Err", .object([("kind", .string(kind))]))])
    }
    guard request?["v"]?.double == 1, let kind = request?["kind"]?.text,
      let index = request?["registry"]?["index-url"]?.text
    else { return failure("operation-not-supported") }
    guard kind == "get" else { return failure("operation-not-supported") }
    let sparse = "sparse+"
    guard index.utf8.starts(with: sparse.utf8) else { return failure("url-not-supported") }
    let url = String(decoding: index.utf8.dropFirst(sparse.utf8.count), as: UTF8.self)
    guard URLWords.hasScheme(url), let origin = Answerer.origin(ofHost: url),
      let found = try Answerer(app: app, givesPasswords: false).credential(for: origin)
    else { return failure("not-found") }
    // cargo sends what it is given as the whole of Authorization.
    guard found.header.name.lowercased() == "authorization" else { return failure("not-found") }
    try Answerer.check(found.header.value)
    var answer: [(key: String, value: JSONValue)] = [
      ("kind", "get"), ("token", .string(found.header.value)),
    ]
    if let end = found.session.expiresAt {
      answer += [("cache", "expires"), ("expiration", .number(end.seconds.rounded(.down)))]
    } else {
      answer.append(("cache", "never"))
    }
    answer.append(("operation_independent", true))
    return .object([("Ok", .object(answer))])
  }
}

/// `authctl helper kubectl`
///
/// https://kubernetes.io/docs/reference/access-authn-authz/authentication/#client-go-credential-plugins
struct HelperKubectl: Command {
  static let configuration = CommandConfiguration(
    commandName: "kubectl", abstract: "For kubectl: users[].user.exec, with -p.",
    usage: "authctl helper kubectl [<options>]",
    discussion: """
      In the kubeconfig, for the user:
        exec:
          apiVersion: client.authentication.k8s.io/v1
          command: authctl
          args: [helper, kubectl, -p, cluster]
          interactiveMode: Never
          provideClusterInfo: true

      Examples:
        authctl helper kubectl -p cluster
        kubectl --kubeconfig team.yaml get pods
      """
  ).alone

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard globals.profile != nil else {
      throw Failure(.usage, "kubectl does not name the cluster", hint: "-p NAME says which")
    }
    let info = try? JSONValue.parse(app.environment["KUBERNETES_EXEC_INFO"] ?? "")
    var origin: Origin?
    if let server = info?["spec"]?["cluster"]?["server"]?.text {
      guard let found = Answerer.origin(ofHost: server) else {
        throw Failure(.originRefused, "KUBERNETES_EXEC_INFO names a server that is not a URL")
      }
      origin = found
    }
    let found = try Answerer(app: app, givesPasswords: false).credentialOfNamed(for: origin)
    let known = [
      "client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1",
    ]
    let version = info?["apiVersion"]?.text.flatMap { known.contains($0) ? $0 : nil } ?? known[0]
    try app.console.out(
      JSONValue.object([
        ("apiVersion", .string(version)), ("kind", "ExecCredential"),
        (
          "status",
          .object(
            [
              ("token", .string(found.secret)),
              ("expirationTimestamp", Words.time(found.session.expiresAt)),
            ].filter { $0.value != nil })
        ),
      ]).serialized())
    return 0
  }
}

/// `authctl helper curl-config [TARGET…]`
struct HelperCurlConfig: Command {
  static let configuration = CommandConfiguration(
    commandName: "curl-config", abstract: "For curl -K -: a header, and the URLs it is for.",
    usage: "authctl helper curl-config [<options>] [<target> ...]",
    discussion: """
      curl is told to follow no redirect, which would carry the header elsewhere.
      Give the targets here, so that they are checked: what is added on curl's own
      command line is not.

      Examples:
        authctl helper curl-config -p shop /orders | curl -K -
        authctl helper curl-config -p shop /a /b | curl -Z -K - -o a.json -o b.json
      """
  ).alone

  @Argument(help: ArgumentHelp("Paths or URLs of the API.", valueName: "target"))
  var targets: [String] = []

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard globals.profile != nil else {
      throw Failure(.usage, "curl does not name the API", hint: "-p NAME says which")
    }
    let found = try Answerer(app: app, givesPasswords: false).credentialOfNamed(for: nil)
    var urls: [WebURL] = []
    for target in targets {
      let url = try found.keeper.api.url(for: target)
      try found.keeper.check(url, for: found.session)
      urls.append(url)
    }
    try Answerer.check(found.header.value, forbidden: "\"\\")
    var lines = ["header = \"\(found.header.name): \(found.header.value)\""]
    let isSecure =
      urls.isEmpty ? found.keeper.api.base.origin.isSecure : urls.allSatisfy(\.origin.isSecure)
    lines.append("proto = \"=\(isSecure ? "https" : "http,https")\"")
    lines.append("max-redirs = 0")
    for url in urls {
      try Answerer.check(url.text, forbidden: "\"\\")
      lines.append("url = \"\(url.text)\"")
    }
    for line in lines { try app.console.out(line) }
    return 0
  }
}

/// `authctl helper netrc`
struct HelperNetrc: Command {
  static let configuration = CommandConfiguration(
    commandName: "netrc", abstract: "A line of .netrc, for programs that know no better.",
    usage: "authctl helper netrc [<options>]",
    discussion: """
      The token stands as the password, which few APIs take; a .netrc does not know
      ports or https.

      Examples:
        authctl helper netrc -p shop
        curl --netrc-file <(authctl helper netrc -p shop) https://shop.example/me
      """
  ).alone

  @OptionGroup(title: "Global options") var globals: Globals

  func run(in app: App) throws(Failure) -> Int32 {
    guard globals.profile != nil else {
      throw Failure(.usage, ".netrc does not name the API", hint: "-p NAME says which")
    }
    let found = try Answerer(app: app, givesPasswords: false).credentialOfNamed(for: nil)
    guard !found.session.account.isEmpty else {
      throw Failure(
        .inputNeeded, "a token of a variable has no account, and .netrc wants one",
        hint: "-u NAME gives it")
    }
    for text in [found.session.account, found.secret] {
      try Answerer.check(text, forbidden: " #\"\\")
    }
    try app.console.out(
      "machine \(found.keeper.api.base.origin.host) login \(found.session.account) "
        + "password \(found.secret)")
    return 0
  }
}
