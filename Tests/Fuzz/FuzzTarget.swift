@testable import AuthKit

/// One fuzzer: what it does with an input, and the properties that must hold of every one.
///
/// `make fuzz` runs it in libFuzzer (Fuzz.swift), `make test` with the files of its corpus
/// (CorpusTests.swift). A crash is a finding too.
struct FuzzTarget: Sendable {
  /// The name of its folder in `corpus`.
  let name: String
  let run: @Sendable ([UInt8]) throws -> Void

  static let all = [
    FuzzTarget(name: "json", run: fuzzJSON), FuzzTarget(name: "toml", run: fuzzTOML),
    FuzzTarget(name: "profile", run: fuzzProfile), FuzzTarget(name: "cookies", run: fuzzCookies),
    FuzzTarget(name: "link", run: fuzzLink), FuzzTarget(name: "url", run: fuzzURL),
    FuzzTarget(name: "curl", run: fuzzCurl), FuzzTarget(name: "words", run: fuzzWords),
    FuzzTarget(name: "answer", run: fuzzAnswer), FuzzTarget(name: "jwt", run: fuzzJWT),
    FuzzTarget(name: "openapi", run: fuzzOpenAPI), FuzzTarget(name: "sealed", run: fuzzSealed),
    FuzzTarget(name: "batch", run: fuzzBatch), FuzzTarget(name: "helpers", run: fuzzHelpers),
    FuzzTarget(name: "template", run: fuzzTemplate), FuzzTarget(name: "dates", run: fuzzDates),
    FuzzTarget(name: "display", run: fuzzDisplay),
  ]
}

/// A property that does not hold.
struct BrokenProperty: Error, CustomStringConvertible {
  let description: String
}

/// - Throws: `BrokenProperty` unless `holds`.
func check(
  _ holds: Bool, _ property: @autoclosure () -> String, file: StaticString = #fileID,
  line: UInt = #line
) throws {
  if !holds { throw BrokenProperty(description: "\(file):\(line): \(property())") }
}

/// Returns the result of `body`.
///
/// - Throws: `BrokenProperty` in place of what `body` throws.
func sure<T>(
  _ property: String, file: StaticString = #fileID, line: UInt = #line, _ body: () throws -> T
) throws -> T {
  do { return try body() } catch {
    throw BrokenProperty(description: "\(file):\(line): \(property): \(error)")
  }
}

/// An input, read from the left: the first bytes choose, the rest is text.
struct FuzzInput {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  /// The next byte; 0 at the end.
  mutating func byte() -> Int { Int(rest.popFirst() ?? 0) }

  /// One of `choices`, which are not empty.
  mutating func choose<T>(_ choices: [T]) -> T { choices[byte() % choices.count] }

  /// The bytes up to the next line feed, or all.
  mutating func line() -> [UInt8] {
    let line = rest.prefix { $0 != 0x0A }
    rest = rest.dropFirst(line.count + 1)
    return Array(line)
  }

  /// The lines that are left, without empty ones, as text.
  mutating func lines() -> [String] {
    defer { rest = [] }
    return rest.split(separator: 0x0A).map { String(decoding: $0, as: UTF8.self) }
  }

  /// All bytes that are left.
  mutating func bytes() -> [UInt8] {
    defer { rest = [] }
    return Array(rest)
  }

  /// All bytes that are left, as text.
  mutating func text() -> String { String(decoding: bytes(), as: UTF8.self) }
}

extension String {
  /// Whether both have the same bytes; `==` compares canonical equivalence.
  func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }
}

/// Returns a secret with these bytes.
func secret(_ bytes: [UInt8]) -> Secret {
  var builder = SecretBuilder(capacity: bytes.count)
  bytes.withUnsafeBytes { builder.append($0) }
  return builder.finish()
}
