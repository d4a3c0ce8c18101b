/// When authctl writes colours (`--color`).
enum ColourChoice: String, CaseIterable {
  case auto, always, never

  /// Returns the choice among `words`, for messages before the options are parsed.
  static func given(in words: [String]) -> ColourChoice? {
    let own = words.prefix { $0 != "--" }
    for (index, word) in own.enumerated() {
      if word == "--color", index + 1 < own.count { return ColourChoice(rawValue: own[index + 1]) }
      for choice in allCases where word == "--color=\(choice.rawValue)" { return choice }
    }
    return nil
  }

  /// Whether a stream gets colours. An option beats the variables:
  /// https://no-color.org, https://bixense.com/clicolors
  func usesColour(onTerminal: Bool, _ environment: [String: String]) -> Bool {
    func value(_ name: String) -> String { environment[name] ?? "" }
    switch self {
    case .always: return true
    case .never: return false
    case .auto: break
    }
    if !value("NO_COLOR").isEmpty { return false }
    let force = value("CLICOLOR_FORCE")
    if !force.isEmpty && force != "0" { return true }
    return onTerminal && value("CLICOLOR") != "0" && value("TERM") != "dumb"
  }
}

/// The colours of words that need attention, as in gh.
enum Colour: String {
  case red = "31"
  case yellow = "33"

  /// Returns `text`, which is safe for a terminal, in this colour.
  func painting(_ text: String) -> String { "\u{1B}[\(rawValue)m\(text)\u{1B}[m" }
}
