// What swift-argument-parser refers to of FoundationEssentials: an encoder for
// `--experimental-dump-help`, and a protocol of errors. `make build` links this file in place of that
// library, which would be a quarter of the program (5 MB), and 2000 conformances for Swift's runtime
// to search for each type that the parser meets for the first time: a fifth of the time to parse a
// `get`.
//
// The symbols are those of the library, because Package.swift gives this module its name in them
// (-module-abi-name); were another one needed, the linker would take the library too and fail with
// "multiple definition". Other builds, and the tests, have the library itself.

/// No error of authctl has this description: messages are its own.
public protocol LocalizedError: Error {
  var errorDescription: String? { get }
}

/// The encoder of `--experimental-dump-help`, which `CommandFinder` refuses.
open class JSONEncoder {
  public struct OutputFormatting: OptionSet, Sendable {
    public let rawValue: UInt
    public init(rawValue: UInt) { self.rawValue = rawValue }
    public static let prettyPrinted = OutputFormatting(rawValue: 1)
    public static let sortedKeys = OutputFormatting(rawValue: 2)
  }

  /// Traps, since nothing else of the encoder is there.
  public init() { _ = [Int]()[0] }
}

public struct Data {}

extension String {
  public struct Encoding: Sendable {
    public static let utf8 = Encoding()
  }

  public init?(data: __shared Data, encoding: Encoding) { return nil }
}
