import Glibc
import Testing

/// The examples of README.md's section "In CI", and an environment to run them in: see
/// `RecipeTests`.
struct RecipePlace: Sendable {
  let box: Sandbox
  let api: APIServer
  /// A folder that contains only authctl.
  let bin: String
  /// The checkout.
  var work: String { box.root + "/work" }
  /// The password of the account `ci`.
  let password: String
  /// Replacements for the paths of a real machine and the URL of the API.
  var stands: [(String, String)]

  static let make = "deploy:\n\t@authctl get /items -o deployed.json\n"

  /// - Parameter account: the account in the example.
  static func with(
    account: String = "ci", _ body: @Sendable (RecipePlace) async throws -> Void
  ) async throws {
    try await Headless.with { headless in
      let box = headless.box
      let password = box.canary.make("password")
      try await headless.api.ask(
        "POST", "/register",
        ["email": .string(account + "@example.com"), "password": .string(password)])
      try await headless.api.reset()
      let profile = try #require(box.read("config/authctl/profiles/shop.toml"))
        .split(separator: "\n").filter { !$0.hasPrefix("account") }.joined(separator: "\n")
      unlink(headless.profile)
      for path in ["work/ci/shop.toml", "etc/shop.toml", "home/.config/authctl/profiles/shop.toml"]
      {
        try box.write(path, profile + "\n", mode: 0o644)
      }
      for folder in ["work", "work/ci", "etc", "temp"] {
        mkdir(box.root + "/" + folder, 0o755)
        chmod(box.root + "/" + folder, 0o755)
      }
      try box.write("work/Makefile", make, mode: 0o644)
      let bin = box.root + "/keyring"
      let place = RecipePlace(
        box: box, api: headless.api, bin: bin, password: password,
        stands: [
          ("/usr/local/bin/authctl", headless.binary), ("/etc/authctl", box.root + "/etc"),
          ("/home/backup", box.home), ("/run/secrets", box.root + "/secrets"),
          ("https://api.shop.example", headless.api.url),
        ])
      try await body(place)
    }
  }

  /// Runs a script without a terminal, with exactly these variables.
  func run(
    _ script: String, shell: [String] = ["/bin/bash", "-e"], env: [String: String],
    folder: String? = nil
  ) async throws -> Run {
    let file = try box.write("temp/script", stood(script))
    return try await run(shell + [file], env: env, folder: folder)
  }

  /// Runs a program without a terminal, with exactly these variables.
  func run(
    _ command: [String], env: [String: String], folder: String? = nil
  ) async throws -> Run {
    var variables: [String: String?] = box.environment().mapValues { _ in nil }
    for (name, value) in env { variables[name] = stood(value) }
    return try await box.run(
      ["--wait"] + command.map(stood), env: variables, program: "/usr/bin/setsid",
      directory: folder ?? work)
  }

  /// Replaces a real machine's paths with the test's.
  func stood(_ text: String) -> String {
    stands.reduce(text) { $0.replacing($1.0, with: $1.1) }
  }

  /// Expects that the example wrote the API's response to the file.
  func expectItems(_ path: String, sourceLocation: SourceLocation = #_sourceLocation) throws {
    let text = try #require(box.read(path), sourceLocation: sourceLocation)
    let items = try JSON(parsing: text)
    #expect(items[0]?["id"] != nil, "\(text)", sourceLocation: sourceLocation)
  }

  /// Expects exactly these numbers of requests per route, and no other requests.
  func expectCounts(
    _ counts: [String: Double], sourceLocation: SourceLocation = #_sourceLocation
  ) async throws {
    #expect(
      try await api.counts() == .object(counts.mapValues { .number($0) }),
      sourceLocation: sourceLocation)
  }
}

/// The examples in README.md.
enum Readme {
  /// The lines of the fenced block whose first line is `# TITLE`, without that line.
  static func block(_ title: String) throws -> [String] {
    let root = "\(#filePath)".split(separator: "/").dropLast(4).joined(separator: "/")
    let bytes = try #require(readFile("/\(root)/README.md"))
    let lines = String(decoding: bytes, as: UTF8.self)
      .split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    var found: [[String]] = []
    for (index, line) in lines.enumerated()
    where line == "# " + title && lines[index - 1].hasPrefix("```") {
      found.append(Array(lines[(index + 1)...].prefix { $0 != "```" }))
    }
    try #require(found.count == 1, "\(title): \(found.count) blocks")
    return found[0]
  }

  /// The block as one text.
  static func text(_ title: String) throws -> String {
    try block(title).joined(separator: "\n") + "\n"
  }

  /// The block parsed as YAML, with only the syntax that the examples use.
  static func yaml(_ title: String) throws -> JSON {
    var lines = try block(title).filter { !$0.isEmpty }[...]
    let value = yaml(&lines)
    try #require(lines.isEmpty, "not understood: \(lines)")
    return value
  }

  private static func indent(_ line: String?) -> Int {
    line.map { $0.prefix { $0 == " " }.count } ?? -1
  }

  private static func yaml(_ lines: inout ArraySlice<String>) -> JSON {
    let own = indent(lines.first)
    let first = lines.first?.dropFirst(own) ?? ""
    if first.hasPrefix("- ") {
      var items: [JSON] = []
      while indent(lines.first) == own, let line = lines.popFirst() {
        let item = String(repeating: " ", count: own + 2) + line.dropFirst(own + 2)
        lines.insert(item, at: lines.startIndex)
        items.append(yaml(&lines))
      }
      return .array(items)
    }
    let isTable = { (text: Substring) in
      text.prefix { $0 != " " }.hasSuffix(":")
    }
    guard isTable(first) else { return .string(String(lines.removeFirst().dropFirst(own))) }
    var members: [String: JSON] = [:]
    while indent(lines.first) == own, let line = lines.popFirst() {
      let parts = line.dropFirst(own).split(separator: ":", maxSplits: 1)
      let value = parts.count > 1 ? parts[1].drop { $0 == " " } : ""
      switch value {
      case "": members[String(parts[0])] = yaml(&lines)
      case "|":
        let deep = indent(lines.first)
        var text = ""
        while indent(lines.first) >= deep, let line = lines.popFirst() {
          text += line.dropFirst(deep) + "\n"
        }
        members[String(parts[0])] = .string(text)
      default: members[String(parts[0])] = .string(String(value))
      }
    }
    return .object(members)
  }
}

extension JSON {
  /// The string members of an object.
  var texts: [String: String] {
    guard case .object(let members) = self else { return [:] }
    return members.compactMapValues(\.string)
  }
}
