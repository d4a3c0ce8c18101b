internal import AuthKit
internal import Glibc

/// `authctl help …` and `--help` on a terminal: the manual page installed with this program, or the
/// text in a pager. No other output is passed to a program that the environment names (rule A11).
struct Manual {
  let environment: [String: String]
  let before: Hardening.Before?

  /// Replaces this process with `man` or the pager; returns if there is neither, or no terminal.
  ///
  /// - Parameters:
  ///   - page: `authctl-login`; nil for texts without a page.
  ///   - text: for the pager, if the page is not installed.
  func show(page: String?, text: String) {
    guard isatty(STDOUT_FILENO) == 1 else { return }
    if let page, let folder = Self.folder(of: page) {
      run(["man", "-M", folder, "1", page])
    }
    let pager = environment["PAGER"]
    guard pager != "", Self.becomeInput(text) else { return }
    run(pager.map { ["/bin/sh", "-c", $0] } ?? ["less"])
  }

  private func run(_ words: [String]) {
    // As in git: less exits at once if the text fits the screen.
    let variables = ["LESS": "FRX"].merging(environment.withoutSecrets) { $1 }
    let inherited = Child.openDescriptors()
    _ = Child(words, environment: variables, before: before, inherited: inherited)
      .replaceThisProcess()
  }

  /// Returns `share/man` next to the program's folder, if it has the page: pages elsewhere may
  /// belong to another version.
  private static func folder(of page: String) -> String? {
    var buffer = [CChar](repeating: 0, count: Int(PATH_MAX))
    let count = readlink("/proc/self/exe", &buffer, buffer.count)
    var path = buffer.prefix(max(count, 0)).map { UInt8(bitPattern: $0) }[...]
    for _ in 0..<2 {
      guard let slash = path.lastIndex(of: UInt8(ascii: "/")) else { return nil }
      path = path[..<slash]
    }
    let folder = String(decoding: path, as: UTF8.self) + "/share/man"
    let isThere = ["", ".gz"].contains { access("\(folder)/man1/\(page).1\($0)", R_OK) == 0 }
    return isThere ? folder : nil
  }

  /// Makes `text` the standard input; returns false if it does not fit in a pipe.
  private static func becomeInput(_ text: String) -> Bool {
    let bytes = Array((text + "\n").utf8)
    var ends: [Int32] = [-1, -1]
    // https://man7.org/linux/man-pages/man7/pipe.7.html: a pipe holds 64 KiB, but less if the user
    // has many. A short write would lose the rest of the text, so it counts as no pipe.
    guard pipe(&ends) == 0 else { return false }
    defer { for end in ends { close(end) } }
    _ = fcntl(ends[1], F_SETFL, O_NONBLOCK)
    return Glibc.write(ends[1], bytes, bytes.count) == bytes.count
      && dup2(ends[0], STDIN_FILENO) == 0
  }
}
