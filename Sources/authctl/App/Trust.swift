internal import AuthKit

/// Trust in a profile that someone else may have written (rule A3).
extension App {
  private var trustRecord: TrustRecord { TrustRecord(folder: stateFolder() + "/trust") }

  /// Whether `--trust` or `AUTHCTL_TRUST=1` was given.
  private var hasTrust: Bool { globals.trust || isOn(.trust) }

  /// Requires trust in a file in place that decides how secrets travel: a yes on the terminal, now
  /// or earlier, or `--trust`. Other files need no trust.
  ///
  /// - Parameter mayAsk: false for callers that never ask.
  /// - Throws: `input_needed` without trust.
  func requireTrust(in profile: Profile, mayAsk: Bool = true) throws(Failure) {
    guard profile.isInPlace, agreedTo != profile.name else { return }
    let recipients = try profile.recipients()
    guard !recipients.risks.isEmpty, !isOn(.trust), !trustRecord.covers(profile) else {
      return
    }
    let name = DisplayText.oneLine(profile.name, limit: 200)
    let keys = recipients.risks.map(\.key).joined(separator: ", ")
    let refusal = Failure(
      .inputNeeded, "\(name) is not trusted yet; it sets \(keys)",
      hint: "read the file, then add --trust or set AUTHCTL_TRUST=1")
    guard mayAsk || hasTrust else { throw refusal }
    try agree(to: recipients, of: name, "Trust this file?", orElse: refusal)
    agreedTo = profile.name
    do throws(Failure) { try trustRecord.remember(profile) } catch {
      console.warn("cannot save your trust in \(name): \(error.message)")
    }
  }

  /// Shows every origin that receives a secret, and asks for a yes to the risks.
  ///
  /// If it asks, it shows all of this on the terminal above the question, whatever `-q` says and
  /// wherever standard error goes.
  ///
  /// - Throws: `refusal` when it needs a yes and may not ask, `input_needed` for a no.
  func agree(
    to recipients: Recipients, of name: String, _ question: String, orElse refusal: Failure
  ) throws(Failure) {
    let origins = recipients.origins.map { origin, gets in "\(name) sends to \(origin): \(gets)" }
    let asks = !recipients.risks.isEmpty && !hasTrust
    guard asks, mayAsk, let terminal = Terminal.open() else {
      for line in origins { console.notice(line) }
      for risk in recipients.risks { console.warn(risk.what) }
      if asks { throw refusal }
      return
    }
    terminal.show(
      origins.flatMap { Console.wrapped(DisplayText.oneLine($0)) }
        + recipients.risks.map { "warning: " + $0.what })
    guard try terminal.confirm(question, default: false) else {
      throw Failure(.inputNeeded, "\(name) was not trusted")
    }
  }
}
