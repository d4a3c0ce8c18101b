internal import ArgumentParser
internal import AuthKit

/// The shells' completion: `authctl __complete -- WORD…`, of which the last is being typed.
///
/// The scripts in completions/ pass the words and show the output, one candidate a line, with a tab
/// before its description. A line that begins with a tab is for the script: `files` or `commands`
/// and, after a second tab, the part of the word before a file's name. No network, no dialog, no
/// libcurl; on any error it offers nothing.
struct Completion {
  static let word = "__complete"

  /// Returns the output.
  static func lines(_ words: ArraySlice<String>, _ environment: [String: String]) -> String {
    var completion = Completion(environment: environment)
    completion.offer(words)
    return completion.found.map { $0 + "\n" }.joined()
  }

  private let environment: [String: String]
  private var found: [String] = []
  private var command: any ParsableCommand.Type = Authctl.self
  private var path: [String] = []
  private var isHelp = false
  private var words = CommandArguments(of: Globals.self)
  private var positionals: [String] = []
  /// The options given so far, which decide the accounts and profiles to offer.
  private var given: [String: String] = [:]

  private init(environment: [String: String]) { self.environment = environment }

  private mutating func offer(_ line: ArraySlice<String>) {
    guard let typed = line.last else { return }
    var pending: CommandArguments.Argument?
    var isOver = false
    for word in line.dropLast() {
      if let option = pending {
        pending = nil
        note(option, word)
      } else if isOver || word.utf8.first != UInt8(ascii: "-") || word == "-" {
        guard step(to: word) else { return }
      } else if word == "--" {
        isOver = true
      } else if let (option, value) = words.option(in: word), option.takesValue {
        if let value { note(option, value) } else { pending = option }
      }
    }
    if let pending {
      offerValue(of: pending, typed, behind: "")
    } else if !isOver, typed.utf8.first == UInt8(ascii: "-") {
      offerOptions(typed)
    } else {
      offerWord(typed)
    }
  }

  private mutating func note(_ option: CommandArguments.Argument, _ value: String) {
    given[option.key] = value
  }

  /// Takes a word that is not an option: a command's name or an argument.
  private mutating func step(to word: String) -> Bool {
    let known = command.configuration.subcommands
    if known.isEmpty {
      if positionals.count < words.positionals.count, !URLText.isAbsolute(word),
        meaning(of: words.positionals[positionals.count]) == "profile"
      {
        given["profile"] = given["profile"] ?? word
      }
      positionals.append(word)
      return true
    }
    if path.isEmpty, !isHelp, word == "help" {
      isHelp = true
      return true
    }
    guard let next = known.first(where: { $0.name == word }) else { return false }
    command = next
    path.append(word)
    if next.configuration.subcommands.isEmpty { words = CommandArguments(of: next) }
    return true
  }

  // MARK: - Candidates

  private mutating func offerWord(_ typed: String) {
    let known = command.configuration.subcommands
    if !known.isEmpty {
      for next in known { offer(next.name, next.configuration.abstract, if: typed) }
      guard path.isEmpty else { return }
      let others = isHelp ? Topics.summaries : [("help", "Show help for a command or a topic.")]
      for (name, summary) in others { offer(name, summary, if: typed) }
      return
    }
    guard !isHelp, let last = words.positionals.last else { return }
    if path == ["exec"] {
      found.append(positionals.isEmpty ? "\tcommands\t" : "\tfiles\t")
      return
    }
    if positionals.count < words.positionals.count {
      offerValue(of: words.positionals[positionals.count], typed, behind: "")
    } else if last.isRepeating {
      offerValue(of: last, typed, behind: "")
    }
  }

  private mutating func offerOptions(_ typed: String) {
    if let (option, value) = words.option(in: typed), option.takesValue, let value {
      let start = String(decoding: typed.utf8.dropLast(value.utf8.count), as: UTF8.self)
      offerValue(of: option, value, behind: start)
      return
    }
    // No options are allowed between a group of commands and its command.
    guard path.isEmpty || command.configuration.subcommands.isEmpty else { return }
    for option in words.shownOptions {
      for name in option.names { offer(name, option.summary, if: typed) }
    }
    if path.isEmpty { offer("--version", "Show the version.", if: typed) }
    if path.isEmpty { offer("--help", "Show help information.", if: typed) }
  }

