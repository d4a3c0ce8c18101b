import Foundation
import Testing

@testable import AuthKit

private typealias State = FileStoreScene.State
private let (ada, bob) = (FileStoreScene.ada, FileStoreScene.bob)

/// The stores `file` and `plaintext` in a real folder: design 7, rule B9.
@Suite struct FileStoreTests {
  // MARK: Operations

  @Test(arguments: [StoreName.file, .plaintext])
  func sessionsComeAndGo(_ name: StoreName) throws {
    let state = try State()
    let store = state.store(name)
    #expect(store.name == name)
    #expect(try store.text() == nil)
    #expect(try store.delete(profile: "shop", account: "ada") == false)
    #expect(try store.list().isEmpty)
    // Reading creates no folder.
    #expect(FileStoreScene.mode(state.path + "/state") == nil)
    try store.open()
    #expect(FileStoreScene.mode(state.sessions) == 0o700)
    try store.write(Secret("one"), key: ada)
    try store.write(Secret("two\r\n\0é"), key: bob)
    #expect(try state.store(name).text() == "one")
    #expect(try state.store(name).text("shop", "bob") == "two\r\n\0é")
    try store.write(Secret("three"), key: ada)
    #expect(try state.store(name).text() == "three")
    let items = try state.store(name).list().sorted { $0.account ?? "" < $1.account ?? "" }
    #expect(items.map(\.account) == ["ada", "bob"])
    #expect(items.allSatisfy { $0.profile == "shop" && !$0.isLocked })
    #expect(items.allSatisfy { $0.origin == "https://api.shop.example" })
    #expect(try store.delete(profile: "shop", account: "ada"))
    #expect(try store.text() == nil)
    #expect(try store.list().map(\.account) == ["bob"])
  }

