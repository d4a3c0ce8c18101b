internal import AuthKit

/// Names of methods, as people write them.
enum HTTPMethod {
  /// Returns the method, in upper case if it is a standard one.
  ///
  /// - Throws: `usage` for an invalid name.
  static func checked(_ method: String) throws(Failure) -> String {
    guard HeaderSyntax.isToken(method) else {
      throw Failure(.usage, "\(DisplayText.oneLine(method, limit: 40)) is not a method (RFC 9110)")
    }
    // Methods are case-sensitive, but `post` always means POST.
    let known = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
    let upper = method.uppercased()
    return known.contains(upper) ? upper : method
  }
}
