/// The table `[network]`.
package struct NetworkRecipe: Sendable {
  /// Further origins that may receive the access token and cookies.
  package var allowOrigins: [String] = []
  /// Further origins that may receive passwords, codes and refresh tokens.
  package var signInOrigins: [String] = []
  /// Cleartext http to a host that is not loopback.
  package var allowHTTP = false
  /// Absolute paths: relative ones in the file start at its folder.
  package var caFile: String?
  var clientCertificate: String?
  var clientKey: String?
  var proxy: String?
  /// Seconds.
  package var connectTimeout: Double = 10
  /// Seconds without a byte.
  package var idleTimeout: Double = 60
  init() {}
}
