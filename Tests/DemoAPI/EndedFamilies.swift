import Foundation

/// The families of tokens, one for each sign-in, that have ended for good.
struct EndedFamilies: Sendable {
  enum Cause: String, Sendable {
    case signOut = "sign-out"
    /// A refresh token or a code came twice, so somebody has copied it.
    case reuse
  }

  private var ends: [String: JSON] = [:]

  func contains(_ family: String) -> Bool { ends[family] != nil }

  /// Ends a family; the first cause stays.
  /// - Parameter spent: when what came twice came first.
  mutating func insert(
    _ family: String, of account: String, _ cause: Cause, spent: Date? = nil
  ) {
    guard ends[family] == nil else { return }
    ends[family] = [
      "account": .string(account), "cause": .string(cause.rawValue), "at": Date().seconds,
      "spent": spent?.seconds ?? .null,
    ]
  }

  /// For `GET /ended`.
  var list: [JSON] { Array(ends.values) }
}

extension Date {
  /// Since 1970.
  fileprivate var seconds: JSON { .double(timeIntervalSince1970) }
}
