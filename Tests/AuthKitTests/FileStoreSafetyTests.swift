import Foundation
import Testing

@testable import AuthKit

private typealias State = FileStoreScene.State
private let (ada, bob) = (FileStoreScene.ada, FileStoreScene.bob)

/// Session files and folders that are not trusted, and concurrent writers: rules B8 and B9.
@Suite struct FileStoreSafetyTests {
  private static let isRoot = geteuid() == 0

  // MARK: Untrusted files and folders

  @Test(arguments: [StoreName.file, .plaintext])
  func filesThatOthersCouldReadOrHaveMadeAreRefused(_ name: StoreName) throws {
    let state = try State()
    try state.store(name).write(Secret("one"), key: ada)
    let path = try state.file("shop", "ada", name == .file ? "sealed" : "plaintext")
    for mode in [0o640, 0o604, 0o660, 0o666, 0o644] as [mode_t] {
      try #require(chmod(path, mode) == 0)
      let failure = try #require(state.store(name).readFailure())
      #expect(failure.message == "\(path) is open to other users")
      #expect(failure.hint == "chmod 600 \(path)")
      #expect(failure.kind == .storeMissing)
    }
    try #require(chmod(path, 0o600) == 0)
    if Self.isRoot {
      try #require(chown(path, 65534, 65534) == 0)
      #expect(
        state.store(name).readFailure()?.message
          == "\(path) belongs to another user (uid 65534)")
      try #require(chown(path, 0, 0) == 0)
    }
    #expect(try state.store(name).text() == "one")
    try #require(rename(path, path + ".away") == 0)
    try #require(symlink(path + ".away", path) == 0)
    #expect(state.store(name).readFailure()?.message == "\(path) is a symbolic link")
    // Writing replaces the link, not what it points to.
    let away = state.bytes(path + ".away")
    try state.store(name).write(Secret("two"), key: ada)
    #expect(try state.store(name).text() == "two")
    #expect(state.bytes(path + ".away") == away)
    unlink(path)
    try #require(mkfifo(path, 0o600) == 0)
    #expect(
      state.store(name).readFailure()?.message == "\(path) is not a regular file")
    unlink(path)
    try #require(mkdir(path, 0o700) == 0)
    #expect(
      state.store(name).readFailure()?.message == "\(path) is not a regular file")
    let write = state.store(name).flaw(of: .write)
    #expect(write?.message == "cannot write \(path): is a directory")
    #expect(state.files().allSatisfy { !$0.hasSuffix(".part") })
  }

  @Test func foldersThatOthersCouldWriteAreRefused() throws {
    let state = try State()
    try state.store().write(Secret("one"), key: ada)
    func allFail(_ words: String) {
      for step in FileStore.Step.allCases {
        let failure = state.store().flaw(of: step)
        #expect(failure?.message == words, "\(step)")
        #expect(failure?.kind == .storeMissing, "\(step)")
      }
    }
    for mode in [0o770, 0o702, 0o777] as [mode_t] {
      try #require(chmod(state.sessions, mode) == 0)
      allFail("\(state.sessions) can be written by others")
    }
    try #require(chmod(state.sessions, 0o700) == 0)
    if Self.isRoot {
      try #require(chown(state.path + "/state", 65534, 65534) == 0)
      allFail("\(state.path)/state is not a folder of yours")
      try #require(chown(state.path + "/state", 0, 0) == 0)
    }
    try #require(rename(state.sessions, state.path + "/away") == 0)
    try #require(symlink(state.path + "/away", state.sessions) == 0)
    allFail("\(state.sessions) is not a folder of yours")
    unlink(state.sessions)
    try #require(rename(state.path + "/away", state.sessions) == 0)
    #expect(try state.store().text() == "one")
  }

  @Test func folderThatCannotBeMade() throws {
    let state = try State()
    try Data().write(to: URL(filePath: state.path + "/state"))
    let failure = try #require(state.store().flaw(of: .open))
    #expect(failure.kind == .storeMissing)
    #expect(failure.hint == "AUTHCTL_STATE_DIR names another folder")
    #expect(try state.store().read(profile: "shop", account: "ada") == nil)
  }

  // MARK: Writers

  @Test(arguments: [StoreName.file, .plaintext])
  func leftoversOfKilledWritersGo(_ name: StoreName) throws {
    let state = try State()
    let store = state.store(name)
    try store.write(Secret("one"), key: ada)
    for isWriting in [true, false] {
      for part in [".0123456789abcdef.part", ".x.part"] {
        try state.put(Array("token".utf8), at: state.sessions + "/" + part)
      }
      #expect(try store.list().allSatisfy { $0.profile == "shop" })
      if isWriting {
        try store.write(Secret("two"), key: bob)
      } else {
        #expect(try store.delete(profile: "shop", account: "bob"))
      }
      #expect(state.files().allSatisfy { !$0.hasSuffix(".part") })
    }
    #expect(try store.text() == "one")
  }

  @Test func writersWaitForOneAnotherAndReadersDoNot() throws {
    let state = try State()
    try state.store().write(Secret("one"), key: ada)
    let lock = open(state.sessions + "/lock", O_RDWR | O_CLOEXEC)
    try #require(lock >= 0 && flock(lock, LOCK_EX) == 0)
    defer { close(lock) }
    let failure = try #require(state.store(timeout: 0.01).flaw(of: .write))
    #expect(failure.message == "another authctl has been writing in \(state.sessions) for too long")
    #expect(failure.hint == "--store-timeout SECONDS waits longer")
    #expect(failure.kind == .storeTimeout)
    #expect(try state.store(timeout: 0.01).text() == "one")
    #expect(try state.store(timeout: 0.01).list().count == 1)
    #expect(try state.store(timeout: 0.01).delete(profile: "shop", account: "ada"))
  }

  /// With many writers at once, a reader always sees a whole session, and no temporary file
  /// remains.
  @Test(arguments: [StoreName.file, .plaintext])
  func anyNumberOfWriters(_ name: StoreName) async throws {
    let state = try State()
    try state.store(name).write(Secret(String(repeating: "0", count: 5000)), key: ada)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for writer in 0..<8 {
        group.addTask {
          let store = state.store(name)
          for round in 0..<10 {
            let payload = String(repeating: "\(writer)", count: 5000 + round)
            try store.write(Secret(payload), key: ada)
            var own = bob
            own.account = "writer \(writer)"
            try store.write(Secret(payload), key: own)
            let seen = try store.text() ?? ""
            #expect(seen.utf8.count >= 5000 && Set(seen.utf8).count == 1)
            #expect(try store.text("shop", own.account) == payload)
            if round % 3 == 0 { _ = try store.delete(profile: "shop", account: own.account) }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try state.store(name).list().count == 1)
    #expect(state.files().count == 2)
    #expect(state.files().allSatisfy { !$0.hasSuffix(".part") })
  }
}
