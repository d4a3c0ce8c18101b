import Glibc
import Synchronization
import Testing

/// One run that `Canary` inspects.
struct SeenRun: Sendable {
  var child: Child
  /// Secrets that its output may contain.
  var mayPrint: [String]
}

/// Makes recognisable secrets and searches for them at the end of the sandbox: in all files except
/// the keyring's own (and those that the test itself wrote, unless changed), in file names, in the
/// output of every run, and in every sampled command line of a run and its descendants. `forget`
/// excludes a secret from the search. It finds plain text, percent-encoding, and base64 at all
/// alignments.
final class Canary: Sendable {
  private struct State {
    var secrets: [String] = []
    var files: [String: [UInt8]] = [:]
  }
  private let state = Mutex(State())

  /// A new secret: `kind-` and 24 random characters. `suffix` adds difficult characters (`:"é `).
  func make(_ kind: String, suffix: String = "") -> String {
    let letters = Array("ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz23456789")
    let secret = kind + "-" + String((0..<24).map { _ in letters.randomElement() ?? "x" }) + suffix
    state.withLock { $0.secrets.append(secret) }
    return secret
  }

  /// Searches for this secret too, for example a token that the server made.
  func watch(_ secret: String) { state.withLock { $0.secrets.append(secret) } }

  /// Stops searching for this secret.
  func forget(_ secret: String) {
    state.withLock { $0.secrets.removeAll { $0.utf8.elementsEqual(secret.utf8) } }
  }

  func allow(file: String, _ content: [UInt8]) { state.withLock { $0.files[file] = content } }

  /// A description of every place that contains one of `secrets`.
  func findings(_ box: Sandbox, _ secrets: [String]) -> [String] {
    guard !secrets.isEmpty else { return [] }
    let forms = secrets.map { (secret: $0, forms: Self.forms(of: $0)) }
    var found: [String] = []
    func look(_ bytes: [UInt8], _ place: String, except allowed: [String] = []) {
      for (secret, forms) in forms
      where !allowed.contains(secret) && forms.contains(where: { find($0, in: bytes) != nil }) {
        found.append("\(secret) in \(place)")
      }
    }
    let own = state.withLock { $0.files }
    for path in box.files() {
      look(Array(path.utf8), "the name of file \(path)")
      let full = box.root + "/" + path
      if let content = readFile(full), own[full] != content { look(content, "file \(path)") }
    }
    for run in box.runs {
      let view = run.child.view
      let command = run.child.brief
      look(view.out, "stdout of \(command)", except: run.mayPrint)
      look(view.err, "stderr of \(command)", except: run.mayPrint)
      for line in view.commandLines.union([run.child.command.flatMap { Array($0.utf8) + [0] }]) {
        let words = line.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
        look(line, "command line \(words)")
      }
    }
    return found
  }

  /// Records an issue for every place that contains one of `secrets`.
  func assertNowhere(
    _ box: Sandbox, _ secrets: [String], sourceLocation: SourceLocation = #_sourceLocation
  ) {
    for finding in findings(box, secrets) {
      Issue.record("secret found: \(finding)", sourceLocation: sourceLocation)
    }
  }

  /// Runs the search at the end of the sandbox.
  func check(_ box: Sandbox, _ sourceLocation: SourceLocation) {
    assertNowhere(box, state.withLock { $0.secrets }, sourceLocation: sourceLocation)
  }

  /// The encodings in which a secret may appear.
  static func forms(of secret: String) -> [[UInt8]] {
    let bytes = Array(secret.utf8)
    let isPlain: (UInt8) -> Bool = {
      (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0)
        || "-._~".utf8.contains($0)
    }
    func percent(_ uppercase: Bool) -> [UInt8] {
      bytes.flatMap { byte -> [UInt8] in
        let hex = String(byte, radix: 16, uppercase: uppercase)
        return isPlain(byte) ? [byte] : Array(("%" + (byte < 16 ? "0" : "") + hex).utf8)
      }
    }
    var forms = [bytes, percent(true), percent(false)]
    // Unaligned, the first and last characters depend on neighbouring bytes: remove them.
    for lead in 0..<3 {
      let padded = [UInt8](repeating: 0, count: lead) + bytes
      let whole = padded.dropLast(padded.count % 3)
      let encoded = base64(Array(whole)).dropFirst(lead == 0 ? 0 : 4)
      forms.append(Array(encoded))
      let urlSafe = encoded.map { byte -> UInt8 in
        switch byte {
        case UInt8(ascii: "+"): UInt8(ascii: "-")
        case UInt8(ascii: "/"): UInt8(ascii: "_")
        default: byte
        }
      }
      forms.append(urlSafe)
    }
    var different: [[UInt8]] = []
    for form in forms where form.count >= 8 && !different.contains(form) { different.append(form) }
    return different.isEmpty ? [bytes] : different
  }

  /// The base64 of whole groups of three bytes; remaining bytes are dropped.
  static func base64(_ bytes: [UInt8]) -> [UInt8] {
    let letters = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    var out: [UInt8] = []
    for start in stride(from: 0, to: bytes.count - 2, by: 3) {
      let group = Int(bytes[start]) << 16 | Int(bytes[start + 1]) << 8 | Int(bytes[start + 2])
      out += [18, 12, 6, 0].map { letters[group >> $0 & 63] }
    }
    return out
  }
}
