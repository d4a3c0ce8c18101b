import Synchronization
import Testing

/// The standing check of hints: at the end of each sandbox, every command in a `hint:` or `Next:`
/// that a run printed is given to the parser of authctl (design 2).
///
/// A command begins the hint, or follows a colon, a semicolon, "or" or a parenthesis, and nothing
/// follows it: what is copied from there to the end of the line works.
enum Hints {
  private static let parsed = Mutex<Set<[String]>>([])

  static func check(_ box: Sandbox, _ sourceLocation: SourceLocation) async throws {
    for (hint, run) in box.runs.flatMap({ run in hints(of: run.child).map { ($0, run.child) } }) {
      for command in commands(in: hint) {
        func complain(_ why: String) {
          Issue.record(
            "\(command) in the hint of \(run.brief): \(why)", sourceLocation: sourceLocation)
        }
        guard let words = words(of: command) else {
          complain("a shell reads it otherwise")
          continue
        }
        guard !parsed.withLock({ $0.contains(words) }) else { continue }
        let end = try await box.start(["__parse", "--"] + words.dropFirst()).finish()
        if end.status == 0 {
          parsed.withLock { _ = $0.insert(words) }
        } else {
          complain(end.stderr)
        }
      }
    }
  }

  private static func hints(of child: Child) -> [String] {
    let view = child.view
    return [view.out, view.err].flatMap { bytes -> [String] in
      bytes.split(separator: 10).compactMap { line in
        var line = String(decoding: line, as: UTF8.self)
        if line.hasSuffix("\r") { line.removeLast() }
        if line.hasPrefix(#"{"error":"#) {
          return (try? JSON(parsing: line))?["error"]?["hint"]?.string
        }
        for start in ["hint: ", "Next: "] where line.hasPrefix(start) {
          return String(line.dropFirst(start.count))
        }
        return nil
      }
    }
  }

  /// The commands in a hint; other mentions of authctl, as in `another authctl`, are none.
  static func commands(in hint: String) -> [String] {
    hint.ranges(of: #/\bauthctl (?=[a-z_])/#).compactMap { found in
      let before = hint[..<found.lowerBound]
      guard before.last != "/", before.last != "-" else { return nil }
      let rest = hint[found.lowerBound...]
      let parenthesis = before.lastIndex(of: "(").map { !before[$0...].contains(")") } ?? false
      if parenthesis { return String(rest.prefix { $0 != ")" }) }
      return String(rest)
    }
  }

  /// The words of a command line without variables, patterns and redirections; nil otherwise.
  static func words(of command: String) -> [String]? {
    var words: [String] = []
    var word: String?
    var isQuoted = false
    var isEscaped = false
    for character in command {
      if isEscaped {
        isEscaped = false
        word = (word ?? "") + String(character)
      } else if isQuoted {
        if character == "'" { isQuoted = false } else { word?.append(character) }
      } else if character == "'" {
        isQuoted = true
        word = word ?? ""
      } else if character == "\\" {
        isEscaped = true
      } else if character == " " {
        if let word { words.append(word) }
        word = nil
      } else {
        guard !"\"$`|&;<>(){}[]*?!#~".contains(character) else { return nil }
        word = (word ?? "") + String(character)
      }
    }
    return isQuoted ? nil : words + (word.map { [$0] } ?? [])
  }
}