  private mutating func offerValue(
    of argument: CommandArguments.Argument, _ typed: String, behind start: String
  ) {
    let isPath = typed.utf8.contains(UInt8(ascii: "/")) || [".", "~"].contains(typed.prefix(1))
    for value in argument.values { offer(start + value, "", if: start + typed) }
    switch meaning(of: argument) {
    case "profile":
      for name in profiles() { offer(start + name, "", if: start + typed) }
      if isPath { found.append("\tfiles\t\(start)") }
    case "account":
      for name in accounts() { offer(start + name, "", if: start + typed) }
    case "store":
      for name in StoreName.allCases { offer(start + name.rawValue, "", if: start + typed) }
    case "preset":
      for name in Presets.names {
        offer(start + name, Presets.summary(name), if: start + typed)
      }
    case "key":
      for name in ProfileStore.keys { offer(start + name + "=", "", if: start + typed) }
    case "method":
      for name in Self.methods { offer(start + name, "", if: start + typed) }
    case "header" where typed.utf8.first != UInt8(ascii: "@"):
      for name in Self.headers { offer(start + name + ":", "", if: start + typed) }
    case "file":
      found.append("\tfiles\t\(start)")
    case "target":
      offerTargets(typed)
    default:
      offerFile(typed, behind: start)
    }
  }

  /// Offers paths and parameters of the API, as far as detection has read its description.
  private mutating func offerTargets(_ typed: String) {
    // bash passes on what it would take away: `/orders\?page`.
    let typed = String(decoding: typed.utf8.filter { $0 != UInt8(ascii: "\\") }, as: UTF8.self)
    guard typed.isEmpty || typed.utf8.first == UInt8(ascii: "/"), let app = app(),
      let profile = try? app.choose().profile
    else { return }
    let method = path == ["request"] ? positionals.first : path.first
    let methods = method == "head" ? ["get", "head"] : [method?.asciiLowercased ?? ""]
    let isRequest = path.first != "helper"
    let operations = app.pathCache.operations(of: profile.url)
      .filter { !isRequest || methods.contains($0.method) }
    for text in APIPaths.continuations(of: typed, operations) { offer(text, "", if: typed) }
  }

  /// Offers files for `@FILE` and `NAME=@FILE`, in curl's options.
  private mutating func offerFile(_ typed: String, behind start: String) {
    let name = typed.utf8.prefix { $0 != UInt8(ascii: "@") }
    guard name.count < typed.utf8.count, name.isEmpty || name.last == UInt8(ascii: "=") else {
      return
    }
    found.append("\tfiles\t\(start)" + String(decoding: name, as: UTF8.self) + "@")
  }

  /// Returns the kind of a value, by the option's name or by the name of the value.
  private func meaning(of argument: CommandArguments.Argument) -> String {
    switch argument.key {
    case "profile", "like": return "profile"
    case "username": return "account"
    case "store", "preset", "header": return argument.key
    case "from", "to": return path.first == "store" ? "store" : ""
    case "set": return "key"
    case "request": return "method"
    default: break
    }
    switch (argument.valueName, path) {
    case ("method", _): return "method"
    case ("target", _): return "target"
    case ("key=value", _), ("key", _): return "key"
    case ("name|filter", _): return "preset"
    case ("name", ["profile", "add"]), ("name", ["profile", "import"]): return "new"
    case ("name", _) where path.first == "profile" || path == ["use"]: return "profile"
    case ("name|file", _), ("url|name", _): return "profile"
    case ("store", _): return "store"
    case (let name, _): return Self.fileNames.contains(name) ? "file" : ""
    }
  }

  private static let fileNames = ["file", "file|-", "dir", "folder", "path"]

  private mutating func offer(_ candidate: String, _ summary: String, if typed: String) {
    // The shell writes it to the terminal (rule B4), and a line end would split it in two.
    let isPrintable = !candidate.unicodeScalars.contains(where: DisplayText.isUnsafe)
    guard isPrintable, candidate.utf8.starts(with: typed.utf8) else { return }
    found.append(summary.isEmpty ? candidate : "\(candidate)\t\(summary)")
  }

  // MARK: - Names

  private func app() -> App? {
    var words = ["--no-input", "--store-timeout", "1"]
    for key in ["profile", "store"] { if let value = given[key] { words += ["--\(key)", value] } }
    guard let globals = try? Globals.parse(words) else { return nil }
    return App(globals: globals, environment: environment)
  }

  private func profiles() -> [String] { (try? app()?.profiles.names()) ?? [] }

  /// Returns the accounts of the profile, if known, else all, in a store that needs no dialog.
  private func accounts() -> [String] {
    guard let app = app() else { return [] }
    let profile = try? app.choose().profile
    var names: [String] = profile?.account.map { [$0] } ?? []
    let items = (try? app.store(mayPrompt: false).list(profiles: app.profiles.names())) ?? []
    for item in items where profile == nil || item.profile == profile?.name {
      if let account = item.account, !names.contains(account) { names.append(account) }
    }
    return names
  }

  private static let methods = [
    "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "QUERY", "PROPFIND", "REPORT",
  ]

