import Foundation
import Testing

@testable import AuthKit

/// Every fuzzer with the files of its corpus, and with changes of them: what `make fuzz` does for
/// as long as it is given.
@Suite struct CorpusTests {
  private static let corpus = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "corpus")

  private static func files(of target: String) throws -> [URL] {
    try FileManager.default.contentsOfDirectory(
      at: corpus.appending(path: target), includingPropertiesForKeys: nil
    ).sorted { $0.path < $1.path }
  }

  @Test(arguments: FuzzTarget.all.map(\.name)) func properties(name: String) throws {
    let target = try #require(FuzzTarget.all.first { $0.name == name })
    let files = try Self.files(of: name)
    #expect(!files.isEmpty)
    for file in files {
      let bytes = [UInt8](try Data(contentsOf: file))
      #expect(bytes.count < 4096, "\(file.lastPathComponent) is small")
      try run(target, bytes, "\(name)/\(file.lastPathComponent)")
      var changes = Changes(state: UInt64(bytes.count))
      for number in 0..<100 {
        try run(
          target, changes.change(bytes), "\(name)/\(file.lastPathComponent), change \(number)")
      }
    }
  }

  private func run(_ target: FuzzTarget, _ bytes: [UInt8], _ label: String) throws {
    do { try target.run(bytes) } catch {
      Issue.record("\(label): \(error)\n\(Data(bytes).base64EncodedString())")
    }
  }

  @Test func everyFolderHasATarget() throws {
    let folders = try FileManager.default.contentsOfDirectory(atPath: Self.corpus.path)
    #expect(Set(folders) == Set(FuzzTarget.all.map(\.name)))
  }
}

/// The same changes in each run (SplitMix64).
private struct Changes {
  var state: UInt64

  private mutating func below(_ limit: Int) -> Int {
    state &+= 0x9E37_79B9_7F4A_7C15
    var mixed = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
    mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
    return Int((mixed ^ (mixed >> 31)) % UInt64(max(limit, 1)))
  }

  /// Returns `bytes` with a cut, a doubled part, or some other bytes.
  mutating func change(_ bytes: [UInt8]) -> [UInt8] {
    let (one, two) = (below(bytes.count + 1), below(bytes.count + 1))
    let part = bytes[min(one, two)..<max(one, two)]
    switch below(4) {
    case 0: return Array(bytes[..<one])
    case 1: return Array(bytes[..<part.startIndex] + bytes[part.endIndex...])
    case 2: return Array(bytes[..<one] + part + bytes[one...])
    default:
      var bytes = bytes
      for _ in 0...below(4) where !bytes.isEmpty {
        bytes[below(bytes.count)] = UInt8(below(256))
      }
      return bytes
    }
  }
}
