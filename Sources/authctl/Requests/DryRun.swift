internal import AuthKit

/// `--dry-run` and `--as-curl`: print a request without sending it (rule C7). Only the store is
/// contacted, to mask its tokens where your own arguments contain them.
struct DryRun {
  let app: App
  let choice: ProfileChoice
  let keeper: SessionKeeper
  let request: WireRequest
  let options: RequestOptions
  let network: NetworkOptions?

  func run() throws(Failure) -> Int32 {
    try app.checkAccountOption(choice.profile, in: keeper.store)
    let outline = try keeper.api.outline(of: request, anonymous: options.anonymous)
    let isBound = try options.anonymous ? false : learn()
    if options.output.asCurl {
      if isBound { throw keeper.bound }
      let line = try AsCurl(
        app: app, choice: choice, options: options, network: network
      ).line(of: outline)
      try app.console.out(line.text)
      reportMasked(line.masked, "in this command; replace *** before you run it")
    } else {
      try show(outline, isBound: isBound)
    }
    return 0
  }

  /// Learns the session's secrets, so that they are masked; no session is required.
  ///
  /// - Returns: whether a proof of possession goes with the session's token.
  private func learn() throws(Failure) -> Bool {
    if let session = try app.environmentSession(for: choice) {
      app.logChoice(choice, nil)
      try keeper.check(request.url, for: session)
      return false
    }
    let account = app.namedAccount(choice.profile)
    app.logChoice(choice, account)
    let stored = try? app.storedAccounts(of: choice.profile.name, in: keeper.store)
    let sessions = (account.map { [$0.name] } ?? stored ?? []).compactMap { name in
      (try? keeper.read(name)) ?? nil
    }
    return sessions.contains(where: \.isBound)
      || sessions.isEmpty && choice.profile.recipe.oauth?.bindsTokens ?? false
  }

  private func show(_ outline: RequestOutline, isBound: Bool) throws(Failure) {
    var url = app.redactor.mask(Redactor.maskedQuery(outline.request.url.text))
    var masked: [String] = url == outline.request.url.text ? [] : ["the URL"]
    for (index, name) in outline.parameters.enumerated() {
      url += index == 0 && outline.request.url.query == nil ? "?" : "&"
      url += DisplayText.oneLine(name) + "=***"
    }
    var text = "\(outline.request.method) \(url)\n"
    for header in outline.headers {
      switch header.value {
      case .removed: continue
      case .session: text += "\(header.name): ***\n"
      case .personal:
        text += "\(header.name): ***\n"
        masked.append(header.name)
      case .text(let value):
        let shown = app.redactor.mask(value)
        if shown != value { masked.append(header.name) }
        text += "\(header.name): \(shown)\n"
      }
    }
    if isBound { text += "DPoP: ***\n" }
    var bytes = Array((text + "\n").utf8)
    for part in outline.request.parts {
      let word = part.curlWords[1]
      let shown = app.redactor.mask(word)
      if shown != word { masked.append("the body") }
      bytes += Array((shown + "\n").utf8)
    }
    if let body = try outline.request.wholeBody() {
      let (shown, isMasked) = Self.masked(body, app.redactor)
      if isMasked { masked.append("the body") }
      bytes += shown
      if let last = shown.last, last != UInt8(ascii: "\n") { bytes.append(UInt8(ascii: "\n")) }
    }
    let isBinary = bytes.withUnsafeBytes { DisplayText.looksBinary($0) }
    if app.console.isOutTerminal, isBinary, !options.output.raw {
      bytes = Array((text + "\n").utf8)
      app.console.notice("The body is binary and is not shown. Use --raw to show it.")
    }
    try app.console.write(bytes, as: options.output.raw ? .asIs : .text)
    reportMasked(masked, "here, not in the request")
  }

  /// Returns the bytes with every learned secret masked, and whether that changed them.
  static func masked(_ body: SharedSecret, _ redactor: Redactor) -> (bytes: [UInt8], Bool) {
    body.withBytes { bytes in
      let masked = redactor.mask(bytes)
      return (masked, !masked.elementsEqual(bytes))
    }
  }

  private func reportMasked(_ masked: [String], _ place: String) {
    guard !masked.isEmpty else { return }
    app.console.notice("Masked \(place): \(masked.joined(separator: ", ")).")
  }
}
