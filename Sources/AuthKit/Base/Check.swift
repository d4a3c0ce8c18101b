/// One finding of `doctor` or `store test`: what was looked at, and what was seen.
package struct Check: Sendable {
  /// How it was found; the raw value is that of JSON (design 2).
  package enum Result: String, Sendable {
    case ok, warn, fail, skipped
  }

  /// What was looked at, in one word.
  package var name: String
  /// The profile that it is about; none: the machine.
  package var profile: String?
  /// How it was found.
  package var result: Result
  /// What was seen; no secret.
  package var detail: String
  /// The mend: a command or a fact.
  package var hint: String?
  /// The same in few words, for a line that several findings share.
  package var brief: String?
  /// The store would serve, if somebody unlocked it.
  package var isLocked = false

  /// A finding of these.
  package init(
    _ name: String, _ result: Result, _ detail: String, brief: String? = nil, hint: String? = nil,
    profile: String? = nil
  ) {
    self.name = name
    self.result = result
    self.detail = detail
    self.brief = brief
    self.hint = hint
    self.profile = profile
  }

  /// What did not work, in the words of its failure. To ask the doctor is no mend here.
  package init(_ name: String, _ failure: Failure, profile: String? = nil) {
    let hint = failure.hint == "authctl doctor" ? nil : failure.hint
    self.init(name, .fail, failure.message, hint: hint, profile: profile)
  }
}