  /// The headers that people write by hand (https://www.iana.org/assignments/http-fields).
  private static let headers = [
    "Accept", "Accept-Encoding", "Accept-Language", "Cache-Control", "Content-Encoding",
    "Content-Language", "Content-Type", "Date", "Forwarded", "If-Match", "If-Modified-Since",
    "If-None-Match", "If-Range", "If-Unmodified-Since", "Idempotency-Key", "Link", "Origin",
    "Prefer", "Priority", "Range", "Referer", "User-Agent", "Via", "X-Request-ID",
    "X-Requested-With",
  ]
}

/// The arguments of one command, as the parser's help lists them: its other list, in JSON, needs
/// FoundationEssentials, which is not linked (Sources/AbsentFoundation).
struct CommandArguments {
  struct Argument: Equatable {
    /// `--output`, `-o`; none for a positional argument.
    var names: [String]
    /// The long name without dashes, else the short one.
    var key: String
    var takesValue: Bool
    var isRepeating: Bool
    var valueName: String
    var values: [String]
    var summary: String
  }

  private(set) var options: [Argument] = []
  private(set) var positionals: [Argument] = []
  private let type: any ParsableArguments.Type

  init(of type: any ParsableArguments.Type) {
    self.type = type
    for argument in Self.arguments(of: type, includeHidden: true) {
      if argument.names.isEmpty { positionals.append(argument) } else { options.append(argument) }
    }
  }

  /// The options that are not hidden.
  var shownOptions: [Argument] {
    Self.arguments(of: type, includeHidden: false).filter { !$0.names.isEmpty }
  }

  /// Returns the arguments in the help. Each is a line behind the usage: two spaces, its names and its
  /// value, and a text, which has the next line if they are long.
  private static func arguments(
    of type: any ParsableArguments.Type, includeHidden: Bool
  ) -> [Argument] {
    var arguments: [Argument] = []
    var usage: String?
    // No line is as long as that, so that none is broken.
    let message = type.helpMessage(includeHidden: includeHidden, columns: 10_000)
    for line in message.utf8.split(separator: UInt8(ascii: "\n")) {
      let text = String(decoding: line, as: UTF8.self).trimmingSpaces
      if line.starts(with: "USAGE: ".utf8) { usage = text }
      let indent = line.prefix { $0 == UInt8(ascii: " ") }.count
      if indent == 2, let usage, let argument = Argument(text, usage) {
        arguments.append(argument)
      } else if indent > 2, let last = arguments.indices.last, arguments[last].summary.isEmpty {
        arguments[last].read(text)
      }
    }
    return arguments
  }

  /// Returns the option in `word` and the value joined to it: `--store=file`, `-pshop`.
  func option(in word: String) -> (Argument, String?)? {
    let mark = word.utf8.firstIndex(of: UInt8(ascii: "=")) ?? word.utf8.endIndex
    let isLong = word.utf8.starts(with: "--".utf8)
    let name = isLong ? String(word[..<mark]) : String(word.prefix(2))
    guard let option = options.first(where: { $0.names.contains(name) }) else { return nil }
    if isLong {
      return (option, mark == word.utf8.endIndex ? nil : String(word.utf8[mark...].dropFirst()))
    }
    return (option, word.utf8.count > 2 ? String(word.dropFirst(2)) : nil)
  }
}

extension CommandArguments.Argument {
  /// Reads `-o, --output <file>  Write the body to FILE.`; nil for another kind of line.
  fileprivate init?(_ line: String, _ usage: String) {
    var words = line.utf8.split(separator: UInt8(ascii: " ")).map { String($0) ?? "" }[...]
    names = []
    (valueName, values, summary) = ("", [], "")
    while let word = words.first, word.utf8.first == UInt8(ascii: "-") {
      names.append(word.utf8.last == UInt8(ascii: ",") ? String(word.dropLast()) : word)
      words.removeFirst()
      if names.last == word { break }
    }
    if let word = words.first, word.utf8.first == UInt8(ascii: "<") {
      valueName = String(word.dropFirst().dropLast())
      words.removeFirst()
    }
    if names.isEmpty, valueName.isEmpty { return nil }
    takesValue = !names.isEmpty && !valueName.isEmpty
    isRepeating = usage.contains(bytesOf: "<\(valueName)> ...")
    let long = names.first { $0.utf8.starts(with: "--".utf8) } ?? names.first ?? ""
    key = String(long.drop { $0 == "-" })
    read(words.joined(separator: " "))
  }

  /// Reads `Use this form. (values: text, json; default: text)`.
  fileprivate mutating func read(_ text: String) {
    let (plain, listed) = text.separated(by: "(values: ")
    if let listed {
      values = listed.separated(by: ")").0.separated(by: ";").0.utf8
        .split(separator: UInt8(ascii: ",")).map { (String($0) ?? "").trimmingSpaces }
    }
    summary = plain.separated(by: "(default: ").0.trimmingSpaces
  }
}
