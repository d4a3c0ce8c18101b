/// A sign-in by a browser on another device (RFC 8628).
package struct DeviceAuthorization {
  /// The page to visit: an https URL, or one on this machine.
  package let page: WebURL
  /// The code to enter there: letters, digits and dashes.
  package let userCode: String
  /// The page that has the code already, at the origin of `page`; nil without one.
  package let completePage: WebURL?
  /// When the codes expire.
  package let expiresAt: Timestamp
  private let deviceCode: SharedSecret
  /// Seconds between two questions.
  private(set) var interval: Double

  /// Starts the sign-in.
  ///
  /// - Throws: `answer_not_understood` for a page or code that may not be shown (rule B16); as
  ///   `OAuthClient.signIn`.
  package init(_ client: OAuthClient) throws(Failure) {
    _ = try client.server.url(of: .deviceAuthorization, for: "a sign-in with a code")
    try self.init(try client.prepare(by: client.settings.deviceRequest), client.api)
  }

  /// Reads the answer to the request that starts the sign-in.
  init(_ answer: RecipeResponse, _ api: RecipeClient) throws(Failure) {
    func text(_ name: String) throws(Failure) -> String? {
      try answer.value(at: [.pointer("/\(name)")])?.text
    }
    func number(_ name: String) throws(Failure) -> Double? {
      let value = try answer.value(at: [.pointer("/\(name)")])
      let number = value?.double ?? value?.text.flatMap(Double.init)
      return number.flatMap { $0.isFinite ? $0 : nil }
    }
    func refused(_ message: String) -> Failure {
      var failure = api.notUnderstood(answer, message)
      // The server's own words could send the person elsewhere (rule B16).
      failure.server = []
      return failure
    }
    // `verification_url` is the older name, which Google still uses.
    var address = try text("verification_uri")
    if address == nil { address = try text("verification_url") }
    guard let device = try text("device_code"), let user = try text("user_code"),
      let address, let page = Self.page(address)
    else {
      throw refused("no code, or no https page to enter it at")
    }
    guard (1...32).contains(user.utf8.count),
      user.utf8.allSatisfy({ $0.isLetterOrDigit || $0 == UInt8(ascii: "-") })
    else { throw refused("the code to enter is not one of letters and digits") }
    deviceCode = SharedSecret(device)
    userCode = user
    self.page = page
    let complete = try text("verification_uri_complete").flatMap(Self.page)
    completePage = complete?.origin == page.origin ? complete : nil
    interval = min(60, max(1, try number("interval") ?? 5))
    let life = min(1800, max(1, try number("expires_in") ?? 1800))
    expiresAt = Timestamp(seconds: api.clock().seconds + life)
  }

  /// Reads the URL of a page that a person may be sent to (rule B16).
  private static func page(_ text: String) -> WebURL? {
    guard let url = try? WebURL(text, from: .server),
      url.origin.isSecure || url.origin.isLoopback,
      text.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
    else { return nil }
    return url
  }

  /// Asks for the token until the person has entered the code.
  ///
  /// - Parameter pause: waits for so many seconds.
  /// - Throws: `timeout` when the codes have expired; as `OAuthClient.signIn`; what `pause` throws.
  package mutating func wait(
    _ client: OAuthClient, account: String?, known: String?,
    pause: (_ seconds: Double) throws(Failure) -> Void
  ) throws(Failure) -> SignedIn {
    var values = TemplateValues()
    values[.taken("device_code")] = deviceCode
    let api = client.api
    let call = client.settings.tokenRequest(.deviceCode)
    while api.clock().seconds < expiresAt.seconds {
      try pause(interval)
      let answer: RecipeResponse
      do throws(Failure) { answer = try client.send(call, values) } catch {
        // RFC 8628, section 3.5: wait longer after a connection that timed out.
        guard error.kind == .network || error.kind == .timeout else { throw error }
        interval = min(60, interval * 2)
        continue
      }
      switch try answer.value(at: [.pointer("/error")])?.text {
      case "authorization_pending": continue
      case "slow_down": interval = min(60, interval + 5)
      default:
        return try client.signedIn(
          answer, .deviceCode, account: account, known: known, asked: nil)
      }
    }
    throw Failure(
      .timeout, "\(api.profile.name): the code was not entered in time",
      suggestion: .login(api.profile.name))
  }
}
