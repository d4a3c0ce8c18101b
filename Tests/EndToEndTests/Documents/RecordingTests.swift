import Glibc
import Testing

/// docs/session.svg: the first block of README.md that can be run, on a real terminal of 80
/// columns, with DemoAPI and a real keyring. `make recording` writes it; the test checks that it is
/// up to date. Only the port is replaced, by 8080.
@Suite struct RecordingTests {
  @Test func theSessionIsAsRecorded() async throws {
    try await Sandbox.with { box in
      // A little over 15 minutes: the output is in whole minutes.
      let api = try await box.api("--token-ttl", "920")
      let blocks = ShellBlock.all(inMarkdown: try Source.text("README.md"))
      let block = try #require(blocks.first { $0.excuse == nil })
      var lines: [String] = []
      for typed in block.text.split(separator: "\n") {
        let words = typed.replacing("http://127.0.0.1:8080", with: api.url).split(separator: " ")
        try #require(words.first == "authctl")
        let isLogin = words.dropFirst().first == "login"
        let run = try await box.terminal(
          words.dropFirst().map(String.init),
          answers: isLogin ? [("Password for", "correct horse battery\n")] : [],
          env: [
            "XDG_CONFIG_HOME": nil, "XDG_STATE_HOME": nil, "TERM": "xterm-256color",
            "NO_COLOR": nil,
          ])
        #expect(run.status == 0, "\(typed): \(run.screen)")
        lines.append("\u{1B}[1m$ \(typed)\u{1B}[0m")
        lines += run.screen.replacing(":\(api.port)", with: ":8080")
          .split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
      }
      #expect(lines.allSatisfy { Drawing.plain($0).utf8.count <= 80 }, "\(lines)")
      let picture = Drawing.svg(lines)
      guard getenv("AUTHCTL_WRITE_RECORDING") == nil else {
        try Source.write("docs/session.svg", picture)
        return
      }
      #expect(try Source.text("docs/session.svg") == picture, "make recording")
    }
  }
}

/// Draws terminal lines as SVG that follows the reader's light or dark mode.
private enum Drawing {
  private static let (column, row) = (8.4, 19.0)

  static func svg(_ lines: [String]) -> String {
    let (width, height) = (Int(column * 80) + 40, Int(row) * lines.count + 36)
    var text = """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(width)" height="\(height)" \
      viewBox="0 0 \(width) \(height)" role="img" aria-label="authctl: sign in, send a request, list sessions, sign out">
      <!-- Written by make recording: what a terminal of 80 columns showed. -->
      <style>
      text { font: 14px ui-monospace, "DejaVu Sans Mono", Menlo, Consolas, monospace;
             white-space: pre; fill: #24292f; }
      rect { fill: #f6f8fa; stroke: #d0d7de; }
      .s1 { font-weight: bold; } .s2 { opacity: 0.7; }
      .s31 { fill: #cf222e; } .s32 { fill: #116329; } .s33 { fill: #7d4e00; }
      .s34 { fill: #0550ae; } .s35 { fill: #8250df; } .s36 { fill: #1b7c83; }
      @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3; } rect { fill: #161b22; stroke: #30363d; }
        .s31 { fill: #ff7b72; } .s32 { fill: #7ee787; } .s33 { fill: #d29922; }
        .s34 { fill: #79c0ff; } .s35 { fill: #d2a8ff; } .s36 { fill: #56d4dd; }
      }
      </style>
      <rect x="0.5" y="0.5" width="\(width - 1)" height="\(height - 1)" rx="6"/>

      """
    for (index, line) in lines.enumerated() {
      let y = Int(row) * index + 30
      text += "<text x=\"20\" y=\"\(y)\" xml:space=\"preserve\">\(spans(of: line))</text>\n"
    }
    return text + "</svg>\n"
  }

  /// Removes colour escapes: https://man7.org/linux/man-pages/man4/console_codes.4.html
  static func plain(_ line: String) -> String { line.replacing(/\u{1B}\[[0-9;]*m/, with: "") }

  private static func spans(of line: String) -> String {
    var text = ""
    var classes: [String] = []
    var rest = line[...]
    func add(_ piece: Substring) {
      guard !piece.isEmpty else { return }
      let shown = piece.replacing("&", with: "&amp;").replacing("<", with: "&lt;")
      text +=
        classes.isEmpty
        ? shown : "<tspan class=\"\(classes.joined(separator: " "))\">\(shown)</tspan>"
    }
    while let match = rest.firstMatch(of: /\u{1B}\[([0-9;]*)m/) {
      add(rest[..<match.range.lowerBound])
      for code in match.1.isEmpty ? ["0"] : match.1.split(separator: ";") {
        if code == "0" { classes = [] } else { classes.append("s\(code)") }
      }
      rest = rest[match.range.upperBound...]
    }
    add(rest)
    return text
  }
}
