import Foundation

/// Sign-in on another device: RFC 8628.
extension OAuth {
  struct Device: Sendable {
    let userCode: String
    let client: String
    let scope: [String]
    let resource: [String]
    let expires: Date
    /// Minimum seconds between two polls.
    var interval: Double
    var lastPoll = Date.distantPast
    /// Errors for the next polls, whatever the decision.
    var errors: [String]
    /// nil while pending.
    var decision: Decision?
  }

  enum Decision: Sendable { case approved(Accounts.User), denied }

  func startDevice(_ request: Request, _ place: Place) throws -> Answer {
    let form = try Form(body: request)
    let client = try authenticate(request, form, place)
    try checkTarget(form, place)
    let code = randomText(40, of: .asciiLetters)
    let letters = randomText(8, of: "BCDFGHJKLMNPQRSTVWXZ")
    let userCode = "\(letters.prefix(4))-\(letters.suffix(4))"
    let page = place.base + "/device"
    let answer = JSON.object(
      settings.overlaid(
        [
          ("device_code", .string(code)), ("user_code", .string(userCode)),
          ("verification_uri", .string(page)),
          ("verification_uri_complete", .string(page + "?user_code=" + userCode)),
          ("expires_in", 600), ("interval", 5),
        ], by: ["device"], at: place))
    devices[code] = Device(
      userCode: userCode, client: client.id, scope: try scope(form, client),
      resource: form.all("resource"),
      expires: Date(timeIntervalSinceNow: answer["expires_in"]?.double ?? 600),
      interval: answer["interval"]?.double ?? 5, errors: settings.texts("device_polls"))
    return json(200, answer)
  }

  func devicePage(_ request: Request) async -> Answer {
    guard request.method == "POST" else {
      let code = request.query("user_code") ?? ""
      return page(
        200, "Connect a device",
        """
        <form method="post">
          <input name="user_code" placeholder="Code" value="\(code.htmlEscaped)">
          <input name="email" placeholder="E-mail"><input name="password" type="password">
          <button name="action" value="approve">Approve</button>
          <button name="action" value="deny">Deny</button>
        </form>

        """)
    }
    let form = Form(Request.pairs(String(decoding: request.body, as: UTF8.self)))
    let user = await accounts.user(named: form["email"], password: form["password"])
    let typed = (form["user_code"] ?? "").uppercased().filter(\.isLetter)
    guard
      let (code, device) = devices.first(where: { $0.value.userCode.filter(\.isLetter) == typed }),
      device.expires > Date()
    else { return page(404, "This code is unknown or expired.") }
    if form["action"] == "deny" {
      if !settings.flag("device_deny_silent") { devices[code]?.decision = .denied }
      return page(200, "Denied")
    }
    guard let user else { return page(403, "Wrong e-mail address or password.") }
    devices[code]?.decision = .approved(user)
    return page(200, "Approved", "<p>Go back to your device.</p>\n")
  }

  /// Returns the approved grant, or throws why there is none.
  func poll(_ form: Form, _ client: OAuthClient) async throws -> Grant {
    let code = try form.needed("device_code")
    let byItself = await accounts.user(named: settings.text("device_auto_approve"))
    guard var device = devices[code], device.client == client.id else {
      throw OAuthError("invalid_grant", "The device_code is unknown or used.")
    }
    defer { if devices[code] != nil { devices[code] = device } }
    guard device.expires > Date() else {
      throw OAuthError("expired_token", "The device_code has expired.")
    }
    let pause = Date().timeIntervalSince(device.lastPoll)
    device.lastPoll = Date()
    if !device.errors.isEmpty {
      let error = device.errors.removeFirst()
      if error == "slow_down" { device.interval += 5 }
      throw OAuthError(error)
    }
    if pause < device.interval - 0.1 {
      device.interval += 5
      throw OAuthError("slow_down", "Less than \(Int(device.interval - 5)) seconds have passed.")
    }
    switch device.decision ?? byItself.map({ .approved($0) }) {
    case nil: throw OAuthError("authorization_pending", "Nobody has entered the code.")
    case .denied: throw OAuthError("access_denied", "The person denied it.")
    case .approved(let user):
      devices[code] = nil
      return Grant(
        client: client.id, user: user, subject: String(user.id), scope: device.scope,
        resource: device.resource)
    }
  }
}
