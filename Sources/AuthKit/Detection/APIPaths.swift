/// The operations of an API, from its OpenAPI document: what completion offers for a target.
package struct APIPaths: Equatable {
  /// An operation by its method and path, which may have parameters: `/orders/{id}`.
  package struct Operation: Equatable {
    /// In lower case.
    package let method: String
    package let path: String
    /// The names of the query's parameters.
    package let parameters: [String]

    package init(method: String, path: String, parameters: [String] = []) {
      self.method = method
      self.path = path
      self.parameters = parameters
    }
  }

  /// The URL that the paths are below, without a trailing slash.
  let base: String
  private(set) var operations: [Operation] = []

  /// The limits of what is kept.
  static let mostOperations = 2000
  static let mostParameters = 50
  static let longestName = 200
  static let mostBytes = 262_144

  private static let methods = ["get", "head", "post", "put", "patch", "delete", "options"]

  /// The operations of `all` that fit into the limits, without those that no terminal should show.
  init(base: String, _ all: [Operation]) {
    self.base = base
    var count = 100
    for operation in all where Self.methods.contains(operation.method) {
      guard operations.count < Self.mostOperations, Self.isFit(operation.path) else { continue }
      let parameters = operation.parameters.filter(Self.isPlain).prefix(Self.mostParameters)
      let size = (parameters + [operation.path]).reduce(30) { $0 + $1.utf8.count + 3 }
      guard count + size < Self.mostBytes else { break }
      count += size
      operations.append(
        Operation(
          method: operation.method, path: operation.path, parameters: Array(parameters)))
    }
  }

  private static func isFit(_ path: String) -> Bool {
    path.utf8.first == UInt8(ascii: "/") && path.utf8.count <= longestName
      && path.utf8.allSatisfy {
        (0x21...0x7E).contains($0) && !"\"'\\`$?#<>|;&*!()".utf8.contains($0)
      }
  }

  /// Whether a parameter needs no encoding in a URL.
  private static func isPlain(_ name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= longestName
      && name.utf8.allSatisfy { $0.isLetterOrDigit || "-._~".utf8.contains($0) }
  }

  // MARK: - As text

  var text: String {
    JSONValue.array(
      operations.map { operation in
        .array(
          [.string(operation.method), .string(operation.path)]
            + operation.parameters.map { .string($0) })
      }
    ).serialized()
  }

  init?(base: String, text: borrowing Secret) {
    guard case .array(let items)? = try? text.withBytes({ try JSONValue.parse($0) }) else {
      return nil
    }
    self.init(
      base: base,
      items.compactMap { item in
        guard case .array(let values) = item else { return nil }
        let words = values.compactMap(\.text)
        guard words.count > 1 else { return nil }
        return Operation(method: words[0], path: words[1], parameters: Array(words.dropFirst(2)))
      })
  }

  // MARK: - Completion

  /// Returns what may stand in place of `typed`: paths up to their next parameter, or parameters
  /// of the query.
  package static func continuations(of typed: String, _ operations: [Operation]) -> [String] {
    let parts = typed.utf8.split(
      separator: UInt8(ascii: "?"), maxSplits: 1, omittingEmptySubsequences: false)
    let path = segments(parts[0])
    var found: [String] = []
    for operation in operations {
      let template = segments(operation.path.utf8[...])
      let more =
        parts.count == 1
        ? [continuation(of: path, template)]
        : matches(path, template) && path.count == template.count
          ? queries(typed, parts[1], operation.parameters) : []
      for case let text? in more where text != typed && !found.contains(text) {
        found.append(text)
      }
    }
    return found.sorted()
  }

  private static func segments(_ path: Substring.UTF8View) -> [String] {
    path.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map {
      String(decoding: $0, as: UTF8.self)
    }
  }

  private static func isParameter(_ segment: String) -> Bool {
    segment.utf8.contains(UInt8(ascii: "{"))
  }

  private static func matches(_ path: some Sequence<String>, _ template: [String]) -> Bool {
    zip(path, template).allSatisfy { $0 == $1 || isParameter($1) && !$0.isEmpty }
  }

  private static func continuation(of path: [String], _ template: [String]) -> String? {
    guard let last = path.last, path.count <= template.count, matches(path.dropLast(), template)
    else { return nil }
    let segment = template[path.count - 1]
    var words = Array(path.dropLast())
    if isParameter(segment) {
      guard !last.isEmpty else { return nil }
      words.append(last)
    } else {
      guard segment.utf8.starts(with: last.utf8) else { return nil }
      words.append(segment)
    }
    for next in template[path.count...] {
      words.append(isParameter(next) ? "" : next)
      if isParameter(next) { break }
    }
    return words.joined(separator: "/")
  }

  private static func queries(
    _ typed: String, _ query: Substring.UTF8View, _ parameters: [String]
  ) -> [String?] {
    let fields = query.split(separator: UInt8(ascii: "&"), omittingEmptySubsequences: false)
    guard let last = fields.last, !last.contains(UInt8(ascii: "=")) else { return [] }
    let start = String(decoding: typed.utf8.dropLast(last.count), as: UTF8.self)
    let given = fields.dropLast().map {
      String(decoding: $0.prefix { $0 != UInt8(ascii: "=") }, as: UTF8.self)
    }
    return parameters.filter { $0.utf8.starts(with: last) && !given.contains($0) }
      .map { start + $0 + "=" }
  }
}
