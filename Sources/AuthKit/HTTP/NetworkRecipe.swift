/// The table `[network]`.
package struct NetworkRecipe: Sendable {
  /// Additional origins that may receive the access token and cookies.
  package var allowOrigins: [String] = []
  /// Additional origins that may receive passwords, codes and refresh tokens.
  package var signInOrigins: [String] = []
  /// Whether plain HTTP is allowed to a host that is not loopback.
  package var allowHTTP = false
  /// These three paths are absolute: a relative path in the file starts at the file's folder.
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
