internal import AuthKit

/// The findings of `doctor` and `store test`, for people and for programs.
struct CheckReport {
  private(set) var all: [Check] = []

  mutating func add(_ check: Check) { all.append(check) }

  mutating func add(
    _ subject: Check.Subject, _ result: Check.Result, _ detail: String, hint: String? = nil,
    profile: String? = nil
  ) {
    add(Check(subject, result, detail, hint: hint, profile: profile))
  }

  /// Whether nothing failed; warnings do not count.
  var isGood: Bool { count(.fail) == 0 }

  private func count(_ result: Check.Result) -> Int { all.count { $0.result == result } }

  /// Writes the findings to standard output.
  ///
  /// - Parameter closing: a text after the count.
  /// - Returns: the exit status, 0 if nothing failed.
  /// - Throws: `failed` when they cannot be written.
  func report(_ app: App, asJSON: Bool, closing: String = "") throws(Failure) -> Int32 {
    // A password that gets into a message by mistake is masked here, as in errors.
    func shown(_ text: String) -> String {
      DisplayText.oneLine(app.redactor.mask(text), limit: 2000)
    }
    if asJSON {
      try app.console.out(json(shown))
    } else {
      let paint = { app.console.painted($0, $1) }
      try app.console.out(lines: text(shown, paint) + [summary + closing])
    }
    return isGood ? 0 : Failure.Kind.failed.exitCode
  }

  private func json(_ shown: (String) -> String) -> JSONValue {
    let list = all.map { check -> JSONValue in
      .object([
        ("check", .string(check.subject.rawValue)), ("result", .string(check.result.rawValue)),
        ("detail", .string(shown(check.detail))),
        ("hint", check.hint.map { .string(shown($0)) } ?? nil),
        ("profile", check.profile.map { .string(shown($0)) } ?? nil),
      ])
    }
    return .object([("ok", .bool(isGood)), ("checks", .array(list))])
  }

  // MARK: Text

  /// This finding is the title, without a column.
  private static let title = Check.Subject.versions
  private static let resultWidth = 6

  private func text(
    _ shown: (String) -> String, _ painted: (String, Colour?) -> String
  ) -> [String] {
    let names = all.map { shown(column($0)) }
    let width = min(max(10, (names.map(Table.width).max() ?? 0) + 1), 24)
    let margin = String(repeating: " ", count: Self.resultWidth + width)
    var text: [String] = []
    for (check, name) in zip(all, names) {
      if check.subject == Self.title {
        text.append(shown(check.detail))
        continue
      }
      let start =
        painted(Self.padded(word(check.result), to: Self.resultWidth), colour(check.result))
        + name
      var pieces = Console.wrapped(shown(check.detail), indent: margin.utf8.count)[...]
      // A longer name has a line of its own.
      let room = width - Table.width(of: name)
      text.append(
        room > 0 ? start + String(repeating: " ", count: room) + (pieces.popFirst() ?? "") : start)
      text += pieces.map { margin + $0 }
      if let hint = check.hint { text += Self.fix(shown(hint), margin) }
    }
    return text
  }

  /// Breaks a hint only between clauses: a command stays whole, however long, so that it can be
  /// copied.
  private static func fix(_ hint: String, _ margin: String) -> [String] {
    let start = margin + "fix: "
    var clauses = [""]
    for word in hint.split(separator: " ", omittingEmptySubsequences: false) {
      clauses[clauses.count - 1] += (clauses.last == "" ? "" : " ") + word
      if let end = word.utf8.last, ",;:".utf8.contains(end) { clauses.append("") }
    }
    var lines: [String] = []
    for clause in clauses where clause != "" {
      if let line = lines.last, Table.width(of: start + line + " " + clause) < 80 {
        lines[lines.count - 1] = line + " " + clause
      } else {
        lines.append(clause)
      }
    }
    let indent = String(repeating: " ", count: start.utf8.count)
    return lines.enumerated().map { ($0 == 0 ? start : indent) + $1 }
  }

  /// Returns the profile's name, or the subject, which says more for a session. For a profile that
  /// is a file, the end of its path is enough.
  private func column(_ check: Check) -> String {
    guard let profile = check.profile, check.subject != .session else {
      return check.subject.rawValue
    }
    return profile.utf8.split(separator: UInt8(ascii: "/")).last
      .map { String(decoding: $0, as: UTF8.self) } ?? profile
  }

  private func word(_ result: Check.Result) -> String {
    switch result {
    case .ok: "ok"
    case .warn: "warn"
    case .fail: "FAIL"
    case .skipped: "skip"
    }
  }

  private func colour(_ result: Check.Result) -> Colour? {
    switch result {
    case .fail: .red
    case .warn: .yellow
    case .ok, .skipped: nil
    }
  }

  private static func padded(_ text: String, to width: Int) -> String {
    text + String(repeating: " ", count: max(1, width - Table.width(of: text)))
  }

  private var summary: String {
    let (failures, warnings) = (count(.fail), count(.warn))
    if failures == 0, warnings == 0 { return "No problems found." }
    return "\(failures) failed, \(warnings) warning\(warnings == 1 ? "" : "s")."
  }
}
