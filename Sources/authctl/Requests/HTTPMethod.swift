internal import AuthKit

/// Names of methods, as people write them.
enum HTTPMethod {
  /// The method that a person means.
  ///
  /// - Throws: `usage` for what is none.
  static func checked(_ method: String) throws(Failure) -> String {
    guard HeaderSyntax.isToken(method) else {
      throw Failure(.usage, "\(DisplayText.oneLine(method, limit: 40)) is not a method (RFC 9110)")
    }
    // Methods are case-sensitive; nobody means another one by `post`.
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    let upper = method.uppercased()
    return known.contains(upper) ? upper : method
  }
}
