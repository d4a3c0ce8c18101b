import Glibc
import Testing

@testable import AuthKit

/// Rule C13: a secret cannot be formatted into text by accident, and does not stay in memory.
struct SecretTests {
  @Test(arguments: [
    ("func leak(_ secret: borrowing Secret) { secret.withBytes { _ in } }", true),
    (#"func leak(_ secret: borrowing Secret) -> String { "\(secret)" }"#, false),
    ("func leak(_ secret: borrowing Secret) { print(secret) }", false),
    ("func leak(_ secret: borrowing Secret) -> [Secret] { [secret] }", false),
    ("func leak(_ secret: borrowing Secret) -> Bool { secret == secret }", false),
  ])
  func whatDoesNotCompile(_ code: String, _ isFine: Bool) throws {
    var folder = Array("/tmp/authctl-secret-XXXXXX".utf8CString)
    #expect(mkdtemp(&folder) != nil)
    let path = String(decoding: folder.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { _ = system("rm -rf '\(path)'") }
    let file = try #require(fopen(path + "/leak.swift", "w"))
    fputs(code + "\n", file)
    fclose(file)
    let sources = #filePath.split(separator: "/").dropLast(3).joined(separator: "/")
    let status = system(
      "cd '\(path)' && swiftc -typecheck -swift-version 6 -package-name authctl "
        + "'/\(sources)/Sources/AuthKit/Base/Secret.swift' "
        + "leak.swift >/dev/null 2>&1 </dev/null")
    #expect((status == 0) == isFine)
  }

  @Test func builderGrowsAndKeepsEveryByte() {
    var builder = SecretBuilder(capacity: 1)
    let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    for byte in bytes { builder.append(byte) }
    builder.append("é")
    #expect(builder.secret().withBytes { Array($0) } == bytes + Array("é".utf8))
    #expect(builder.count == 100_002)
  }

  @Test func sharedSecretsAreComparedByBytes() {
    #expect(SharedSecret("é").hasSameBytes(as: SharedSecret("\u{E9}")))
    #expect(!SharedSecret("é").hasSameBytes(as: SharedSecret("e\u{301}")))
    #expect(!SharedSecret("ab").hasSameBytes(as: SharedSecret("abc")))
    #expect(SharedSecret("").hasSameBytes(as: SharedSecret("")))
  }
}
