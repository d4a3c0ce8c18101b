internal import AuthKit
internal import Glibc

/// The user's browser: `$BROWSER`, or the desktop's (rule A11).
enum Browser {
  /// Whether there is one to open: `$BROWSER` is set, or a desktop is there.
  static func isThere(_ environment: [String: String]) -> Bool {
    ["BROWSER", "DISPLAY", "WAYLAND_DISPLAY"].contains { !(environment[$0] ?? "").isEmpty }
  }

  /// Opens `url` and does not wait; returns false if no program could be started.
  ///
  /// The program gets one argument and no shell, and none of authctl's secrets. The URL was put
  /// together by authctl and holds only characters of RFC 3986.
  static func open(
    _ url: String, environment: [String: String], before: Hardening.Before?
  ) -> Bool {
    guard (try? WebURL(url, from: .server)) != nil,
      url.utf8.allSatisfy({ $0.isLetterOrDigit || "-._~:/?#[]@!$&'()*+,;=%".utf8.contains($0) })
    else { return false }
    let own = environment["BROWSER"] ?? ""
    let child = Child(
      [own.isEmpty ? "xdg-open" : own, url], environment: environment.withoutSecrets,
      before: before, inherited: [0, 1, 2])
    return (try? child.start(detached: true)) != nil
  }
}
