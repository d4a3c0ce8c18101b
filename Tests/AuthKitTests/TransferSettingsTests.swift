import Testing

@testable import AuthKit

/// Which settings a handle keeps from one transfer to the next.
@Suite struct TransferSettingsTests {
  /// A change of each setting that libcurl is told.
  private static let changes: [@Sendable (inout TransferSettings) -> Void] = [
    { $0.connectTimeout += 1 }, { $0.totalTimeout = 1 }, { $0.compressed.toggle() },
    { $0.decodes.toggle() }, { $0.insecure.toggle() }, { $0.caFile = "f" }, { $0.caFolder = "d" },
    { $0.clientCertificate = "c" }, { $0.clientKey = "k" },
    { $0.keyPassphrase = SharedSecret("p") }, { $0.pinnedKey = "sha256//a" },
    { $0.atLeastTLS13.toggle() }, { $0.proxy = "" }, { $0.noProxy = "*" },
    { $0.proxyUser = SharedSecret("u:p") }, { $0.resolve = ["a:1:b"] },
    { $0.connectTo = ["a:1:b:2"] }, { $0.unixSocket = "/s" }, { $0.family = .ipv4 },
    { $0.httpVersion = .http1 }, { $0.pieceLength += 1 }, { $0.sharesConnection.toggle() },
    { $0.keepsCertificate.toggle() }, { $0.trace = { _ in } },
  ]
  /// What is asked for during a transfer, and `wire` and `ahead`, which have no plain values here.
  private static let others: Set<String> = [
    "idleTimeout", "largestBody", "tooLong", "peerMustBeLoopback", "onProgress", "onFacts", "wire",
    "ahead",
  ]

  @Test func handleIsSetAnewForEachChangedOption() {
    let plain = TransferSettings()
    #expect(plain.hasSameOptions(as: TransferSettings()))
    for (number, change) in Self.changes.enumerated() {
      var changed = plain
      change(&changed)
      #expect(!changed.hasSameOptions(as: plain), "change \(number)")
      #expect(!plain.hasSameOptions(as: changed), "change \(number)")
      // A secret is the same only if it is the same object.
      #expect(changed.hasSameOptions(as: changed), "change \(number)")
    }
    let known = Self.changes.count + Self.others.count
    #expect(Mirror(reflecting: plain).children.count == known, "a setting without a change here")
  }
}
