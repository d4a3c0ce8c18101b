/// The yes to files of other people that are used in place (rule A3): one small file for each,
/// below the state folder.
package struct TrustRecord {
  private let folder: String
  private let timeout: Double

  /// - Parameters:
  ///   - folder: of these records.
  ///   - timeout: seconds to wait for another process that writes there.
  package init(folder: String, timeout: Double = 5) {
    self.folder = folder
    self.timeout = timeout
  }

  /// Whether there is a yes to this profile, as it is and with the files that it names.
  ///
  /// A folder or file that others could write holds none.
  package func covers(_ profile: Profile) -> Bool {
    guard let digest = try? profile.trustDigest(),
      let folder = try? SessionFolder.existing(folder),
      let content = try? folder.read(try Self.fileName(profile))
    else { return false }
    return content.withBytes { $0.elementsEqual(Self.line(digest, profile).utf8) }
  }

  /// Remembers the yes.
  ///
  /// - Throws: `store_missing` or `store_timeout` when it cannot be written.
  package func remember(_ profile: Profile) throws(Failure) {
    guard let digest = try profile.trustDigest() else { return }
    let folder = try SessionFolder.made(folder)
    let (line, name) = (Self.line(digest, profile), try Self.fileName(profile))
    try folder.locked(timeout: timeout) { () throws(Failure) in
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
  /// Whether it is a file that is used where it lies, and not one of the user's own folder.
  package var isInPlace: Bool { textInPlace != nil }

  /// What a yes is given to: the text that was read, and what is in the files that it names.
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
