import Foundation
import Testing

@testable import AuthKit

/// Where the key of the sealed files comes from, and which files may hold it: design 7, rules B9
/// and B10. Tests also run as root, so root's files count as the user's own here;
/// FileStoreEndToEndTests checks what another user may read of root's files.
@Suite struct StoreKeyTests {
  private static let isRoot = geteuid() == 0
  private static let bytes = (0..<32).map { UInt8($0 * 7 + 1) }
  private static let makeOne = "(umask 077; head -c 32 /dev/urandom >FILE) makes one"

  /// A folder for one test.
  private final class Folder {
    let path: String

    init() throws {
      var template = Array("/tmp/authctl-key-XXXXXX".utf8CString)
      path = try #require(mkdtemp(&template).map { String(cString: $0) })
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// Writes the file `name` and returns its path.
    func write(_ content: [UInt8], as name: String = "key", mode: mode_t = 0o600) throws -> String {
      let file = path + "/" + name
      try #require(FileManager.default.createFile(atPath: file, contents: Data(content)))
      try #require(chmod(file, mode) == 0)
      return file
    }

    func key(_ environment: [String: String]) -> StoreKey {
      StoreKey(environment: environment, stateFolder: path + "/state", redactor: Redactor())
    }
  }

  private func text(_ key: SharedSecret) -> [UInt8] { key.withBytes { Array($0) } }

  private func flaw(
    _ key: StoreKey, _ derivation: SealedFile.Derivation = .file
  ) -> Failure? {
    do throws(Failure) { _ = try key.key(for: derivation, label: "it") } catch { return error }
    return nil
  }

  // MARK: Content of a key file

  private static let hex = "01080f161d242b323940474e555c636a71787f868d949ba2a9b0b7bec5ccd3da"
  private static let base64 = "AQgPFh0kKzI5QEdOVVxjanF4f4aNlJuiqbC3vsXM09o="

  @Test(arguments: [
    bytes, Array(hex.utf8), Array((hex + "\n").utf8), Array((hex + "\r\n").utf8),
    Array(hex.uppercased().utf8), Array(base64.utf8), Array((base64 + "\n").utf8),
  ])
  func keyFile(_ content: [UInt8]) throws {
    let folder = try Folder()
    let key = folder.key(["AUTHCTL_STORE_KEY_FILE": try folder.write(content)])
    #expect(key.isGiven)
    #expect(text(try key.key(for: .file, label: "it")) == Self.bytes)
    #expect(key.caution == nil)
  }

  @Test func base64OfBothAlphabets() throws {
    let folder = try Folder()
    let content = [UInt8](repeating: 0xFB, count: 32)
    let standard = Data(content).base64EncodedString()
    let url = standard.replacingOccurrences(of: "+", with: "-")
      .replacingOccurrences(of: "/", with: "_")
    #expect(url != standard)
    for (name, text) in [("a", standard), ("b", url)] {
      let path = try folder.write(Array(text.utf8), as: name)
      let key = try folder.key(["AUTHCTL_STORE_KEY_FILE": path]).key(for: .file, label: "it")
      #expect(self.text(key) == content)
    }
  }

  private static let noKeys: [String] = [
    "", "\n", "x", "correct horse battery staple", String(repeating: "x", count: 31),
    String(repeating: "x", count: 32) + "\n", String(repeating: "x", count: 44),
    "\(hex.dropLast())", "\(hex)0", "\(hex)\n\n", "\(hex)\r", " \(hex)", "\(hex) \n",
    "\(hex.dropLast())g", "\(base64.dropLast())", "\(base64)=", "=\(base64.dropLast())",
    "\(base64.dropLast(2))==", "\(base64.dropLast(2))-_", "\(base64.dropLast(2))!=",
    String(repeating: "0", count: 66), String(repeating: "0", count: 67),
    String(repeating: "0", count: 100_000),
  ]

