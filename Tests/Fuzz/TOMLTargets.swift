@testable import AuthKit

/// An edit changes one key: every other value and every other line stays.
@Sendable func fuzzTOML(_ bytes: [UInt8]) throws {
  var input = FuzzInput(bytes)
  let (choice, value) = (input.byte(), input.choose(["1", "\"x\"", "[1, 2]", "{ a = 1 }", "true"]))
  let text = input.bytes()
  let tree: TOMLTree
  do throws(TOMLError) { tree = try TOMLParser.parse(text) } catch {
    return try check(
      error.place.line > 0 && error.place.column > 0 && 0...text.count ~= error.place.offset,
      "the place of an error is in the text")
  }
  for statement in tree.statements {
    try check(
      statement.range.upperBound <= text.count && statement.node < tree.nodes.count,
      "statements are in the text")
  }
  let paths = [["url"], ["login", "path"], ["a"], ["a", "b"], ["é", ""]]
  let known = Array(tree.path(of: (choice / 2) % tree.nodes.count).prefix(2))
  let path = choice % 2 == 0 && !known.isEmpty ? known : paths[choice / 2 % paths.count]
  // A number also finds the element of an array, which no key of a profile does.
  guard path.allSatisfy({ Int($0) == nil }) else { return }
  let edited = try sure("the value is TOML") { try TOMLEdit.setting(value, at: path, in: tree) }
  if let edited {
    let new = try sure("the result is TOML") { try TOMLParser.parse(edited) }
    let alone = try TOMLParser.parse(Array("v = \(value)".utf8))
    try check(
      new.find(path).map { values(of: $0, in: new) }
        == alone.find(["v"]).map { values(of: $0, in: alone) },
      "the key has the value")
    try checkOthers(tree, new, path)
    let again = try sure("it can be set again") { try TOMLEdit.setting(value, at: path, in: new) }
    try check(again == edited, "setting the same value again changes nothing")
    try checkRemoval(of: path, new)
  }
  try checkRemoval(of: path, tree)
}

private func checkRemoval(of path: [String], _ tree: TOMLTree) throws {
  guard let edited = TOMLEdit.removing(at: path, in: tree) else { return }
  let new = try sure("the result is TOML") { try TOMLParser.parse(edited) }
  try check(new.find(path) == nil, "the key is gone")
  try checkOthers(tree, new, path)
}

/// The values at and below a node, by their paths: words as written, array elements by number.
private func values(of node: Int, in tree: TOMLTree) -> [[[UInt8]]: [UInt8]] {
  var found: [[[UInt8]]: [UInt8]] = [:]
  func look(_ number: Int, _ path: [[UInt8]]) {
    let node = tree.nodes[number]
    if node.value == .table {
      for child in node.children { look(child, path + [Array(tree.nodes[child].key.utf8)]) }
    } else if node.value == .array {
      found[path] = Array("array of \(node.children.count)".utf8)
      for (index, child) in node.children.enumerated() {
        look(child, path + [[0xFF], [UInt8(index & 0xFF)]])
      }
    } else {
      found[path] = Array(tree.bytes[node.range])
    }
  }
  look(node, [])
  return found
}

private func checkOthers(_ old: TOMLTree, _ new: TOMLTree, _ path: [String]) throws {
  let path8 = path.map { Array($0.utf8) }
  /// Whether a value is at the path, below it, or in place of a table on the way to it.
  func isOwn(_ other: [[UInt8]]) -> Bool {
    zip(other, path8).allSatisfy { $0 == $1 }
      || other.count > 1 && other[1] == [0xFF] && other[0] == path8[0]
  }
  let (before, after) = (values(of: 0, in: old), values(of: 0, in: new))
  try check(
    before.filter { !isOwn($0.key) } == after.filter { !isOwn($0.key) }, "other values stay")

  let (near, depth) = old.nearest(path)
  let isReplaced =
    depth < path.count
    && (old.nodes[near].value != .table || near > 0 && !old.nodes[near].range.isEmpty)
  let target = old.find(path) ?? (isReplaced ? near : nil)
  let related = old.statements.filter { statement in
    guard let target else { return false }
    return old.isInside(statement.node, target)
      || !statement.isHeader && old.isInside(target, statement.node)
  }
  let newLines = new.bytes.split(separator: 0x0A)
  var at = 0
  let (first, last) = (related.first?.range.lowerBound ?? 0, related.last?.range.upperBound ?? 0)
  var start = 0
  for line in old.bytes.split(separator: 0x0A, omittingEmptySubsequences: false) {
    let end = start + line.count
    defer { start = end + 1 }
    let isOwnLine = related.contains { $0.range.lowerBound <= end && $0.range.upperBound > start }
    let word = line.first { $0 != 0x20 && $0 != 0x09 && $0 != 0x0D }
    let isComment = word == nil || word == UInt8(ascii: "#")
    if isOwnLine || line.isEmpty || isComment && end >= first && start <= last { continue }
    while at < newLines.count, newLines[at] != line { at += 1 }
    try check(at < newLines.count, "the line \(String(decoding: line, as: UTF8.self)) stays")
    at += 1
  }
}

/// A profile of somebody else's: the same verdict from both readers, and nothing in it that the
/// rules forbid.
@Sendable func fuzzProfile(_ bytes: [UInt8]) throws {
  let text = String(decoding: bytes, as: UTF8.self)
  let mistakes = ProfileReader.mistakes(text: text, name: "shop", file: "/x/shop.toml")
  let profile: Profile
  do throws(Failure) {
    profile = try ProfileReader.read(text: text, name: "shop", file: "/x/shop.toml")
  } catch {
    try check(!mistakes.isEmpty, "a profile that cannot be read has a mistake")
    for mistake in mistakes + [error] {
      try check(
        !mistake.message.unicodeScalars.contains(where: DisplayText.isUnsafe),
        "messages are safe for a terminal: \(mistake.message.debugDescription)")
    }
    return
  }
  try check(mistakes.isEmpty, "a profile that can be read has no mistake: \(mistakes)")
  try check(URLText.problemOfBase(profile.url) == nil, "the url is one of an API")
  let recipe = profile.recipe
  let calls = [recipe.login, recipe.register, recipe.refresh, recipe.logout, recipe.whoami]
  for call in calls.compactMap({ $0 }) {
    try check(HeaderSyntax.isToken(call.method), "the method is a token")
    for header in call.headers {
      try check(
        HeaderSyntax.isToken(header.name) && !HeaderSyntax.isForbiddenInRecipe(header.name),
        "a header may be set")
    }
    try check(
      call.secretsInURL || call.isEndpoint
        || !(call.path.names + call.query.flatMap(\.value.names)).contains(where: \.isSecret),
      "no secret is in a URL")
    _ = call.path.plainText
  }
  for header in recipe.request.headers + recipe.request.writeHeaders {
    try check(
      HeaderSyntax.isToken(header.name) && !HeaderSyntax.isForbiddenInRecipe(header.name),
      "a header may be set")
    try check(
      !header.value.names.contains { [.refreshToken, .otp].contains($0) },
      "no protected request sends the refresh token or a code")
  }
}
