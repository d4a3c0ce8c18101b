@testable import AuthKit

/// A password that dictionary and corpus have, to look for.
let marker = "pl4nt-7Qx"

/// A pasted curl command: the words survive quoting, and no message or setting has the password.
@Sendable func fuzzCurl(_ bytes: [UInt8]) throws {
  let text = String(decoding: bytes, as: UTF8.self)
  let words: [String]
  do throws(Failure) { words = try ShellWords(text).words } catch {
    try check(!error.quotes(marker), "no message quotes the command")
    return
  }
  let line = DisplayText.shellLine(words.map { Array($0.utf8) })
  if !words.isEmpty {
    try check(
      try ShellWords(line).words.elementsEqual(words) { $0.isSame(as: $1) },
      "words that are quoted are the same words: \(line)")
  }
  let command: CurlLine
  do throws(Failure) { command = try CurlLine(text) } catch {
    let isOption = words.contains {
      $0.utf8.first == UInt8(ascii: "-") && $0.contains(bytesOf: marker)
    }
    return try check(isOption || !error.quotes(marker), "no message quotes the command")
  }
  try check(HeaderSyntax.isToken(command.method), "the method is a token")
  let recipe: CurlRecipe
  do throws(Failure) { recipe = try CurlRecipe(command) } catch { return }
  try check(URLText.problemOfBase(recipe.url) == nil, "the url is one of an API")
  if recipe.password?.text == marker, text.utf8.split(separator: marker).count == 2 {
    let shown = JSONValue.object(recipe.settings).serialized() + recipe.notes.joined()
    try check(!shown.contains(bytesOf: marker), "the password is not in the settings: \(shown)")
  }
  let store = ProfileStore(configDirectory: "/nonexistent/authctl", home: "/nonexistent")
  let url: [(key: String, value: JSONValue)] = [("url", .string(recipe.url))]
  do throws(Failure) { _ = try store.draft("shop", settings: url + recipe.settings) } catch {
    let isName = hasMarkedName(.object(recipe.settings))
    try check(isName || !error.quotes(marker), "no message quotes a value of the command")
  }
}

extension Failure {
  func quotes(_ text: String) -> Bool {
    message.contains(bytesOf: text) || (hint ?? "").contains(bytesOf: text)
  }
}

extension String.UTF8View {
  fileprivate func split(separator: String) -> [[UInt8]] {
    var parts: [[UInt8]] = [[]]
    var rest = Array(self)[...]
    while let byte = rest.first {
      if rest.starts(with: separator.utf8) {
        rest = rest.dropFirst(separator.utf8.count)
        parts.append([])
      } else {
        parts[parts.count - 1].append(byte)
        rest = rest.dropFirst()
      }
    }
    return parts
  }
}

/// Words → a command line for a shell → the same words.
@Sendable func fuzzWords(_ bytes: [UInt8]) throws {
  let words = bytes.split(separator: 0, omittingEmptySubsequences: false).map {
    String(decoding: $0, as: UTF8.self)
  }
  if let line = DisplayText.shellCommand(words) {
    let read = try sure("the line can be read: \(line)") { try ShellWords(line) }
    try check(
      read.words.elementsEqual(words) { $0.isSame(as: $1) } && read.leftOut.isEmpty,
      "the words are the same: \(line)")
  }
  let line = DisplayText.shellLine(words.map { Array($0.utf8) })
  let read = try sure("the line can be read: \(line)") { try ShellWords(line) }
  try check(
    read.words.elementsEqual(words) { $0.isSame(as: $1) } && read.leftOut.isEmpty,
    "the words are the same: \(line)")
  try check(
    !line.unicodeScalars.contains(where: DisplayText.isUnsafe), "the line can be printed")
  // Bytes that are no text: the line is ASCII there.
  _ = DisplayText.shellLine(bytes.split(separator: 0).map(Array.init))
}

/// Foreign text for a terminal: nothing in it acts, however it is cut into pieces (rule B4).
@Sendable func fuzzDisplay(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let size = 1 + input.byte() % 16
  let rest = input.bytes()
  let text = String(decoding: rest, as: UTF8.self)
  for limit in [5, 40, 300] {
    let line = DisplayText.oneLine(text, limit: limit)
    try check(line.unicodeScalars.count <= limit, "a line has its limit")
    try check(!line.unicodeScalars.contains(where: DisplayText.isUnsafe), "a line is safe")
  }
  var (whole, pieces) = (Caret(), Caret())
  let expected = rest.withUnsafeBytes { whole.feed($0) } + whole.finish()
  var found: [UInt8] = []
  for start in stride(from: 0, to: rest.count, by: size) {
    found += Array(rest[start..<min(start + size, rest.count)]).withUnsafeBytes { pieces.feed($0) }
  }
  found += pieces.finish()
  try check(found == expected, "a body is the same in pieces")
  var shown = String(decoding: expected, as: UTF8.self).unicodeScalars.makeIterator()
  while let scalar = shown.next() {
    if scalar == "\r" {
      try check(shown.next() == "\n", "a CR is followed by LF")
    } else {
      try check(
        scalar == "\n" || scalar == "\t" || !DisplayText.isUnsafe(scalar), "a body is safe")
    }
  }
}