  @Test func names() throws {
    let state = try State()
    #expect(state.store().title == "the store of sealed files (~/sessions)")
    #expect(state.store().caution == nil)
    #expect(state.store(.plaintext).title == "the store of plain files (~/sessions)")
    #expect(
      state.store(.plaintext).caution
        == "the store plaintext seals nothing: whoever can read ~/sessions can use the session")
  }

  @Test func filesAreNamedByHashAndOpenToTheirOwnerAlone() throws {
    let state = try State()
    try state.store().write(Secret("sealed"), key: ada)
    try state.store(.plaintext).write(Secret("plain"), key: ada)
    let sealed = try state.file("shop", "ada")
    let plain = try state.file("shop", "ada", "plaintext")
    let hash = "add6045959f1da63c49aebec42dc36813190731907d08b3b98341ebe27252145"
    #expect(state.files() == [hash + ".plaintext", hash + ".sealed", "lock"])
    for path in [sealed, plain, state.sessions + "/lock"] {
      #expect(FileStoreScene.mode(path) == 0o600)
    }
    #expect(
      FileStoreScene.mode(state.sessions) == 0o700
        && FileStoreScene.mode(state.path + "/state") == 0o700)
    // Neither store reads the other's file.
    #expect(try state.store().text() == "sealed")
    #expect(try state.store(.plaintext).text() == "plain")
    #expect(try state.store().list().count == 1)
    #expect(try state.store(.plaintext).delete(profile: "shop", account: "ada"))
    #expect(try state.store().text() == "sealed")
    #expect(
      state.bytes(sealed).map { String(decoding: $0, as: UTF8.self).contains("sealed") } == false)
  }

  /// No two pairs of profile and account collide, whatever bytes they contain.
  @Test(arguments: [StoreName.file, .plaintext])
  func anyNames(_ name: StoreName) throws {
    let state = try State()
    let store = state.store(name)
    let pairs = [
      ("a", "bc"), ("ab", "c"), ("", ""), ("", "a"), ("a", ""),
      ("../../x", "/etc/passwd"), ("shop", "e\u{301}"), ("shop", "\u{E9}"), ("/p/file.toml", "\n"),
      ("shop", String(repeating: "n", count: 256)), ("shop", "\u{202E}\"\\"),
    ]
    for (index, pair) in pairs.enumerated() {
      try store.write(
        Secret("\(index)"), key: SessionKey(profile: pair.0, account: pair.1, origin: "https://h"))
    }
    for (index, pair) in pairs.enumerated() {
      #expect(try state.store(name).text(pair.0, pair.1) == "\(index)", "\(pair)")
    }
    #expect(try store.list().count == pairs.count)
    #expect(state.files().count == pairs.count + 1)
    // These two pairs would have the same hash.
    for (profile, account) in [("a\0b", "c"), ("a", "b\0c")] {
      #expect(throws: Failure.self) {
        try store.write(
          Secret("x"), key: SessionKey(profile: profile, account: account, origin: "https://h"))
      }
      #expect(throws: Failure.self) { try store.text(profile, account) }
      #expect(throws: Failure.self) { try store.delete(profile: profile, account: account) }
    }
  }

  @Test(arguments: [StoreName.file, .plaintext])
  func largestSession(_ name: StoreName) throws {
    let state = try State()
    let payload = String(repeating: "x", count: SessionKey.largestPayload)
    var key = ada
    key.profile = "/" + String(repeating: "p", count: 3000)
    try state.store(name).write(Secret(payload), key: key)
    #expect(try state.store(name).text(key.profile) == payload)
  }

  /// Files sealed by 0.1.0 with other libraries: file names and keys are still the same.
  @Test(arguments: ["key-file", "passphrase"]) func fileOfVersion010(_ kind: String) throws {
    let state = try State()
    let key = "00112233445566778899aabbccddeeff"
    try state.put(Array((key + key).utf8), at: state.path + "/key")
    let store =
      kind == "key-file"
      ? state.store() : state.store(["AUTHCTL_STORE_PASSPHRASE": "correct horse battery staple"])
    try store.open()
    let folder = #filePath.split(separator: "/").dropLast(2).joined(separator: "/")
    let sealed = try #require(state.bytes("/\(folder)/Fixtures/sealed-0.1.0/\(kind).sealed"))
    let name = "b30bd8a4b1e037cea1ed4d8714f56cae760802bc25dcf0983008400326329e95.sealed"
    try state.put(sealed, at: state.sessions + "/" + name)
    let text = try #require(try store.text("shop", "ada@shop.example"))
    let session = try JSONValue.parse(text)
    #expect(session["values"]?["access_token"]?.text == "access-of-0.1.0", "\(text)")
    let item = try #require(try store.list().first)
    #expect(item.account == "ada@shop.example" && item.origin == "http://127.0.0.1:18080")
    // The next write keeps the salt of the passphrase.
    try store.write(Secret("new"), key: ada)
    #expect(try store.text() == "new" && store.list().count == 2)
  }

  // MARK: Keys

  @Test func listNeedsNoKey() throws {
    let state = try State()
    try state.store().write(Secret("one"), key: ada)
    let store = state.store(key: "")
    let item = try #require(try store.list().first)
    #expect(item.profile == "shop" && item.account == "ada")
    #expect(item.origin == "https://api.shop.example")
    #expect(item.isLocked)
    #expect(
      store.readFailure()?.message
        == "the sealed files have no key: AUTHCTL_STORE_KEY_FILE is unset")
    #expect(try store.read(profile: "shop", account: "bob") == nil)
    for step in [FileStore.Step.open, .write] {
      #expect(store.flaw(of: step)?.kind == .storeLocked)
    }
    #expect(try state.store().text() == "one")
    // Deleting needs no key either.
    #expect(try store.delete(profile: "shop", account: "ada"))
    #expect(state.files() == ["lock"])
  }

  @Test func anotherKeyOpensNothing() throws {
    let state = try State()
    try state.store().write(Secret("one"), key: ada)
    let before = state.bytes(try state.file("shop", "ada"))
    let failure = try #require(state.store(key: "other").readFailure())
    #expect(failure.message == "shop: the stored session of ada was sealed with another key")
    #expect(failure.hint == "authctl login -p shop -u ada replaces it")
    #expect(failure.kind == .storeLocked)
    #expect(failure.profile == "shop" && failure.account == "ada")
    #expect(state.bytes(try state.file("shop", "ada")) == before)
    // With only the other key, the user can still sign in again.
    try state.store(key: "other").write(Secret("two"), key: ada)
    #expect(try state.store(key: "other").text() == "two")
  }

  @Test func passphraseHasOneSaltForTheStore() throws {
    let state = try State()
    let phrase = ["AUTHCTL_STORE_PASSPHRASE": "correct horse battery"]
    // Two first writers, each with a key derived already.
    let (first, second) = (state.store(phrase), state.store(phrase))
    try first.open()
    try second.open()
    try first.write(Secret("one"), key: ada)
    try second.write(Secret("two"), key: bob)
    let derivations = try [ada, bob].map { key in
      let bytes = try #require(state.bytes(try state.file(key.profile, key.account)))
      return try bytes.withUnsafeBytes { try SealedFile($0, label: "it").header.derivation }
    }
    #expect(derivations[0] == derivations[1])
    let reader = state.store(phrase)
    #expect(try reader.text() == "one")
    #expect(try reader.text("shop", "bob") == "two")
    let wrong = state.store(["AUTHCTL_STORE_PASSPHRASE": "another battery"])
    #expect(
      wrong.readFailure()?.message
        == "shop: the stored session of ada was sealed with another key")
    #expect(
      state.store().readFailure()?.message
        == "shop: the stored session of ada was sealed with a passphrase, not with the key of a file"
    )
  }

  // MARK: Damage

  /// A damaged file stays as it is until a new session replaces it.
  @Test func damagedFileIsToldAndKept() throws {
    let state = try State()
    try state.store().write(Secret("one"), key: ada)
    let path = try state.file("shop", "ada")
    let whole = try #require(state.bytes(path))
    var flipped = whole
    flipped[whole.count - 1] ^= 0x80
    let end = 12 + Int(whole[10]) << 8 + Int(whole[11])
    let costly = String(decoding: whole[12..<end], as: UTF8.self).replacingOccurrences(
      of: #""kdf":"file""#, with: #""kdf":"scrypt","log2N":40,"r":8,"p":1,"kdf_salt":"00""#)
    let header = Array(costly.utf8)
    let count = [0, 0, UInt8(header.count >> 8), UInt8(header.count & 255)]
    for (bytes, words) in [
      (flipped, "was changed or damaged after it was sealed"), (Array(whole[..<200]), "is cut off"),
      ([], "is cut off"), (Array("hello\n".utf8), "is not a sealed file"),
      (
        whole[..<8] + count + header + whole[end...],
        "asks for too much or too little work to make its key (scrypt, log2N 40, r 8, p 1)"
      ),
      ([UInt8](repeating: 0, count: 300_000), "is larger than any session"),
    ] {
      try state.put(bytes, at: path)
      let failure = try #require(state.store().readFailure())
      #expect(failure.message.hasSuffix(words), "\(failure.message)")
      #expect(failure.kind == .storeMissing)
      #expect(failure.hint == "authctl login -p shop -u ada replaces it")
      #expect(state.bytes(path) == bytes)
      #expect(try state.store().list().count == 1)
      try state.store().write(Secret("two"), key: ada)
      #expect(try state.store().text() == "two")
    }
  }

  @Test(arguments: [StoreName.file, .plaintext])
  func filesCannotBeExchanged(_ name: StoreName) throws {
    let state = try State()
    try state.store(name).write(Secret("ada's"), key: ada)
    try state.store(name).write(Secret("bob's"), key: bob)
    let suffix = name == .file ? "sealed" : "plaintext"
    let (mine, his) = try (state.file("shop", "ada", suffix), state.file("shop", "bob", suffix))
    let (adas, bobs) = (state.bytes(mine) ?? [], state.bytes(his) ?? [])
    try state.put(bobs, at: mine)
    try state.put(adas, at: his)
    for account in ["ada", "bob"] {
      #expect(
        state.store(name).readFailure(account)?.message
          == "shop: the stored session of \(account) is that of another profile or account: its file"
          + " was moved")
    }
    // Nor are they listed under the names in the file.
    let items = try state.store(name).list()
    #expect(items.count == 2)
    #expect(items.allSatisfy { $0.profile == nil && $0.account == nil && !$0.isLocked })
    #expect(state.bytes(mine) == bobs && state.bytes(his) == adas)
  }

  @Test func plainFileIsTwoLinesOfJSON() throws {
    let state = try State()
    try state.store(.plaintext).write(Secret(#"{"a":1}"#), key: ada)
    let path = try state.file("shop", "ada", "plaintext")
    let text = String(decoding: state.bytes(path) ?? [], as: UTF8.self)
    #expect(
      text == #"{"authctl":1,"profile":"shop","account":"ada","origin":"https://api.shop.example","#
        + #""generation":"01"}"# + "\n" + #"{"a":1}"# + "\n")
    for damaged in [
      "", "{}\n{}\n", "x", String(text.dropFirst()),
      text.replacingOccurrences(of: "1,", with: "2,"),
    ] {
      try state.put(Array(damaged.utf8), at: path)
      #expect(
        state.store(.plaintext).readFailure()?.message
          == "shop: the stored session of ada is not a plain file of authctl")
    }
  }
}
