import Foundation
import Testing

@testable import AuthKit

/// Helpers shared by the suites about session files.
enum FileStoreScene {
  /// A state folder for one test.
  final class State: Sendable {
    let path: String
    var sessions: String { path + "/state/sessions" }

    init() throws {
      var template = Array("/tmp/authctl-files-XXXXXX".utf8CString)
      path = try #require(mkdtemp(&template).map { String(cString: $0) })
      try Data(repeating: 1, count: 32).write(to: URL(filePath: path + "/key"))
      try Data(repeating: 2, count: 32).write(to: URL(filePath: path + "/other"))
      try #require(chmod(path + "/key", 0o600) == 0 && chmod(path + "/other", 0o600) == 0)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    /// A new store, as a new process would open it.
    func store(_ name: StoreName = .file, key: String = "key", timeout: Double = 20) -> FileStore {
      store(
        ["AUTHCTL_STORE_KEY_FILE": key.isEmpty ? "" : path + "/" + key], name, timeout: timeout)
    }

    func store(
      _ environment: [String: String], _ name: StoreName = .file, timeout: Double = 20
    ) -> FileStore {
      let key = StoreKey(
        environment: environment, stateFolder: path + "/state", redactor: Redactor())
      return FileStore(
        folder: sessions, shownAs: "~/sessions", timeout: timeout,
        sealedWith: name == .file ? key : nil)
    }

    func file(_ profile: String, _ account: String, _ suffix: String = "sealed") throws -> String {
      try sessions + "/" + SessionLocks.fileName(profile: profile, account: account) + "." + suffix
    }

    func files() -> [String] {
      ((try? FileManager.default.contentsOfDirectory(atPath: sessions)) ?? []).sorted()
    }

    func bytes(_ path: String) -> [UInt8]? {
      FileManager.default.contents(atPath: path).map { [UInt8]($0) }
    }

    func put(_ bytes: [UInt8], at path: String) throws {
      try Data(bytes).write(to: URL(filePath: path))
      try #require(chmod(path, 0o600) == 0)
    }
  }

  static let ada = SessionKey(
    profile: "shop", account: "ada", origin: "https://api.shop.example", loginID: "01")
  static let bob = SessionKey(
    profile: "shop", account: "bob", origin: "https://api.shop.example", loginID: "02")

  static func mode(_ path: String) -> mode_t? {
    var info = stat()
    return lstat(path, &info) == 0 ? info.st_mode & 0o7777 : nil
  }
}

extension FileStore {
  /// The stored payload as text.
  func text(_ profile: String = "shop", _ account: String = "ada") throws -> String? {
    guard let secret = try read(profile: profile, account: account) else { return nil }
    return secret.withBytes { String(decoding: $0, as: UTF8.self) }
  }

  enum Step: CaseIterable {
    case open, read, write, delete, list
  }

  /// The failure of one step, for ada's session or for `account`'s.
  func flaw(of step: Step, _ account: String = "ada") -> Failure? {
    do throws(Failure) {
      switch step {
      case .open: try open()
      case .read: _ = try read(profile: "shop", account: account)
      case .write: try write(Secret("new"), key: FileStoreScene.ada)
      case .delete: _ = try delete(profile: "shop", account: account)
      case .list: _ = try list()
      }
    } catch {
      return error
    }
    return nil
  }

  func readFailure(_ account: String = "ada") -> Failure? { flaw(of: .read, account) }
}
