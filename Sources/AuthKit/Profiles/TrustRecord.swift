/// The user's consent to other people's files that are used in place (rule A3): one small file for
/// each, in the state folder.
package struct TrustRecord {
  private let folder: String
  /// How long to wait for another process that writes there, in seconds.
  private static let timeout: Double = 5

  /// - Parameter folder: the folder of these records.
  package init(folder: String) { self.folder = folder }

  /// Whether the user has consented to this profile, with its present text and named files.
  ///
  /// A folder or file that others can write does not count.
  package func covers(_ profile: Profile) -> Bool {
    guard let digest = try? profile.trustDigest(),
      let folder = try? SessionFolder.existing(folder),
      let content = try? folder.read(try Self.fileName(profile))
    else { return false }
    return content.withBytes { $0.elementsEqual(Self.line(digest, profile).utf8) }
  }

  /// Stores the consent.
  ///
  /// - Throws: `store_missing` or `store_timeout` when it cannot be stored.
  package func remember(_ profile: Profile) throws(Failure) {
    guard let digest = try profile.trustDigest() else { return }
    let folder = try SessionFolder.made(folder)
    let (line, name) = (Self.line(digest, profile), try Self.fileName(profile))
    try folder.locked(timeout: Self.timeout) { () throws(Failure) in
      try Secret(line).withBytes { (bytes) throws(Failure) in
        try folder.write(bytes, as: name)
      }
    }
  }

  private static func fileName(_ profile: Profile) throws(Failure) -> String {
    try Crypto.sha256Hex(Array(profile.name.utf8))
  }

  private static func line(_ digest: String, _ profile: Profile) -> String {
    "\(digest)  \(profile.name)\n"
  }
}

extension Profile {
  /// Whether its file is used in place, outside the user's profile folder.
  package var isInPlace: Bool { textInPlace != nil }

  /// The digest that a consent covers: the text and the contents of the files that it names.
  fileprivate func trustDigest() throws(Failure) -> String? {
    guard let textInPlace else { return nil }
    let text = try Crypto.sha256Hex(Array(textInPlace.utf8))
    let network = recipe.network
    let files = [network.caFile, network.clientCertificate, network.clientKey].map { path in
      path.map { "\($0.utf8.count) \($0) \(NamedFile.digest(of: $0))" } ?? "-"
    }
    return try Crypto.sha256Hex(Array(([text] + files).joined(separator: "\n").utf8))
  }
}