  @Test(arguments: noKeys)
  func anythingElseIsNoKey(_ content: String) throws {
    let folder = try Folder()
    let path = try folder.write(Array(content.utf8))
    let key = folder.key(["AUTHCTL_STORE_KEY_FILE": path])
    let failure = try #require(flaw(key))
    let count = content.utf8.count > 66 ? "more than 66" : "\(content.utf8.count)"
    #expect(
      failure.message == "AUTHCTL_STORE_KEY_FILE: \(path) is not a key (\(count) bytes): 32 bytes, "
        + "64 hex digits or 44 base64 characters")
    #expect(failure.hint == Self.makeOne)
    #expect(failure.kind == .storeLocked)
  }

  /// 32 bytes, but a phrase with an editor's line ending.
  @Test(arguments: [
    "correct horse battery staple or\n", String(repeating: "x", count: 31) + "\n",
    String(repeating: "0", count: 30) + "\r\n",
  ])
  func lineOfTextIsNoKey(_ content: String) throws {
    try #require(content.utf8.count == 32)
    let folder = try Folder()
    let path = try folder.write(Array(content.utf8))
    let failure = try #require(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": path])))
    #expect(
      failure.message == "AUTHCTL_STORE_KEY_FILE: \(path) is not a key, but a line of text: "
        + "32 random bytes, 64 hex digits or 44 base64 characters")
    #expect(failure.hint == Self.makeOne)
    #expect(failure.kind == .storeLocked)
  }

  /// A random key may end with a newline byte.
  @Test func randomBytesBeforeALineEndAreAKey() throws {
    let folder = try Folder()
    let content = Self.bytes.dropLast() + [UInt8(ascii: "\n")]
    let path = try folder.write(Array(content))
    let key = try folder.key(["AUTHCTL_STORE_KEY_FILE": path]).key(for: .file, label: "it")
    #expect(text(key) == Array(content))
  }

  // MARK: Sources of the key

  @Test func withoutAnySourceThereIsNone() throws {
    let folder = try Folder()
    for environment in [
      [:], ["AUTHCTL_STORE_KEY_FILE": "", "AUTHCTL_STORE_PASSPHRASE": "\n"],
      ["CREDENTIALS_DIRECTORY": ""], ["CREDENTIALS_DIRECTORY": folder.path],
    ] {
      let key = folder.key(environment)
      #expect(!key.isGiven)
      #expect(key.caution == nil)
      let failure = try #require(flaw(key))
      #expect(failure.message == "the sealed files have no key: AUTHCTL_STORE_KEY_FILE is unset")
      #expect(failure.hint == Self.makeOne + "; or AUTHCTL_STORE_PASSPHRASE")
      #expect(failure.kind == .storeLocked)
    }
  }

  @Test func bothVariablesAreAMistake() throws {
    let folder = try Folder()
    let key = folder.key([
      "AUTHCTL_STORE_KEY_FILE": try folder.write(Self.bytes),
      "AUTHCTL_STORE_PASSPHRASE": "correct horse battery",
    ])
    #expect(key.isGiven)
    let failure = try #require(flaw(key))
    #expect(
      failure.message == "AUTHCTL_STORE_KEY_FILE and AUTHCTL_STORE_PASSPHRASE are both set")
    #expect(failure.kind == .usage)
  }

  /// systemd's credential is used if nothing else is set, and its mode is not checked.
  @Test func credentialOfSystemd() throws {
    let folder = try Folder()
    let path = try folder.write(Self.bytes, as: "authctl-store-key", mode: 0o440)
    let credentials = ["CREDENTIALS_DIRECTORY": folder.path]
    let key = folder.key(credentials)
    #expect(key.isGiven)
    #expect(text(try key.key(for: .file, label: "it")) == Self.bytes)
    let other = try folder.write([UInt8](repeating: 9, count: 32), as: "other")
    let named = folder.key(credentials.merging(["AUTHCTL_STORE_KEY_FILE": other]) { $1 })
    #expect(text(try named.key(for: .file, label: "it")) == [UInt8](repeating: 9, count: 32))
    // Outside of that folder the same file is checked.
    #expect(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": path]))?.kind == .storeLocked)
  }

  @Test func keyOfTheOtherSort() throws {
    let folder = try Folder()
    let file = folder.key(["AUTHCTL_STORE_KEY_FILE": try folder.write(Self.bytes)])
    let phrase = folder.key(["AUTHCTL_STORE_PASSPHRASE": "correct horse battery"])
    let sealedByPhrase = try #require(flaw(file, .scrypt(.fresh())))
    #expect(
      sealedByPhrase.message
        == "it was sealed with a passphrase, not with the key of a file")
    #expect(
      sealedByPhrase.hint == "AUTHCTL_STORE_PASSPHRASE gives it; unset AUTHCTL_STORE_KEY_FILE")
    let sealedByFile = try #require(flaw(phrase))
    #expect(
      sealedByFile.message == "it was sealed with the key of a file, not with a passphrase")
    #expect(
      sealedByFile.hint == "AUTHCTL_STORE_KEY_FILE names it; unset AUTHCTL_STORE_PASSPHRASE")
    #expect(sealedByPhrase.kind == .storeLocked && sealedByFile.kind == .storeLocked)
  }

  // MARK: Passphrase

  @Test func scryptIsThatOfRFC7914() throws {
    let scrypt = Scrypt(log2N: 15, r: 8, p: 1, salt: "00112233445566778899aabbccddeeff")
    let key = try scrypt.key(from: SharedSecret("correct horse"))
    // hashlib.scrypt(b"correct horse", salt=b"0011…eeff", n=2**15, r=8, p=1, dklen=32)
    #expect(
      key.withBytes { hexDigits($0) }
        == "5c4efac9c8cfe2a1945dd1852a99d57db1eb071232b2721fcd099f5392ab81cf")
  }

  @Test func oneRunDerivesOnce() throws {
    let folder = try Folder()
    let key = folder.key(["AUTHCTL_STORE_PASSPHRASE": "correct horse battery\n"])
    let first = try key.keyForWriting { [] }
    guard case .scrypt(let scrypt) = first.derivation else {
      Issue.record("not by scrypt")
      return
    }
    #expect(scrypt.isStandard)
    // The same object shows that nothing was derived again.
    #expect(try key.key(for: first.derivation, label: "it") === first.key)
    #expect(try key.keyForWriting { [] }.key === first.key)
    #expect(try key.keyForWriting { [.file, first.derivation] }.key === first.key)
    // A trailing newline is not part of the passphrase; another process gets the same key.
    let again = folder.key(["AUTHCTL_STORE_PASSPHRASE": "correct horse battery"])
    let second = try again.keyForWriting { [first.derivation] }
    #expect(second.derivation == first.derivation)
    #expect(second.key.hasSameBytes(as: first.key))
    // The parameters of an earlier writer are used, unless they are weaker than the standard ones.
    let other = Scrypt.fresh()
    let weak = Scrypt(log2N: 15, r: 8, p: 1, salt: other.salt)
    #expect(try key.keyForWriting { [.scrypt(weak)] }.derivation == first.derivation)
    #expect(try key.keyForWriting { [.scrypt(weak), .scrypt(other)] }.derivation == .scrypt(other))
  }

  @Test func keyFileIsReadOnce() throws {
    let folder = try Folder()
    let path = try folder.write(Self.bytes)
    let key = folder.key(["AUTHCTL_STORE_KEY_FILE": path])
    let first = try key.key(for: .file, label: "it")
    unlink(path)
    #expect(try key.keyForWriting { [] }.key === first)
    #expect(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": path]))?.kind == .storeLocked)
  }

  @Test func shortPassphraseIsCautionedAgainst() throws {
    let folder = try Folder()
    func caution(_ phrase: String) -> String? {
      folder.key(["AUTHCTL_STORE_PASSPHRASE": phrase]).caution
    }
    #expect(
      caution("elevenbytes")
        == "AUTHCTL_STORE_PASSPHRASE has fewer than 12 bytes: who gets at the sealed files can try "
        + "all such passphrases")
    #expect(caution("twelve bytes") == nil)
    #expect(caution("\u{E4}\u{F6}\u{FC}\u{E4}\u{F6}\u{FC}") == nil)
  }

  @Test func passphraseMayBeLong() throws {
    let folder = try Folder()
    let scrypt = Scrypt(log2N: 15, r: 8, p: 1, salt: String(repeating: "0", count: 32))
    let keys = try [511, 512, 4096].map { count in
      let phrase = String(repeating: "x", count: count)
      let key = folder.key(["AUTHCTL_STORE_PASSPHRASE": phrase])
      return text(try key.key(for: .scrypt(scrypt), label: "it"))
    }
    #expect(Set(keys).count == 3)
  }

  // MARK: Files that are too open or belong to others

  @Test(arguments: [0o600, 0o400, 0o700] as [mode_t])
  func ownFileForOneself(_ mode: mode_t) throws {
    let folder = try Folder()
    let path = try folder.write(Self.bytes, mode: mode)
    #expect(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": path])) == nil)
    // A link that the user names is followed.
    let link = folder.path + "/link"
    try #require(symlink(path, link) == 0)
    #expect(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": link])) == nil)
  }

  @Test(arguments: [0o640, 0o604, 0o644, 0o660, 0o602, 0o666, 0o601] as [mode_t])
  func ownFileForOthers(_ mode: mode_t) throws {
    let folder = try Folder()
    let path = try folder.write(Self.bytes, mode: mode)
    let link = folder.path + "/link"
    try #require(symlink(path, link) == 0)
    for named in [path, link] {
      let failure = try #require(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": named])))
      #expect(
        failure.message == "AUTHCTL_STORE_KEY_FILE: \(named) is open to other users "
          + "(mode 0\(String(mode, radix: 8)))")
      #expect(failure.hint == "chmod 600 \(named)")
      #expect(failure.kind == .storeLocked)
    }
  }

  @Test(.enabled(if: isRoot, "chown needs root")) func fileOfAnotherUser() throws {
    let folder = try Folder()
    let path = try folder.write(Self.bytes)
    try #require(chown(path, 65534, 65534) == 0)
    let failure = try #require(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": path])))
    #expect(
      failure.message
        == "AUTHCTL_STORE_KEY_FILE: \(path) belongs to another user (uid 65534)")
    #expect(failure.kind == .storeLocked)
  }

  @Test func keyBesideWhatItSeals() throws {
    let folder = try Folder()
    try #require(mkdir(folder.path + "/state", 0o700) == 0)
    try #require(mkdir(folder.path + "/state/sub", 0o700) == 0)
    let link = folder.path + "/link"
    let path = try folder.write(Self.bytes, as: "state/sub/key")
    try #require(symlink(path, link) == 0)
    for named in [path, link, folder.path + "/state/../state/sub/key"] {
      let failure = try #require(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": named])))
      #expect(
        failure.message == "AUTHCTL_STORE_KEY_FILE: \(named) lies in the state folder, beside what "
          + "it seals")
      #expect(failure.kind == .storeLocked)
    }
    // A sibling folder with a common name prefix is not affected.
    try #require(mkdir(folder.path + "/statement", 0o700) == 0)
    let apart = try folder.write(Self.bytes, as: "statement/key")
    #expect(flaw(folder.key(["AUTHCTL_STORE_KEY_FILE": apart])) == nil)
  }

  /// A pipe, as from `<(...)`, has no owner or mode to check.
  @Test func pipe() throws {
    let folder = try Folder()
    for content in [Self.bytes, Array((Self.hex + "\n").utf8)] {
      var ends: [Int32] = [0, 0]
      try #require(pipe2(&ends) == 0)
      defer { close(ends[0]) }
      try #require(write(ends[1], content, content.count) == content.count)
      close(ends[1])
      let key = folder.key(["AUTHCTL_STORE_KEY_FILE": "/dev/fd/\(ends[0])"])
      #expect(text(try key.key(for: .file, label: "it")) == Self.bytes)
    }
  }

  private func pipe2(_ ends: inout [Int32]) -> Int32 {
    let result = Foundation.pipe(&ends)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    return result
  }

  @Test(arguments: ["/nowhere/key", "/tmp", "/dev/null"])
  func whatIsNoFile(_ path: String) throws {
    let failure = try #require(flaw(try Folder().key(["AUTHCTL_STORE_KEY_FILE": path])))
    #expect(failure.message.hasPrefix("AUTHCTL_STORE_KEY_FILE: \(path)"), "\(failure.message)")
    #expect(failure.kind == .storeLocked)
  }
}
